"""A process of the `consumer` dialect: it joins, hands over, is thawed late, learns names when it needs them, and switches its protocol."""

from __future__ import annotations

from typing import Any

from tests.harness.simulation.runs import calm, ran

from groupproof.clients.member.consumer.epoch_member import EpochMember
from groupproof.clients.member.member import Member
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.settings import OTHER_TOPIC, TOPIC

SETTLED_MS = 12_000


def _ran(**settings: Any) -> Run:
    return ran(calm(dialect="consumer", **settings), SETTLED_MS)


def _advance(run: Run, ms: int) -> list[int]:
    run.heap.run(run.heap.now_ms + ms)
    return [len(process.member.owned) for process in run.world.processes.values()]


def test_started_processes_share_the_partitions_and_a_crashed_one_gives_its_own_up_with_its_session() -> None:
    run = _ran()
    assert _advance(run, 1) == [2, 2, 2, 2]

    run.world.processes["m1"].crash()
    owned = _advance(run, 12_000)
    assert sorted([owned[0], *owned[2:]]) == [2, 3, 3]
    run.world.processes["m1"].start()
    assert _advance(run, 12_000) == [2, 2, 2, 2]


def test_a_frozen_program_loses_its_place_and_joins_again_when_it_is_thawed() -> None:
    run = _ran()
    process = run.world.processes["m2"]
    process.freeze()
    assert len(run.invariants.machine.member_ids("g")) == 4
    _advance(run, 9_000)
    assert len(run.invariants.machine.member_ids("g")) == 3

    process.thaw()
    assert _advance(run, 12_000) == [2, 2, 2, 2]


def test_a_topic_s_id_is_told_its_name_when_an_assignment_has_it() -> None:
    run = _ran()
    process = run.world.processes["m0"]
    assert process.invariants.named == {TOPIC}
    process.resubscribe((TOPIC, OTHER_TOPIC))
    _advance(run, 12_000)

    assert {topic for topic, _ in process.member.owned} == {TOPIC, OTHER_TOPIC}


def test_a_switched_program_comes_back_with_the_other_protocol_in_the_same_group() -> None:
    run = _ran(classic_members=1)
    kinds = [type(process.member) for process in run.world.processes.values()]
    assert kinds == [EpochMember, EpochMember, EpochMember, Member]
    assert isinstance(run.invariants.group(), ConsumerGroup)

    for process in run.world.processes.values():
        if process.settings.by_epochs:
            process.switch()
    _advance(run, 6_000)
    for process in run.world.processes.values():
        process.start()
    assert _advance(run, 30_000) == [2, 2, 2, 2]
    assert {type(process.member) for process in run.world.processes.values()} == {Member}
    assert run.invariants.group() is None, "a group of classic members alone is a classic one"
