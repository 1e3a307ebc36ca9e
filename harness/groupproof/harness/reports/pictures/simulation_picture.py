"""A picture of a simulated run: states of the group and its members, faults, and broken invariants.

Heartbeats and commits without effect are left out.
"""

from __future__ import annotations

from groupproof.harness.reports.pictures.svg import time_label
from groupproof.harness.reports.pictures.timeline import timeline_of
from groupproof.harness.reports.pictures.timeline_svg import draw
from groupproof.harness.simulation.settings import Outcome
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api

__all__ = ["picture_of"]

_QUIET = frozenset({Api.HEARTBEAT.title, Api.OFFSET_COMMIT.title, Api.OFFSET_FETCH.title})


def picture_of(trace: Trace, outcome: Outcome) -> str:
    """Return the run as a standalone SVG file."""
    simulation = outcome.simulation
    title = f"Simulation of {simulation.members} members, seed {simulation.seed}, {simulation.profile}"
    return draw(timeline_of(_worth_showing(trace))).alone(title=title, subtitle=_subtitle(outcome))


def _worth_showing(trace: Trace) -> Trace:
    refused = {obs.exchange_id for obs in trace if obs.kind == "response" and obs.error}
    return [obs for obs in trace if not _is_quiet(obs) or obs.exchange_id in refused]


def _is_quiet(obs: Observation) -> bool:
    return obs.kind in ("request", "processed", "response") and obs.api in _QUIET


def _subtitle(outcome: Outcome) -> str:
    if outcome.violations:
        (broken, *_) = outcome.violations
        return f"{broken.requirement} broken at {time_label(broken.at_ms)}: {broken.observed}"
    assert outcome.converged_at_ms is not None, "without a violation the group has settled"
    settled_ms = outcome.converged_at_ms - outcome.simulation.duration_ms
    return f"no law broken; settled {time_label(settled_ms)} after everything was healed"
