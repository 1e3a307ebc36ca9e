"""The engines that run a simulation's schedule, and the judgement of their traces: the simulator, and the real pair in virtual time or over sockets.

The judgement does not depend on the engine. The judges of applications that the kit does not drive judge the members; the oracle, which
steps the reference machine in parallel, judges the coordinator.
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
"""Faults that explain answers which a group's rules do not explain: with one of them, the oracle is not used."""

_EXACT: Final = Tolerance(early_ms=1, late_ms=1, late_share=0, prompt_ms=1, reorder_ms=1, late_timer_ms=1, uptake_ms=math.inf)
"""In virtual time nothing is late: the oracle needs no search for orders of events."""


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
    """Return the requirements that a member or the coordinator broke in a run, each with the first observation."""
    results = [*judge_live(trace), *_answers(simulation, plan, trace)]
    found: dict[str, str] = {}
    for finding in (finding for result in results for finding in result.ruling.findings if finding.verdict is Verdict.FAILED):
        found.setdefault(finding.requirement, finding.observed)
    return found


def _answers(simulation: Simulation, plan: Schedule, trace: Trace) -> Iterator[CaseResult]:
    """Yield the oracle's results on the coordinator's answers."""
    if any(fault.kind in _BEYOND_RULES for fault in plan.faults):
        return
    upstream: Mapping[str, Any] = {"profile": simulation.profile, "settings": simulation.coordinator_settings, "groups": ()}
    tolerance = _EXACT if any(obs.clock == "virtual" for obs in trace) else None
    results = judge_coordinator(trace, upstream, is_only_way=True, names_release=False, tolerance=tolerance)
    yield from (result for result in results if isinstance(result, CaseResult))
