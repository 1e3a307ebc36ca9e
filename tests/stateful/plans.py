"""Plans that Hypothesis draws for a simulation: what befalls whom and when, tens of draws for thousands of events; and what comes of one, by its trace."""

from __future__ import annotations

from typing import Any, Final

import hypothesis.strategies as st

from groupproof.harness.simulation.fault_schedule import Schedule, ScheduledFault
from groupproof.harness.simulation.settings import Simulation
from groupproof.protocol.trace import Trace

__all__ = ["SECONDS", "apart", "calls_of", "crowded", "moves_of", "within_seconds"]

MEMBERS: Final = 3
SLOT_MS: Final = 35_000
SECONDS: Final = 3
LASTING: Final = ("crash", "leave", "resubscribe")
"""What comes out alike wherever it is done: a stall ends a membership only if it outlasts the last poll before it, which no plan says."""


def within_seconds(**options: Any) -> Simulation:
    """Return a simulation so short that it can be carried out in real time as well."""
    settings = {"group.min.session.timeout.ms": 100, "group.initial.rebalance.delay.ms": 800}
    return Simulation(**{
        "seed": 1, "members": MEMBERS, "brokers": 2, "duration_ms": SECONDS * 1_000, "session_timeout_ms": 900, "max_poll_interval_ms": 1_500,
        "starts_within_ms": 50, "auto_commit_interval_ms": 100, "latency_ms": 1, "faults": (), "coordinator_settings": settings, **options,
    })  # fmt: skip


def _fault(at_ms: st.SearchStrategy[int], for_ms: st.SearchStrategy[int], kinds: tuple[str, ...]) -> st.SearchStrategy[ScheduledFault]:
    def made(kind: str, who: int, at: int, long: int) -> ScheduledFault:
        return ScheduledFault(at_ms=at, kind=kind, who=(f"m{who}",), for_ms=long, how={"callback_ms": 50} if kind == "callbacks" else {})

    return st.builds(made, st.sampled_from(kinds), st.integers(0, MEMBERS - 1), at_ms, for_ms)


def crowded() -> st.SearchStrategy[Schedule]:
    """Draw a plan in which much happens, all within the few seconds of `within_seconds`."""
    fault = _fault(st.integers(1_500, SECONDS * 1_000 - 500), st.sampled_from((400, 700, 1_300)), LASTING)
    return st.lists(fault, max_size=16).map(_in_order)


@st.composite
def apart(draw: st.DrawFn, slots: int = 3) -> Schedule:
    """Draw a plan whose happenings lie so far apart that none depends on which of two things came a millisecond earlier."""
    faults = []
    for slot in range(1, slots + 1):
        at_ms = st.integers(slot * SLOT_MS, slot * SLOT_MS + 2_000)
        faults.append(draw(_fault(at_ms, st.sampled_from((3_137, 14_137)), (*LASTING, "stall"))))
    return _in_order(faults)


def _in_order(faults: list[ScheduledFault]) -> Schedule:
    return Schedule(faults=tuple(sorted(faults, key=lambda fault: fault.at_ms)))


def moves_of(trace: Trace) -> list[tuple[Any, ...]]:
    """Return the group's moves, in their order."""
    return [(obs.state_before, obs.state_after, obs.generation, obs.rule) for obs in trace if obs.kind == "transition"]


def calls_of(trace: Trace) -> dict[str, list[tuple[Any, ...]]]:
    """Return what each application was told, in its order and over all its lives: which callback, in which generation, of how many partitions."""
    fields: dict[str, list[tuple[Any, ...]]] = {}
    for obs in trace:
        if obs.who == "shim" and obs.client is not None:
            fields.setdefault(obs.client.partition(".")[0], []).append((obs.body["name"], obs.body["generation"], len(obs.partitions)))
    return fields
