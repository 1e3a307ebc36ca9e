"""LeaveGroup, and the goodbye of close and unsubscribe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import CallbackKind, CloseResult, CommitResult
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.messages import LeaveGroupRequest, LeftMember

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

JOIN, SYNC, COMMIT, LEAVE, HEARTBEAT = Api.JOIN_GROUP, Api.SYNC_GROUP, Api.OFFSET_COMMIT, Api.LEAVE_GROUP, Api.HEARTBEAT


def gone(b: Bench) -> bool:
    return bool(b.of(CloseResult))


@pytest.mark.requirement("CLIENT-73", "LEAVE-55")
def test_a_close_revokes_then_leaves_then_is_gone(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.close(b.now))
    assert b.count(LEAVE) == 0
    callback = b.called()
    assert (callback.kind, callback.partitions) == (CallbackKind.REVOKED, frozenset({("t", 0)}))

    leave = b.message(LEAVE)
    assert [(member.member_id, member.group_instance_id) for member in leave.members] == [("m-1", None)]
    assert (b.member.member_id, b.member.generation, b.member.owned) == ("", -1, frozenset())
    assert not gone(b)
    b.answer(LEAVE)
    assert b.of(CloseResult) == [CloseResult(closed=True)]
    b.advance(30_000)
    assert b.sent[-1][1] is leave


def test_auto_commit_comes_before_the_callback(bench: type[Bench]) -> None:
    b = bench(auto_commit=True)
    b.stable(0)
    b.positions = {("t", 0): 5}
    b.poll()
    b.do(b.member.close(b.now))
    assert b.sent[-1][1].api is COMMIT
    assert b.message(COMMIT).generation_id == 1
    assert b.callbacks == []
    b.answer(COMMIT)

    assert b.callbacks[0].kind is CallbackKind.REVOKED
    assert b.of(CommitResult) == [], "nobody asked for it"


@pytest.mark.requirement("CLIENT-71", "CLIENT-80")
@pytest.mark.parametrize("error", [14, 15, 16, 25, 30, 9999])
def test_an_error_of_the_leave_is_nothing_to_repeat(bench: type[Bench], error: int) -> None:
    b = bench()
    b.stable()
    b.do(b.member.close(b.now))
    b.answer(LEAVE, members=(LeftMember(member_id="m-1", error_code=error),))
    b.advance(30_000)

    assert b.count(LEAVE) == 1
    assert gone(b)
    assert b.failures == []


@pytest.mark.requirement("CLIENT-71")
def test_a_leave_without_an_answer_is_waited_for_no_longer_than_its_time(bench: type[Bench]) -> None:
    b = bench(close_timeout_ms=3000)
    b.stable()
    b.do(b.member.close(b.now))
    b.advance(2999)
    assert not gone(b)
    b.advance(1)

    assert gone(b)
    assert b.count(LEAVE) == 1


def test_a_lost_connection_ends_the_leave(bench: type[Bench]) -> None:
    b = bench()
    b.stable()
    b.do(b.member.close(b.now))
    b.lose(LEAVE)

    assert gone(b)
    assert b.count(LEAVE) == 1


@pytest.mark.requirement("STATIC-15")
@pytest.mark.parametrize(("instance_id", "leave", "leaves"), [(None, None, 1), (None, False, 0), ("i0", None, 0), ("i0", True, 1)])
def test_dynamic_members_leave_static_ones_stay_and_the_application_can_force_either(
    bench: type[Bench], instance_id: str | None, leave: bool | None, leaves: int
) -> None:
    b = bench(instance_id=instance_id)
    b.stable()
    b.do(b.member.close(b.now, leave=leave))

    assert b.count(LEAVE) == leaves
    assert [member.group_instance_id for _, sent in b.sent if isinstance(sent, LeaveGroupRequest) for member in sent.members] == [
        instance_id
    ] * leaves
    assert gone(b) == (leaves == 0)


@pytest.mark.requirement("CLIENT-72")
def test_a_member_that_never_was_one_does_not_leave(bench: type[Bench]) -> None:
    b = bench()
    b.poll()
    b.do(b.member.close(b.now))

    assert b.count(LEAVE) == 0
    assert gone(b)


@pytest.mark.requirement("CLIENT-72")
@pytest.mark.parametrize("text", ["reset", "lost"])
def test_a_member_that_was_reset_or_has_lost_its_coordinator_does_not_leave(bench: type[Bench], text: str) -> None:
    b = bench()
    b.stable(0)
    b.advance(b.member.settings.heartbeat_interval_ms)
    b.answer(HEARTBEAT, 25) if text == "reset" else b.lose(HEARTBEAT)
    b.do(b.member.close(b.now))
    while b.callbacks:
        b.called()
    b.advance(30_000)

    assert b.count(LEAVE) == 0
    assert gone(b)


def test_a_pending_member_leaves_with_the_id_that_it_got(bench: type[Bench]) -> None:
    b = bench()
    b.poll()
    b.answer(Api.FIND_COORDINATOR)
    b.poll()
    b.answer(JOIN, 79, member_id="m-1")
    b.do(b.member.close(b.now))

    assert b.message(LEAVE).members[0].member_id == "m-1"


def test_a_leave_during_a_parked_join_goes_by_a_connection_of_its_own(bench: type[Bench]) -> None:
    b = bench()
    b.joining()
    b.do(b.member.close(b.now))

    assert b.take(LEAVE).lane == "goodbye"
    assert b.take(JOIN).lane == "group"
    stable = bench()
    stable.stable()
    stable.do(stable.member.close(stable.now))
    assert stable.take(LEAVE).lane == "group"


def test_lost_partitions_are_not_revoked_on_close(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.answer_heartbeat(25)
    b.do(b.member.close(b.now))

    assert b.called().kind is CallbackKind.LOST
    assert b.count(LEAVE) == 0
    assert gone(b)


def test_unsubscribe_leaves_and_a_new_subscription_joins_again(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.unsubscribe(b.now))
    b.called()
    b.answer(LEAVE)
    assert b.of(CloseResult) == [CloseResult(closed=False)]
    b.advance(5000, polling=True)
    joins = b.count(JOIN)

    b.do(b.member.resubscribe(("t",), b.now))
    b.poll()
    assert b.count(JOIN) == joins + 1
    assert b.message(JOIN).member_id == ""
    b.do(b.member.close(b.now))
    assert b.of(CloseResult)[-1] == CloseResult(closed=True)


def test_a_new_subscription_waits_out_no_pause_of_the_old_one(bench: type[Bench]) -> None:
    b = bench()
    b.joining()
    b.answer(JOIN, 14)
    b.do(b.member.unsubscribe(b.now))
    b.answer(LEAVE)
    b.do(b.member.resubscribe(("t",), b.now))
    b.poll()

    assert b.times(JOIN) == [0, 0, 0]


@pytest.mark.parametrize("ends", ["close", "unsubscribe"])
def test_a_member_that_leaves_does_not_take_part_for_a_subscription_that_it_gets_meanwhile(bench: type[Bench], ends: str) -> None:
    b = bench()
    b.stable(0)
    b.do(getattr(b.member, ends)(b.now))
    b.do(b.member.resubscribe(("t", "u"), b.now))
    b.poll()
    joins = b.count(JOIN)
    b.called()
    b.poll()
    assert (b.count(JOIN), b.count(LEAVE)) == (joins, 1)
    b.answer(LEAVE)
    b.poll()
    assert b.of(CloseResult) == [CloseResult(closed=ends == "close")]
    assert b.count(JOIN) == joins + (ends == "unsubscribe")


def test_a_member_that_unsubscribes_again_while_it_leaves_takes_part_no_more(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.unsubscribe(b.now))
    b.do(b.member.resubscribe(("t", "u"), b.now))
    b.do(b.member.unsubscribe(b.now))
    joins = b.count(JOIN)
    b.called()
    b.answer(LEAVE)
    b.poll()
    assert (b.of(CloseResult), b.count(JOIN)) == ([CloseResult(closed=False)], joins)


def test_a_close_after_unsubscribe_sends_no_second_leave(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.unsubscribe(b.now))
    b.do(b.member.close(b.now))
    b.called()
    b.answer(LEAVE)

    assert b.of(CloseResult) == [CloseResult(closed=True)]
    assert b.count(LEAVE) == 1


def test_a_failed_member_still_leaves(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.fail("NO_OFFSET_FOR_PARTITION", "nothing is committed", b.now))
    b.do(b.member.close(b.now))
    b.called()
    b.answer(LEAVE)

    assert gone(b)


@pytest.mark.parametrize(
    ("policy", "leaves", "heartbeats"), [(Policy(leaves=0), 0, 0), (Policy(leaves=2), 2, 0), (Policy(heartbeats_after_leave=True), 1, 1)]
)
def test_planted_bugs_of_the_clean_close_show(bench: type[Bench], policy: Policy, leaves: int, heartbeats: int) -> None:
    b = bench(policy)
    b.stable()
    b.do(b.member.close(b.now))

    assert (b.count(LEAVE), b.count(HEARTBEAT)) == (leaves, heartbeats)


def test_a_leave_may_be_made_to_have_no_member_id(bench: type[Bench]) -> None:
    b = bench(Policy(leaves_by_id=False))
    b.stable()
    b.do(b.member.close(b.now))

    assert [member.member_id for member in b.message(LEAVE).members] == [""]


def test_the_commit_of_a_close_is_tried_for_as_long_as_the_close_may_take(bench: type[Bench]) -> None:
    b = bench(auto_commit=True, default_api_timeout_ms=1_000, close_timeout_ms=5_000)
    b.stable(0)
    b.positions = {("t", 0): 5}
    b.poll()
    b.do(b.member.close(b.now))
    while b.now < 2_000:
        if any(send.message.api is COMMIT for send in b.waiting):
            b.answer(COMMIT, 14)
        b.advance(100)

    assert (b.callbacks, b.count(LEAVE)) == ([], 0)


def test_a_heartbeat_after_a_leave_uses_the_connection_of_the_leave(bench: type[Bench]) -> None:
    b = bench(Policy(heartbeats_after_leave=True, leaves_on_own_connection=True))
    b.stable()
    b.do(b.member.close(b.now))

    assert {send.message.api: send.lane for send in b.waiting if send.message.api in (LEAVE, HEARTBEAT)} == {LEAVE: "goodbye", HEARTBEAT: "goodbye"}
