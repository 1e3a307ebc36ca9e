"""Measures a client's own rhythm before all cases: how long it takes from an error to its next try.

Backoffs and rejoin pauses are the client's choice (CLIENT-06, CLIENT-14, CLIENT-75). The slowest of four reactions extends every plan's
waits and every judge's deadlines for this client. No case can begin before that, so the plans run side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from groupproof.harness.model.case import Case
from groupproof.harness.model.case_dialect import case_id
from groupproof.harness.model.client_timeouts import REACT_MS
from groupproof.harness.model.plan import Step
from groupproof.harness.model.plan_builders import answers, cuts, delivered, heal, passing, plan, requested, stable, start, subject
from groupproof.harness.model.verdicts import Level
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["MEASURING", "Rhythm", "rhythm_of"]

_WAIT_MS: Final = 35_000
"""The longest wait for one reaction in the measuring: the longest backoff of known clients is 30 s (kafkajs)."""

_MARGIN: Final = 3.0
"""The factor from the slowest measured reaction to the longest allowed one: backoffs grow, and have jitter."""

_BEATS = frozenset({Api.HEARTBEAT, Api.JOIN_GROUP})
_AFTER: Final = {
    "lookup": frozenset({Api.FIND_COORDINATOR}),
    "join": frozenset({Api.FIND_COORDINATOR, Api.JOIN_GROUP}),
    "rebalance": frozenset({Api.JOIN_GROUP}),
    "connection": _BEATS | {Api.FIND_COORDINATOR},
}
"""The requests that show the reaction to each fault, by the fault's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """The slowest reaction (ms) and its fault; this client must react within `react_ms`. `ignored` are the fields of a plain `subscribe`, which
    succeeded, that its shim does not pass on."""

    slowest_ms: float
    after: str
    ignored: tuple[str, ...] = ()

    @property
    def react_ms(self) -> float:
        return max(REACT_MS, _MARGIN * self.slowest_ms)


def _measuring(name: str, title: str, *steps: Step | list[Step]) -> Case:
    return Case(
        id=case_id("rhythm", CLASSIC, name),
        title=title,
        requirements=("CLIENT-06",),
        level=Level.INFO,
        plan=plan(subject(), *steps),
        judges=(),
        required=False,
    )


_FIND, _JOIN, _BEAT = Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.HEARTBEAT
_STEADY: Final = (*start("m0"), stable("m0", within_ms=2 * _WAIT_MS), passing(500))

MEASURING: Final = (
    _measuring(
        "joining",
        "How long the client takes to its next try while it joins.",
        answers("lookup", _FIND, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        answers("join", _JOIN, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        *start("m0"),
        delivered("lookup", within_ms=_WAIT_MS),
        delivered("join", within_ms=_WAIT_MS),
        stable("m0", after="join", within_ms=2 * _WAIT_MS),
    ),
    _measuring(
        "rebalance",
        "How long the client takes to join again.",
        *_STEADY,
        answers("rebalance", _BEAT, ErrorCode.REBALANCE_IN_PROGRESS, count=None, direction="response"),  # as a coordinator does
        delivered("rebalance", within_ms=_WAIT_MS),
        requested("m0", _JOIN, after="rebalance", within_ms=_WAIT_MS, go_on=True),
        heal("rebalance"),
        stable("m0", after="rebalance", within_ms=_WAIT_MS, go_on=True),
    ),
    _measuring(
        "connection",
        "How long the client takes to its next try on a new connection.",
        *_STEADY,
        cuts("connection", _BEAT, reset=True, direction="request"),
        delivered("connection", within_ms=_WAIT_MS),
        requested("m0", _BEAT, after="connection", within_ms=_WAIT_MS, go_on=True),
    ),
)


def rhythm_of(traces: Sequence[Trace]) -> Rhythm:
    """Return the rhythm from the traces of `MEASURING`; a missing reaction does not count."""
    reactions = {name: ms for name in _AFTER for trace in traces if (ms := _reaction_ms(trace, name)) is not None}
    slowest = max(reactions, key=reactions.__getitem__, default="")
    return Rhythm(slowest_ms=reactions.get(slowest, 0.0), after=slowest, ignored=tuple(sorted(_ignored(traces))))


def _ignored(traces: Sequence[Trace]) -> set[str]:
    lines = (obs for trace in traces for obs in trace if obs.who == "shim" and obs.body.get("name") == "answer" and obs.body.get("ok"))
    return {str(name) for obs in lines for name in obs.body.get("ignored") or ()}


def _reaction_ms(trace: Trace, fault: str) -> float | None:
    delivered = next((obs for obs in trace if obs.kind == "fault" and obs.fault == fault and obs.detail == "delivered"), None)
    if delivered is None:
        return None
    titles = {api.title for api in _AFTER[fault]}
    reaction = next((obs for obs in trace[delivered.seq + 1 :] if _shows(obs, titles)), None)
    if reaction is None or reaction.at_ms - delivered.at_ms > _WAIT_MS:  # a later request is a reaction to the next fault
        return None
    return reaction.at_ms - delivered.at_ms


def _shows(obs: Observation, titles: set[str]) -> bool:
    return obs.kind == "request" and obs.client == "m0" and obs.api in titles
