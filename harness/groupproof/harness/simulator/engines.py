"""Who can carry a simulation's schedule out: the simulator, and the real pair in virtual time or over sockets; and what is said of each trace.

Whichever engine a trace comes from, its members are judged alike: by the judges of applications that the kit does not drive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from groupproof.harness.judges import UNIVERSAL
from groupproof.harness.live import judge_live
from groupproof.harness.simulator.pair import in_virtual_time, over_sockets
from groupproof.harness.simulator.running import run
from groupproof.harness.simulator.schedule import Schedule
from groupproof.harness.simulator.simulation import Simulation
from groupproof.harness.verdicts import Verdict
from groupproof.protocol.trace import Recorder, Trace

__all__ = ["ENGINES", "broken", "simulated"]


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


def broken(trace: Trace) -> dict[str, str]:
    """Return the requirements that a member broke, each with what was first observed."""
    rulings = [each.ruling for each in judge_live(trace, UNIVERSAL)]
    found: dict[str, str] = {}
    for finding in (finding for ruling in rulings for finding in ruling.findings if finding.verdict is Verdict.FAILED):
        found.setdefault(finding.requirement, finding.observed)
    return found
