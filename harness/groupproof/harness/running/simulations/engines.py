"""Who can carry a simulation's schedule out: the simulator, and the real pair in virtual time or over sockets; and what is said of each trace.

Whichever engine a trace comes from, both sides are judged alike: the members by the judges of applications that the kit does not drive, the
coordinator by the oracle, which steps the reference machine beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.observed.coordinator_side import judge_coordinator
from groupproof.harness.judging.observed.observed_group import judge_live
from groupproof.harness.judging.oracle.tolerance import Tolerance
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.simulations.real_pair import in_virtual_time, over_sockets
from groupproof.harness.simulation.fault_schedule import Schedule
from groupproof.harness.simulation.run import run
from groupproof.harness.simulation.settings import Simulation
from groupproof.protocol.trace import Recorder, Trace

__all__ = ["ENGINES", "broken", "simulated"]

_BEYOND_RULES: Final = frozenset({"append", "broker-crash", "broker-pause", "move", "reorder", "repeat"})
"""Happenings that explain answers which the rules of a group do not: where there is one, the oracle is not asked."""

_EXACT: Final = Tolerance(early_ms=1, late_ms=1, late_share=0, prompt_ms=1, reorder_ms=1, late_timer_ms=1, uptake_ms=math.inf)
"""In virtual time nothing is late: what the oracle finds it finds at once, without a search for orders that explain it."""


def simulated(simulation: Simulation, plan: Schedule) -> Trace:
    """Return the simulator's trace of a run."""
    recorders: list[Recorder] = []

    def make(now_ns: Callable[[], int]) -> Recorder:
        recorders.append(Recorder(now_ns, clock="virtual"))
        return recorders[0]

    run(simulation, plan=plan, recorder=make)
    return recorders[0].trace


ENGINES: Final[Mapping[str, Callable[[Simulation, Schedule], Trace]]] = {
    "simulator": simulated, "trio": in_virtual_time, "sockets": over_sockets,
}  # fmt: skip


def broken(simulation: Simulation, plan: Schedule, trace: Trace) -> dict[str, str]:
    """Return the requirements that a member or the coordinator broke in a run, each with what was first observed."""
    results = [*judge_live(trace), *_answers(simulation, plan, trace)]
    found: dict[str, str] = {}
    for finding in (finding for result in results for finding in result.ruling.findings if finding.verdict is Verdict.FAILED):
        found.setdefault(finding.requirement, finding.observed)
    return found


def _answers(simulation: Simulation, plan: Schedule, trace: Trace) -> Iterator[CaseResult]:
    """Yield what the oracle says of the coordinator's answers."""
    if any(fault.kind in _BEYOND_RULES for fault in plan.happenings):
        return
    upstream: Mapping[str, Any] = {"profile": simulation.profile, "settings": simulation.coordinator_settings, "groups": ()}
    tolerance = _EXACT if any(obs.clock == "virtual" for obs in trace) else None
    results = judge_coordinator(trace, upstream, names_release=False, tolerance=tolerance)
    yield from (result for result in results if isinstance(result, CaseResult))
