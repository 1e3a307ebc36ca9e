"""The judges on simulated traces: they blame neither the reference member nor the reference coordinator, whatever befalls them, and find a planted bug."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.soaking import seeds

from groupproof.harness.cases.catalogue import every_case
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.simulations.parquet_runs import observed, piece_of
from groupproof.harness.running.trace_check import check_files
from groupproof.harness.simulation.settings import Simulation


def blamed(simulation: Simulation, folder: Path) -> dict[str, str]:
    """Return what is found in the run, by requirement."""
    observed(simulation, folder)
    results = check_files([piece_of(folder, simulation.seed)], every_case, UNIVERSAL).results
    return {finding.requirement: finding.observed for result in results for finding in result.ruling.findings if finding.verdict is not Verdict.OK}


WERE_BLAMED = [(148, 8), (222, 8), (398, 8), (37, 6), (118, 6), (197, 6), (4206, 7), (62, 8), (193, 8), (489, 8), (169, 6), (558, 6), (535, 6)]
"""Seeds and members of swarms in which a rule once forgot a legal course."""


@pytest.mark.parametrize(("seed", "members"), [*((seed, 8) for seed in range(1, 9)), *WERE_BLAMED])
@pytest.mark.slow
def test_a_swarm_of_faults_is_nobodys_fault(seed: int, members: int, tmp_path: Path) -> None:
    assert blamed(Simulation(seed=seed, members=members, duration_ms=60_000), tmp_path) == {}


@pytest.mark.soak
@pytest.mark.parametrize("part", range(8))
def test_a_thousand_swarms_are_nobodys_fault(part: int, tmp_path: Path) -> None:
    runs = (Simulation(seed=seed, members=4 + seed % 9, duration_ms=60_000) for seed in seeds(125, part=part))

    assert {run.seed: found for run in runs if (found := blamed(run, tmp_path))} == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "requirement"),
    [("commits-with-previous-generation", "CLIENT-66"), ("leader-repeats-last-assignment", "ASSIGN-09"), ("commits-without-membership", "CLIENT-66")],
)
def test_a_member_with_a_bug_is_found_in_some_swarm(variant: str, requirement: str, tmp_path: Path) -> None:
    found = (blamed(Simulation(seed=seed, members=8, duration_ms=60_000, member_variant=variant), tmp_path) for seed in range(1, 13))
    assert any(requirement in entry for entry in found)
