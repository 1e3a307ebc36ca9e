"""From what is assigned to what is held: the order of commit, callbacks and acknowledgement."""

from __future__ import annotations

import pytest
from tests.clients.member.consumer.epoch_bench import BEAT, COMMIT, OTHER_ID, TOPIC_ID, EpochBench, assignment, parts

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.member.consumer.epoch_core import EpochState
from groupproof.clients.member.epoch_policy import EpochPolicy
from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import CallbackKind, NeedMetadata
from groupproof.protocol.wire.consumer_messages import ConsumerAssignment, TopicPartitions


def held(b: EpochBench) -> list[int]:
    return sorted(index for _, index in b.member.owned)


@pytest.mark.requirement("CGT-08", "CGT-05", "CGT-06", "CGT-09")
def test_a_hand_over_is_commit_revoke_assign_acknowledge() -> None:
    b = EpochBench(auto_commit=True)
    b.joined(0, 1)
    b.positions = {("t", 0): 5, ("t", 1): 6}
    b.next_beat()
    b.beaten(1, 1, 2)
    start = len(b.course)
    b.poll()
    assert b.course[start:] == ["OffsetCommit"], "nothing is revoked before the commit has ended"
    assert b.member.readable == {("t", 1)}, "what goes is read no more"

    b.answer(COMMIT)
    b.poll_through()
    assert b.course[start:] == ["OffsetCommit", "revoked", "assigned", "ConsumerGroupHeartbeat"]
    assert b.beat.topic_partitions == (TopicPartitions(topic_id=TOPIC_ID, partitions=(1, 2)),)
    assert held(b) == [1, 2]


@pytest.mark.requirement("CGT-09", "CGT-10")
def test_callbacks_name_what_goes_and_what_is_new() -> None:
    b = EpochBench()
    b.joined(0, 1)
    b.next_beat()
    b.beaten(2, 1, 2)
    first, second = b.poll_through()
    assert (first.kind, first.partitions) == (CallbackKind.REVOKED, parts(0))
    assert (second.kind, second.partitions) == (CallbackKind.ASSIGNED, parts(2))


@pytest.mark.requirement("CGT-02", "CGT-03")
def test_an_absent_assignment_is_no_change_and_an_empty_one_takes_everything() -> None:
    b = EpochBench()
    b.joined(0, 1)
    b.next_beat()
    b.beaten(2)
    assert b.poll_through() == []
    assert held(b) == [0, 1]

    b.next_beat()
    b.beaten(2, assignment=assignment())
    b.poll_through()
    assert held(b) == []
    assert b.beat.topic_partitions == ()


@pytest.mark.requirement("CGT-01", "CGC-21", "CGT-11")
def test_a_member_without_partitions_is_a_member() -> None:
    b = EpochBench()
    b.joined()
    assert b.beat.topic_partitions == ()
    assert b.member.state is EpochState.STABLE
    b.next_beat()


@pytest.mark.requirement("CGT-15")
def test_an_assignment_that_comes_meanwhile_is_reconciled_afterwards() -> None:
    b = EpochBench()
    b.joined(0, 1)
    b.next_beat()
    b.beaten(1, 0)
    b.poll()
    assert b.callbacks[0].kind is CallbackKind.REVOKED
    b.next_beat()  # the callback takes longer than the interval
    b.beaten(2, 0, 3)
    b.called()
    b.called()
    assert b.beat.topic_partitions == (TopicPartitions(topic_id=TOPIC_ID, partitions=(0,)),)
    b.beaten(2)
    b.poll_through()
    assert b.beat.topic_partitions == (TopicPartitions(topic_id=TOPIC_ID, partitions=(0, 3)),)


@pytest.mark.requirement("CGT-17")
def test_a_topic_id_without_a_name_is_held_back_and_the_rest_is_assigned() -> None:
    b = EpochBench(topics_known=Cluster(partitions={"t": 4}, names={TOPIC_ID: "t"}), topics=(), topic_regex=".*")
    b.joining()
    both = (TopicPartitions(topic_id=TOPIC_ID, partitions=(0,)), TopicPartitions(topic_id=OTHER_ID, partitions=(1,)))
    b.answer(BEAT, member_epoch=1, assignment=ConsumerAssignment(topic_partitions=both))
    b.poll_through()
    assert (b.member.owned, b.member.metadata_topic_ids) == (parts(0), frozenset({OTHER_ID}))
    assert b.of(NeedMetadata)
    assert b.beat.topic_partitions == both[:1]

    b.beaten()
    b.do(b.member.metadata(Cluster(partitions={"t": 4, "u": 2}, names={TOPIC_ID: "t", OTHER_ID: "u"}), b.now))
    b.poll_through()
    assert b.member.owned == {("t", 0), ("u", 1)}
    assert set(b.beat.topic_partitions or ()) == set(both)


