"""What is held of one member at its frames and callbacks: what it may do passes, what it may not is blamed by its requirement."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groupproof.clients.outputs import Callback, CallbackKind
from groupproof.harness.simulation.invariants.epoch_member_invariants import EpochMemberInvariants
from groupproof.harness.simulation.settings import InvariantBroken
from groupproof.protocol.wire.consumer_messages import (
    ConsumerAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from groupproof.protocol.wire.messages import (
    CommitPartition,
    CommittedPartition,
    CommittedTopic,
    CommitTopic,
    OffsetCommitRequest,
    OffsetCommitResponse,
)

NAMES = {"id": "t"}
JOIN = ConsumerGroupHeartbeatRequest(
    group_id="g", member_id="m", member_epoch=0, rebalance_timeout_ms=9, subscribed_topic_names=("t",), topic_partitions=()
)
BEAT = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=1)
T0 = frozenset({("t", 0)})


def _listed(*indexes: int) -> tuple[TopicPartitions, ...]:
    return (TopicPartitions(topic_id="id", partitions=indexes),)


def _joined(*indexes: int) -> EpochMemberInvariants:
    """Return a member that has joined, was assigned these partitions, and has taken them."""
    member = EpochMemberInvariants(
        instance_id=None, assignor=None, rack=None, rebalance_timeout_ms=9, topics=("t",), named=frozenset({"t"}), is_disturbed=False
    )
    member.sends(JOIN, 0, NAMES)
    _answer(member, JOIN, 1, *indexes)
    if indexes:
        member.calls(Callback(kind=CallbackKind.ASSIGNED, partitions=frozenset(("t", index) for index in indexes), member_id="m", generation=1), {})
        member.called()
        _beat(member, 10, topic_partitions=_listed(*indexes))
    return member


def _answer(member: EpochMemberInvariants, beat: Any, epoch: int, *indexes: int, code: int = 0) -> None:
    assignment = ConsumerAssignment(topic_partitions=_listed(*indexes)) if indexes else None
    answer = ConsumerGroupHeartbeatResponse(error_code=code, member_epoch=epoch, heartbeat_interval_ms=1_000, assignment=assignment)
    member.settled(beat, answer, 5, NAMES)


def _beat(member: EpochMemberInvariants, now_ms: int, **fields: Any) -> None:
    beat = replace(BEAT, **fields)
    member.sends(beat, now_ms, NAMES)
    _answer(member, beat, 1)


def _callback(kind: CallbackKind) -> Callback:
    return Callback(kind=kind, partitions=T0, member_id="m", generation=1)


def _commit(offset: int, code: int = 0) -> tuple[OffsetCommitRequest, OffsetCommitResponse]:
    asked = OffsetCommitRequest(
        group_id="g",
        generation_id=1,
        member_id="m",
        topics=(CommitTopic(name="t", partitions=(CommitPartition(partition_index=0, committed_offset=offset),)),),
    )
    return asked, OffsetCommitResponse(topics=(CommittedTopic(name="t", partitions=(CommittedPartition(partition_index=0, error_code=code),)),))


def test_a_member_that_joins_takes_its_share_and_says_so_breaks_nothing() -> None:
    member = _joined(0)
    _beat(member, 1_005)

    assert (member.broken, member.held, member.epoch) == ([], set(T0), 1)


@pytest.mark.parametrize(("now_ms", "fields", "requirement"), [
    (1_005, {"member_epoch": 2}, "CGI-18"), (1_005, {"member_id": "other"}, "CGC-06"), (200, {}, "CGC-24"), (3_000, {}, "CGC-28"),
    (1_005, {"topic_partitions": _listed(0, 1)}, "CGI-19"), (1_005, {"subscribed_topic_regex": "x"}, "CGC-13"), (1_005, {"subscribed_topic_names": ("u",)}, "CGC-13"),
    (1_005, {"member_epoch": -2}, "CGV-02"),
])  # fmt: skip
def test_a_heartbeat_that_is_wrong_is_blamed(now_ms: int, fields: dict[str, Any], requirement: str) -> None:
    member = _joined(0)
    _beat(member, now_ms, **fields)

    assert requirement in [broken for broken, _ in member.broken] or (requirement == "CGV-02" and member.broken[0][0] == "CGV-01")


def test_another_subscription_is_said_with_the_next_heartbeat_and_nothing_is_when_nobody_polls() -> None:
    member = _joined(0)
    member.topics = ("t", "u")
    _beat(member, 1_005)
    member.is_polling = False
    _beat(member, 2_005, subscribed_topic_names=("t", "u"))

    assert [broken for broken, _ in member.broken] == ["CGC-11", "CGV-16"]


def test_what_was_read_is_committed_before_it_is_revoked_unless_the_commit_was_refused() -> None:
    for code, broken in ((0, []), (113, ["CGT-05"]), (15, [])):
        member = _joined(0)
        member.settled(*_commit(50, code), 20, NAMES)
        member.calls(_callback(CallbackKind.REVOKED), {("t", 0): 50})
        assert [requirement for requirement, _ in member.broken] == broken, code


def test_an_answer_to_a_commit_from_before_a_partition_came_back_takes_nothing_back() -> None:
    for offsets in ((505, 526), (526, 505)):
        member = _joined(0)
        for offset in offsets:
            member.settled(*_commit(offset, 0), 20, NAMES)
        member.calls(_callback(CallbackKind.REVOKED), {("t", 0): 526})
        assert (member.broken, member.committed) == ([], {("t", 0): 526})


def test_a_fenced_member_loses_and_joins_again_and_only_then() -> None:
    member = _joined(0)
    _answer(member, BEAT, 0, code=110)
    assert (member.epoch, member.loses) == (0, True)
    member.calls(_callback(CallbackKind.REVOKED), {})
    assert [requirement for requirement, _ in member.broken] == ["CGT-18"]


def test_a_partition_that_a_report_leaves_out_is_unsaid_until_an_answered_one_has_it() -> None:
    member = _joined(0)
    _answer(member, BEAT, 1, 0, 1)
    beat = replace(BEAT, topic_partitions=_listed(0))
    member.sends(beat, 1_005, NAMES)
    assert member.unsaid == {("t", 1)}

    member.held.add(("t", 1))
    again = replace(BEAT, topic_partitions=_listed(0, 1))
    _answer(member, again, 1)
    assert member.unsaid == frozenset()


def test_a_fatal_error_needs_a_cause_and_a_close_its_leave() -> None:
    member = _joined()
    member.fails("UNKNOWN_MEMBER_ID")
    member.closes()
    assert [requirement for requirement, _ in member.broken] == ["CGT-18", "CGV-01"]

    _answer(member, BEAT, 0, code=30)
    member.broken.clear()
    member.fails("GROUP_AUTHORIZATION_FAILED")
    assert member.broken == []


def test_the_first_that_is_broken_ends_a_simulation() -> None:
    member = _joined()
    member.raises = True
    with pytest.raises(InvariantBroken, match="CGV-01: m: closes without a leave"):
        member.closes()


def _given_more() -> EpochMemberInvariants:
    """Return a member that holds t-0, and is being assigned t-1."""
    member = _joined(0)
    _answer(member, BEAT, 1, 0, 1)
    member.calls(Callback(kind=CallbackKind.ASSIGNED, partitions=frozenset({("t", 1)}), member_id="m", generation=1), {})
    return member


def test_a_report_may_be_of_what_was_held_before_the_callback_that_runs() -> None:
    member = _given_more()
    member.reported = frozenset()  # the acknowledgement of t-0 waited for an answer
    _beat(member, 2_000, topic_partitions=_listed(0))
    assert member.broken == []


def test_what_a_report_names_was_held_or_reported() -> None:
    member = _given_more()
    member.called()
    member.reported = frozenset()
    _beat(member, 2_000, topic_partitions=_listed(0))
    assert [requirement for requirement, _ in member.broken] == ["CGI-19"]


def _assigned(*indexes: int) -> Callback:
    return Callback(kind=CallbackKind.ASSIGNED, partitions=frozenset(("t", index) for index in indexes), member_id="m", generation=1)


def _overtaken(says: frozenset[tuple[str, int]] = T0) -> EpochMemberInvariants:
    """Return a member that commits for t-0 and t-1 when it is told to hold t-0, as it does and says, and then t-0 and t-2."""
    member = _joined(0)
    member.reported = says
    _answer(member, BEAT, 1, 0, 1)
    _answer(member, BEAT, 1, 0)
    _beat(member, 2_000, topic_partitions=_listed(0))
    _answer(member, BEAT, 1, 0, 2)
    return member


@pytest.mark.requirement("CGT-03")
@pytest.mark.parametrize("says", [T0, frozenset()])  # nothing: the acknowledgement waited for an answer
def test_a_member_that_is_overtaken_takes_its_assignment_although_its_report_fits_a_later_one(says: frozenset[tuple[str, int]]) -> None:
    member = _overtaken(says)
    member.calls(_assigned(1), {})
    assert member.broken == []


def test_a_member_that_was_overtaken_then_goes_to_the_newest_assignment() -> None:
    member = _overtaken()
    member.calls(_assigned(1), {})
    member.called()
    member.calls(_assigned(3), {})
    assert [requirement for requirement, _ in member.broken] == ["CGT-03", "CGT-08"]


def test_a_member_that_joins_again_is_not_overtaken() -> None:
    member = _overtaken()
    member.loses_all()
    assert not member.is_overtaken
