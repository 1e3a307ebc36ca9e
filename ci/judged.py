"""Play each case with the reference, in virtual time, and write down as data of the package what its findings speak of (`make docs`).

That is what the case judges in a subject. What it lists stands beside it. Scripts of thousands of steps are not played, and count for nothing.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from judged_requirements import judged_in

from groupproof.clients.shims.reference import run_shim
from groupproof.harness.cases.catalogue import cases_of, client_side
from groupproof.harness.model.case import Case, script_of
from groupproof.harness.running.plans.client_stage import Stage
from groupproof.harness.running.plans.plan_runner import Limits
from groupproof.harness.running.runs.coordinator_run import JOBS, CoordinatorRun
from groupproof.harness.running.runs.whole_run import RunConfig
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.harness.subjects.subject import ReferenceSubject
from groupproof.protocol.rules.coverage import everything
from groupproof.protocol.trace import Trace

__all__ = ["DATA", "found", "main", "of_clients", "of_coordinators", "row_of", "text_of"]

ROOT: Final = Path(__file__).parents[1]
DATA: Final = ROOT / "protocol/groupproof/protocol/rules/judged.json"
PROFILE: Final = "kafka-4.1"
SCRIPT_STEPS_MAX: Final = 2_000
TASK_STEPS_MAX: Final = 400_000
LIMITS: Final = Limits(steps_s=60.0, observations_max=2_500)

Rows = Mapping[str, Mapping[str, Sequence[str]]]


def found() -> dict[str, Rows]:
    """Return by side and case what it lists and what it judges."""
    return {"client": of_clients(client_side()), "coordinator": of_coordinators(cases_of("coordinator"))}


def of_clients(cases: Sequence[Case]) -> Rows:
    """Play client cases with the reference member."""
    return {case.id: row_of(case, judged_in(case, _played(case))) for case in cases}


def of_coordinators(chosen: Sequence[Case]) -> Rows:
    """Play coordinator cases with the reference coordinator."""
    cases = [case for case in chosen if len(script_of(case).steps) <= SCRIPT_STEPS_MAX]
    config = RunConfig(cases=cases, profile=PROFILE, level="info", seed=1, jobs=JOBS, command=["groupproof"])
    outcome = CoordinatorRun(ReferenceBrokers(profile=PROFILE), config, say=lambda *_: None).go()
    played = {result.case.id: [play.trace for play in result.plays] for result in outcome.summary.results}
    return {case.id: row_of(case, judged_in(case, *played[case.id])) for case in cases}


def _played(case: Case) -> Trace:
    traces: list[Trace] = []

    async def main() -> None:
        subject = ReferenceSubject(run_shim)
        async with subject.opened():
            stage = Stage(subject=subject, reference_peers=subject, profile=PROFILE, seed=1, limits=LIMITS)
            traces.append((await stage.play(case, key="judged")).trace)

    run_virtually(main, seed=1, steps_max=TASK_STEPS_MAX)
    return traces[0]


def row_of(case: Case, judged: Collection[str]) -> Mapping[str, Sequence[str]]:
    """Return what is written down of a case that was played, and judged these requirements."""
    return {"lists": list(case.requirements), "judged": [name for name in everything() if name in judged]}


def text_of(rows: Mapping[str, Rows]) -> str:
    """Return the data as JSON, a line for each case, so that a change is read in a diff."""
    sides = []
    for side, of in rows.items():
        lines = ",\n".join(f"  {json.dumps(case)}: {json.dumps(row)}" for case, row in sorted(of.items()))
        sides.append(f" {json.dumps(side)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(sides) + "\n}\n"


def main(arguments: list[str]) -> int:
    """Write the data, or with `--check` compare; return the exit status."""
    now = text_of(found())
    if "--check" not in arguments:
        DATA.write_text(now)
    elif now != DATA.read_text():
        print("what the cases judge is not current; run: make docs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