@pytest.mark.requirement("CGT-34")
def test_nothing_is_revoked_before_the_application_polls() -> None:
    b = EpochBench()
    b.joined(0, 1)
    b.next_beat()
    b.beaten(1, 0)
    b.next_beat()
    assert (b.callbacks, held(b), b.beat.topic_partitions) == ([], [0, 1], None)


@pytest.mark.requirement("CGT-35")
@pytest.mark.parametrize(("assigned", "going"), [((1,), CallbackKind.REVOKED), ((0, 1, 2), CallbackKind.ASSIGNED)])
def test_after_a_callback_that_raised_nothing_is_acknowledged_until_the_member_is_fenced(assigned: tuple[int, ...], going: CallbackKind) -> None:
    b = EpochBench()
    b.joined(0, 1)
    b.next_beat()
    b.beaten(2, *assigned)
    b.poll()
    assert b.callbacks.pop(0).kind is going
    b.do(b.member.callback_failed(b.now))
    for _ in range(3):
        b.poll()
        assert b.next_beat().topic_partitions is None
        b.beaten()
    assert (b.member.state, parts(0, 1) <= b.member.owned) == (EpochState.RECONCILING, True), "the application holds what it held"

    b.next_beat()
    b.beaten(error=110)
    (lost,) = b.poll_through()
    assert (lost.kind, parts(0, 1) <= lost.partitions, b.beat.member_epoch) == (CallbackKind.LOST, True, 0)
    b.beaten(3, 3)
    b.poll_through()
    assert held(b) == [3], "the next membership is as any"


def test_a_lost_callback_that_raised_is_as_one_that_returned() -> None:
    b = EpochBench()
    b.joined(0, 1)
    b.next_beat()
    b.beaten(error=110)
    b.poll()
    assert b.callbacks.pop(0).kind is CallbackKind.LOST
    b.do(b.member.callback_failed(b.now))
    b.poll_through()
    assert (b.member.owned, b.beat.member_epoch) == (frozenset(), 0)


@pytest.mark.requirement("CGT-16", "CGT-20")
def test_a_reconciliation_whose_membership_ended_meanwhile_is_dropped() -> None:
    b = EpochBench()
    b.joined(0, 1)
    b.next_beat()
    b.beaten(1, 0)
    b.poll()
    b.next_beat()
    b.beaten(error=110)
    before = b.count(BEAT)
    b.called()  # the revoked-callback, whose result counts no more
    lost = b.callbacks[0]
    assert (lost.kind, lost.partitions) == (CallbackKind.LOST, parts(0))
    assert b.count(BEAT) == before, "no heartbeat while the lost-callback runs"
    b.called()
    assert (b.beat.member_epoch, b.beat.topic_partitions) == (0, ())


@pytest.mark.parametrize(("choice", "committed"), [("all", [0, 1]), ("revoked", [1]), ("none", [])])
def test_before_a_revocation_all_positions_are_committed_or_those_that_go_or_none(choice: str, committed: list[int]) -> None:
    b = EpochBench(Policy(epochs=EpochPolicy(commits_before_revoke=choice)), auto_commit=True)  # type: ignore[arg-type]  # a parameter of the test
    b.joined(0, 1)
    b.positions = {("t", 0): 5, ("t", 1): 6}
    b.next_beat()
    b.beaten(2, 0)
    b.poll()

    assert [part.partition_index for asked in b.messages(COMMIT) for topic in asked.topics for part in topic.partitions] == committed


@pytest.mark.requirement("CGP-05")
def test_the_commit_before_a_revocation_is_tried_for_as_long_as_the_rebalance_may_take() -> None:
    b = EpochBench(auto_commit=True, default_api_timeout_ms=1_000, max_poll_interval_ms=5_000)
    b.joined(0, 1)
    b.positions = {("t", 0): 5, ("t", 1): 6}
    b.next_beat()
    b.beaten(2, 0)
    b.poll()
    began = b.now
    while b.now < began + 3_000:
        if b.waits(COMMIT):
            b.answer(COMMIT, 14)
        b.advance(100)
        b.poll()

    assert b.callbacks == []
