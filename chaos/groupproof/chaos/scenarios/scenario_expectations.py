"""Judges of a scenario's expectations over the trace. Pure.

An expectation without a requirement shows whether the scenario took effect. If it is not met, nothing was proven, and the run is
INCONCLUSIVE. An expectation with a requirement is a rule with the requirement's level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from groupproof.chaos.scenarios.scenario import Expectation
from groupproof.harness.judging.checkers.frame_facts import partitions_of
from groupproof.harness.model.case import checker
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.plan import Arm, BreakBroker, Impair, Plan
from groupproof.harness.model.requirement_levels import MOST_SEVERE
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, api_named

__all__ = ["SIGHTS", "faults_left_receipts", "meets"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """The judged part of a trace: one client between two instants, and the counted observations."""

    expectation: Expectation
    client: str
    since: int
    until: int
    lasts_ms: int = 0
    api: Api | None = field(default=None)

    def requests(self, ev: Evidence) -> list[Observation]:
        return list(ev.select("request", self.api, self.client, self.since, self.until))

    def responses(self, ev: Evidence) -> list[Observation]:
        return list(ev.select("response", self.api, self.client, self.since, self.until))

    def events(self, ev: Evidence, name: str) -> list[Observation]:
        return ev.events(name, self.client, self.since, self.until)


def _sent(ev: Evidence, window: _Window) -> int:
    epoch = window.expectation.epoch
    return sum(1 for obs in window.requests(ev) if epoch is None or obs.member_epoch == epoch)


def _answered(ev: Evidence, window: _Window) -> int:
    errors = window.expectation.errors
    return sum(1 for obs in window.responses(ev) if not errors or (obs.error or 0) in errors)


def _reports(ev: Evidence, window: _Window) -> int:
    event = window.expectation.event or "error"
    return sum(1 for obs in window.events(ev, event) if partitions_of(obs) or not event.startswith("partitions_"))


def _parked(ev: Evidence, window: _Window) -> int:
    """Count the requests that waited for at least `lasts_ms` for their answer, or until the window's end."""
    last = ev.trace[min(window.until, len(ev.trace) - 1)]
    waits = ((ev.answer(obs) or last).at_ms - obs.at_ms for obs in window.requests(ev))
    return sum(1 for wait in waits if wait >= window.lasts_ms)


def _silent(ev: Evidence, window: _Window) -> int:
    return _gaps(ev, window, window.requests(ev))


def _unanswered(ev: Evidence, window: _Window) -> int:
    return _gaps(ev, window, window.responses(ev))


def _gaps(ev: Evidence, window: _Window, observations: Sequence[Observation]) -> int:
    """Count the gaps of at least `lasts_ms` between observations, the window's ends included."""
    first, last = ev.trace[max(window.since, 0)], ev.trace[min(window.until, len(ev.trace) - 1)]
    at = [first.at_ms, *(obs.at_ms for obs in observations), last.at_ms]
    return sum(1 for before, after in pairwise(at) if after - before >= window.lasts_ms)


def _read(ev: Evidence, window: _Window) -> int:
    """Count the batches that begin at the expected offset."""
    events = window.events(ev, "records_consumed")
    return sum(1 for obs in events for partition in obs.body.get("partitions") or () if partition.get("minOffset") == window.expectation.offset)


def _generations(ev: Evidence, window: _Window) -> int:
    """Count the generations that the client joined."""
    answers = ev.select("response", Api.JOIN_GROUP, window.client, window.since, window.until)
    return len({obs.generation for obs in answers if not obs.error})


def _epochs(ev: Evidence, window: _Window) -> int:
    """Count the epochs that the client got (KIP-848)."""
    answers = ev.select("response", Api.CONSUMER_GROUP_HEARTBEAT, window.client, window.since, window.until)
    return len({obs.member_epoch for obs in answers if not obs.error and (obs.member_epoch or 0) > 0})


