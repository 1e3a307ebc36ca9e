"""A process of the `consumer` dialect: it joins, hands over, is thawed late, learns names when it needs them, and switches its protocol."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from tests.harness.simulation.runs import calm, ran, short

from groupproof.clients.member.consumer.epoch_heartbeats import EpochHeartbeats
from groupproof.clients.member.consumer.epoch_member import EpochMember
from groupproof.clients.member.member import Member
from groupproof.clients.outputs import Output
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.harness.simulation.epoch_process import EpochProcess
from groupproof.harness.simulation.run import Run, run
from groupproof.harness.simulation.settings import OTHER_TOPIC, TOPIC
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest

SETTLED_MS = 12_000


def _ran(**settings: Any) -> Run:
    return ran(calm(dialect="consumer", **settings), SETTLED_MS)


def _advance(run: Run, ms: int) -> list[int]:
    run.heap.run(run.heap.now_ms + ms)
    return [len(process.member.owned) for process in run.targets.processes.values()]


def test_started_processes_share_the_partitions_and_a_crashed_one_gives_its_own_up_with_its_session() -> None:
    run = _ran()
    assert _advance(run, 1) == [2, 2, 2, 2]

    run.targets.processes["m1"].crash()
    owned = _advance(run, 12_000)
    assert sorted([owned[0], *owned[2:]]) == [2, 3, 3]
    run.targets.processes["m1"].start()
    assert _advance(run, 12_000) == [2, 2, 2, 2]


def test_a_frozen_program_loses_its_place_and_joins_again_when_it_is_thawed() -> None:
    run = _ran()
    process = run.targets.processes["m2"]
    process.freeze()
    assert len(run.invariants.machine.member_ids("g")) == 4
    _advance(run, 9_000)
    assert len(run.invariants.machine.member_ids("g")) == 3

    process.thaw()
    assert _advance(run, 12_000) == [2, 2, 2, 2]


def test_a_topic_id_is_described_with_its_name_when_an_assignment_has_it() -> None:
    run = _ran()
    process = run.targets.processes["m0"]
    assert process.invariants.named == {TOPIC}
    process.resubscribe((TOPIC, OTHER_TOPIC))
    _advance(run, 12_000)

    assert {topic for topic, _ in process.member.owned} == {TOPIC, OTHER_TOPIC}


def test_a_switched_program_comes_back_with_the_other_protocol_in_the_same_group() -> None:
    run = _ran(classic_members=1)
    kinds = [type(process.member) for process in run.targets.processes.values()]
    assert kinds == [EpochMember, EpochMember, EpochMember, Member]
    assert isinstance(run.invariants.group(), ConsumerGroup)

    for process in run.targets.processes.values():
        if process.settings.by_epochs:
            process.switch()
    _advance(run, 6_000)
    for process in run.targets.processes.values():
        process.start()
    assert _advance(run, 30_000) == [2, 2, 2, 2]
    assert {type(process.member) for process in run.targets.processes.values()} == {Member}
    assert run.invariants.group() is None, "a group of classic members alone is a classic one"


def _left_out(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str, list[Output]]]:
    """Poll a copy of the member wherever a simulation leaves the poll out, and keep what came of it."""
    polls, looks = [], EpochProcess._has_a_poll_to_do

    def look(process: EpochProcess, outputs: list[Output]) -> bool:
        if looks(process, outputs):
            return True
        kept = (process.member.policy, process.member.settings)
        member, now_ms = deepcopy(process.member, {id(part): part for part in kept}), process._heap.now_ms
        due_ms = member.next_poll_ms()
        came = [] if due_ms is not None and due_ms <= now_ms else member.poll(now_ms, process._positions)
        polls.append((now_ms, process.name, came))
        return False

    monkeypatch.setattr(EpochProcess, "_has_a_poll_to_do", look)
    return polls


def test_a_poll_that_is_left_out_would_have_done_nothing_but_commit_what_is_due_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    polls = _left_out(monkeypatch)
    outcomes = [run(short(seed, dialect="consumer", profile="kafka-4.4", classic_members=0)) for seed in (1, 2, 3)]

    assert [outcome.violations for outcome in outcomes] == [(), (), ()]
    assert len(polls) > 60
    assert [poll for poll in polls if poll[2]] == []


def test_it_is_seen_if_a_poll_is_left_out_that_had_something_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EpochMember, "awaits_poll", property(lambda _: False))
    polls = _left_out(monkeypatch)
    run(short(1, dialect="consumer", profile="kafka-4.4", classic_members=0))

    assert [poll for poll in polls if poll[2]]


def test_a_heartbeat_that_says_nothing_is_followed_by_the_next_and_by_no_poll() -> None:
    run = _ran(max_poll_interval_ms=100_000)
    process = run.targets.processes["m0"]
    polled_ms, asked = process.unpolled_ms, run.record.requests.copy()
    _advance(run, 7_000)

    beats = run.record.requests - asked
    assert beats[ConsumerGroupHeartbeatRequest] >= 3 * len(run.targets.processes)
    assert process.unpolled_ms == polled_ms
    assert process.member.next_beat_ms > run.heap.now_ms


@pytest.mark.parametrize("seed", range(6))
def test_members_that_go_through_every_answer_live_as_those_that_know_one_again(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = short(seed, dialect="consumer")
    knowing = run(simulation)
    monkeypatch.setattr(EpochHeartbeats, "take_repeated", lambda *_: False)
    assert (run(simulation).trace_hash, knowing.violations) == (knowing.trace_hash, ())
