"""The classic part of the simulator: the reference member, in the versions that it knows."""

from __future__ import annotations

import pytest
from tests.harness.simulation.runs import calm

from groupproof.harness.simulation.classic_simulation import CLASSIC_SIMULATION
from groupproof.harness.simulation.client_process import Process
from groupproof.harness.simulation.invariants.all_invariants import Invariants
from groupproof.harness.simulation.liveness import Liveness
from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.simulated_brokers import spoken_versions
from groupproof.protocol.wire.messages import JoinGroupRequest, OffsetCommitRequest


def test_it_makes_the_processes_the_invariants_and_the_settlement_of_a_run() -> None:
    run = Run(calm(members=3, static_members=1))

    assert [type(process) for process in run.targets.processes.values()] == [Process] * 3
    assert [process.settings.instance_id for process in run.targets.processes.values()] == ["m0-instance", None, None]
    assert isinstance(run.invariants, Invariants)
    assert CLASSIC_SIMULATION.settlement is Liveness


@pytest.mark.parametrize(("profile", "join", "commit"), [("kafka-1.1", 2, 3), ("kafka-4.1", 9, 9)])
def test_members_ask_in_the_newest_version_that_both_know_and_never_by_topic_id(profile: str, join: int, commit: int) -> None:
    versions = spoken_versions(profile, CLASSIC_SIMULATION.versions)

    assert (versions[JoinGroupRequest], versions[OffsetCommitRequest]) == (join, commit)