def _assigned_unled(ev: Evidence, window: _Window) -> int:
    """Count the SyncGroups with assignments after a JoinGroup answer without a leader, as in a group of both protocols (CGG-27)."""
    joins = [obs for obs in ev.select("response", Api.JOIN_GROUP, window.client, -1, window.until) if not obs.error]
    syncs = ev.select("request", Api.SYNC_GROUP, window.client, window.since, window.until)
    led_by = ((next((join for join in reversed(joins) if join.seq < sync.seq), None), sync) for sync in syncs)
    return sum(1 for join, sync in led_by if join is not None and not join.body.get("leader") and sync.body.get("assignments"))


SIGHTS: Final[Mapping[str, tuple[frozenset[str], Callable[[Evidence, _Window], int]]]] = {
    "sent": (frozenset({"api"}), _sent),
    "answered": (frozenset(), _answered),
    "told": (frozenset({"event"}), _reports),
    "parked": (frozenset({"api", "lasts"}), _parked),
    "silent": (frozenset({"api", "lasts"}), _silent),
    "unanswered": (frozenset({"api", "lasts"}), _unanswered),
    "read": (frozenset({"offset"}), _read),
    "generations": (frozenset(), _generations),
    "epochs": (frozenset(), _epochs),
    "assigned-unled": (frozenset(), _assigned_unled),
}
"""The countable observations, with the fields that they need."""


@checker
def meets(ev: Evidence, expectation: Expectation, clients: tuple[str, ...], marks: tuple[str, ...], lasts_ms: int) -> Iterator[Finding]:
    """Judge an expectation about `clients`; `marks` are the marks of the phases, in order."""
    counted = [_count(ev, expectation, client, marks, lasts_ms) for client in clients]
    if _is_enough(expectation, counted):
        if expectation.requirement is not None:
            yield _finding(expectation, expectation.requirement, Verdict.OK, "It was seen.")
    elif expectation.requirement is None:
        raise NotReached(f"what the scenario brings about was not seen: {expectation.says} ({_describe_counts(clients, counted)})")
    else:
        verdict = MOST_SEVERE[by_id(expectation.requirement).level]
        yield _finding(expectation, expectation.requirement, verdict, "It was not seen.", _describe_counts(clients, counted))


def _count(ev: Evidence, expectation: Expectation, client: str, marks: tuple[str, ...], lasts_ms: int) -> int:
    during = expectation.during or marks[0]
    later = marks[marks.index(during) + 1 :] if expectation.during is not None else ()
    window = _Window(
        expectation=expectation,
        client=client,
        since=ev.at(during),
        until=ev.at(later[0]) if later else ev.closing,
        lasts_ms=lasts_ms,
        api=None if expectation.api is None else api_named(expectation.api),
    )
    return SIGHTS[expectation.sees][1](ev, window)


def _is_enough(expectation: Expectation, counted: list[int]) -> bool:
    totals = counted if expectation.each else [sum(counted)]
    most = expectation.at_most
    return all(total >= expectation.at_least and (most is None or total <= most) for total in totals)


def _describe_counts(clients: tuple[str, ...], counted: list[int]) -> str:
    return ", ".join(f"{client} {count}" for client, count in zip(clients, counted, strict=True))


def _finding(expectation: Expectation, requirement: str, verdict: Verdict, observed: str, detail: str = "") -> Finding:
    return Finding(
        verdict=verdict,
        requirement=requirement,
        expected=expectation.says,
        observed=observed,
        proof=Proof.LIVENESS,
        detail=detail,
    )


@checker
def faults_left_receipts(ev: Evidence, plan: Plan, optional: frozenset[str]) -> Iterator[Finding]:
    """Judge that each fault was delivered; otherwise the run proves nothing (contract, "Receipts")."""
    names = [step.fault.name if isinstance(step, Arm) else step.name for step in plan.steps if isinstance(step, Arm | Impair | BreakBroker)]
    for name in names:
        if name not in optional and not ev.receipts(name, "delivered"):
            raise NotReached(f"fault {name} left no receipt" + (f": {ev.timeout}" if ev.timeout else ""))
    yield from ()
