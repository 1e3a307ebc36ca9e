from __future__ import annotations

from typing import Any

import pytest
from tests.epoch_traces import EpochStory
from tests.traces import ID, Story

from groupproof.harness.judging.clean_close import clean_close_of
from groupproof.harness.model.verdicts import Goodbye
from groupproof.harness.subjects.shims.conversation import Ending
from groupproof.protocol.vocabulary import Api


def subscribed(client: str = "m0", **settings: Any) -> Story:
    story = Story()
    story.kit("command", client, command="subscribe", fields=settings)
    return story


def a_member(**settings: Any) -> Story:
    return subscribed(**settings).member()


def close(story: Story, command: str = "close", **fields: Any) -> Story:
    story.kit("end")
    story.kit("command", "m0", command=command, fields=fields)
    return story


def verdict(story: Story) -> Goodbye:
    return clean_close_of(story.trace)[0]


def test_a_member_that_leaves_is_clean() -> None:
    story = close(a_member())
    story.leave()

    assert clean_close_of(story.trace) == (Goodbye.CLEAN, "")


@pytest.mark.parametrize("command", ["close", "unsubscribe"])
def test_a_dynamic_member_that_goes_without_a_leave_is_unclean(command: str) -> None:
    assert clean_close_of(close(a_member(), command).trace) == (Goodbye.UNCLEAN, "m0 closed without a LeaveGroup")


def test_a_static_member_owes_no_leave_unless_it_is_configured_to() -> None:
    assert verdict(close(a_member(instance_id="i"))) is Goodbye.NONE
    assert verdict(close(a_member(instance_id="i"), leave=True)) is Goodbye.UNCLEAN
    assert verdict(close(a_member(), leave=False)) is Goodbye.NONE


def test_an_application_of_kafka_streams_owes_no_leave_unless_it_is_configured_to() -> None:
    assert verdict(close(a_member(assignors=["stream"]))) is Goodbye.NONE
    assert verdict(close(a_member(assignors=["stream"]), leave=True)) is Goodbye.UNCLEAN


def test_nobody_who_never_got_in_has_to_leave() -> None:
    story = subscribed()
    story.join(error=79, generation=-1)

    assert verdict(close(story)) is Goodbye.NONE


@pytest.mark.parametrize("error", [15, 16, 22, 25, 30, 82])
def test_a_member_that_learned_that_it_is_out_or_has_no_coordinator_owes_nothing(error: int) -> None:
    story = a_member()
    story.beat(error=error)

    assert verdict(close(story)) is Goodbye.NONE


def an_epoch_member(**settings: Any) -> EpochStory:
    story = EpochStory()
    story.kit("command", "m0", command="subscribe", fields={"group_protocol": "consumer", **settings})
    return story.settled()


@pytest.mark.parametrize("instance", [{}, {"instance_id": "i"}])
@pytest.mark.parametrize("error", [15, 16, 25, 30, 35, 42, 69, 81, 82, 110, 111, 112, 113, 128, -1])
def test_a_member_that_was_refused_at_a_heartbeat_owes_no_leave(error: int, instance: dict[str, str]) -> None:
    story = an_epoch_member(**instance)
    story.hb(1, error=error)

    assert verdict(close(story)) is Goodbye.NONE


@pytest.mark.parametrize("error", [14, 29])
def test_a_heartbeat_that_meets_a_passing_trouble_ends_no_membership(error: int) -> None:
    story = an_epoch_member()
    story.hb(1, error=error)

    assert verdict(close(story)) is Goodbye.UNCLEAN


def test_a_member_that_may_continue_after_an_error_owes_its_leave_again() -> None:
    story = an_epoch_member()
    story.hb(1, error=42)
    story.hb(1)

    assert verdict(close(story)) is Goodbye.UNCLEAN


def test_a_stale_commit_is_no_end_of_a_membership() -> None:
    story = an_epoch_member()
    story.answer(story.request(Api.OFFSET_COMMIT, member=ID, member_epoch=0), error=113)

    assert verdict(close(story)) is Goodbye.UNCLEAN


def test_a_leave_after_the_end_of_a_membership_is_clean() -> None:
    story = an_epoch_member()
    story.hb(1, error=42)
    close(story)
    story.hb(-1)

    assert verdict(story) is Goodbye.CLEAN


def test_a_member_in_a_rebalance_is_still_one() -> None:
    story = a_member()
    story.beat(error=27)

    assert verdict(close(story)) is Goodbye.UNCLEAN


def test_a_member_that_lost_the_connection_to_its_coordinator_owes_nothing() -> None:
    story = a_member()
    story.see("event", who="link", connection=1, body={"name": "closed"})

    assert verdict(close(story)) is Goodbye.NONE


def test_a_connection_that_the_close_itself_ends_is_no_excuse() -> None:
    story = close(a_member())
    story.see("event", who="link", connection=1, body={"name": "closed"})

    assert verdict(story) is Goodbye.UNCLEAN


def test_an_answer_to_a_join_that_comes_after_the_close_obliges_to_nothing_and_undoes_nothing() -> None:
    late = subscribed()
    request = late.request(Api.JOIN_GROUP)
    close(late)
    late.answer(request)
    assert verdict(late) is Goodbye.NONE

    left = subscribed()
    request = left.request(Api.JOIN_GROUP, member=ID)
    close(left)
    left.leave()
    left.answer(request)
    assert verdict(left) is Goodbye.CLEAN


def test_a_leave_before_a_rejoin_is_no_clean_close() -> None:
    story = a_member()
    story.leave()
    story.join(member="", gets="m0-2")

    assert verdict(close(story)) is Goodbye.UNCLEAN


def test_one_that_had_to_be_killed_is_unclean_and_one_that_the_plan_kills_says_nothing() -> None:
    story = close(a_member())
    story.leave()
    story.kit("overdue", "m0")
    assert clean_close_of(story.trace) == (Goodbye.UNCLEAN, "m0 had to be killed after the deadline")

    killed = a_member()
    killed.kit("kill", "m0")
    assert verdict(killed) is Goodbye.NONE


def test_one_that_ends_without_being_asked_is_unclean() -> None:
    story = a_member()
    story.kit("exit", "m0", commanded=False)

    assert "ended without being asked" in clean_close_of(story.trace)[1]


def test_one_that_gives_up_in_order_closes_as_any_other() -> None:
    story = a_member()
    story.kit("exit", "m0", commanded=False, gave_up=True)

    assert clean_close_of(story.trace) == (Goodbye.UNCLEAN, "m0 closed without a LeaveGroup")


def consumed(story: Story, last: int) -> None:
    story.consume(("t", 0, 0, last))


def test_an_auto_committing_member_commits_what_it_consumed_before_it_goes() -> None:
    lost = a_member(auto_commit=True)
    consumed(lost, 9)
    close(lost)
    lost.leave()
    assert clean_close_of(lost.trace) == (Goodbye.UNCLEAN, "m0 closed without committing what it had consumed of t-0")

    kept = a_member(auto_commit=True)
    consumed(kept, 9)
    close(kept)
    kept.commit(("t", 0, 10))
    kept.leave()
    assert verdict(kept) is Goodbye.CLEAN


def test_what_was_revoked_is_the_next_owners_to_commit() -> None:
    story = a_member(auto_commit=True)
    consumed(story, 9)
    story.see("event", who="shim", client="m0", body={"name": "partitions_revoked"}, partitions=(("t", 0),))
    close(story)
    story.leave()

    assert verdict(story) is Goodbye.CLEAN


def test_without_auto_commit_nothing_is_owed() -> None:
    story = a_member(auto_commit=False)
    consumed(story, 9)
    close(story)
    story.leave()

    assert verdict(story) is Goodbye.CLEAN


def test_one_unclean_close_outweighs_the_clean_ones() -> None:
    story = a_member()
    story.kit("command", "m1", command="subscribe", fields={})
    story.member("m1", member="m1-1")
    close(story)
    story.leave()
    story.kit("command", "m1", command="close", fields={})

    assert clean_close_of(story.trace) == (Goodbye.UNCLEAN, "m1 closed without a LeaveGroup")


def test_a_trace_without_members_has_no_clean_close() -> None:
    assert clean_close_of([]) == (Goodbye.NONE, "")


def test_how_a_member_went_before_it_was_started_again_counts_too() -> None:
    story = close(a_member())
    story.kit("hello", "m0")
    story.kit("command", "m0", command="subscribe", fields={})
    story.member()
    story.kit("command", "m0", command="close", fields={})
    story.leave()

    assert clean_close_of(story.trace) == (Goodbye.UNCLEAN, "m0 closed without a LeaveGroup")


def auto_committing() -> Story:
    story = a_member(auto_commit=True)
    story.commit(("t", 0, 5))
    story.consume(("t", 0, 0, 19))
    return story


def hand_over(story: Story) -> None:
    story.see("event", who="shim", client="m0", body={"name": "partitions_revoked"}, partitions=(("t", 0),))


def test_what_is_handed_over_while_closing_is_still_to_be_committed() -> None:
    story = close(auto_committing())
    hand_over(story)
    story.leave()

    assert clean_close_of(story.trace) == (Goodbye.UNCLEAN, "m0 closed without committing what it had consumed of t-0")


def test_what_was_handed_over_in_a_rebalance_is_not_part_of_the_clean_close() -> None:
    story = auto_committing()
    hand_over(story)
    close(story).leave()

    assert verdict(story) is Goodbye.CLEAN


def test_what_was_consumed_before_a_rebalance_that_ends_after_the_close_is_not_part_of_the_clean_close() -> None:
    story = close(auto_committing())
    hand_over(story)
    story.see("event", who="shim", client="m0", body={"name": "partitions_assigned"}, partitions=(("t", 0),))
    story.leave()

    assert verdict(story) is Goodbye.CLEAN


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (1, "m0 crashed while closing: its process exited with status 1"),
        (-6, "m0 crashed while closing: its process was ended by signal 6 (SIGABRT)"),
        (0, ""),
        (-15, ""),
    ],
)
def test_a_crash_while_closing_is_no_clean_close(status: int, reason: str) -> None:
    story = close(a_member())
    story.leave()
    story.kit("exit", "m0", commanded=True, shared=False, status=status, how=str(Ending(status=status)), stderr=[])

    assert clean_close_of(story.trace) == (Goodbye.UNCLEAN if reason else Goodbye.CLEAN, reason)


def consumed_and(*, error: int | None) -> Story:
    """Tell of a member with auto-commit that consumed ten records, closed, and committed them; None: and was not answered."""
    story = a_member(auto_commit=True)
    story.consume(("t", 0, 0, 9))
    close(story)
    if error is None:
        story.request(Api.OFFSET_COMMIT, member=ID, generation=1, offsets=(("t", 0, 10),))
    else:
        story.commit(("t", 0, 10), error=error)
    story.leave()
    return story


def test_a_commit_that_was_refused_saves_no_progress_and_one_that_may_have_been_stored_does() -> None:
    assert clean_close_of(consumed_and(error=14).trace) == (Goodbye.UNCLEAN, "m0 closed without committing what it had consumed of t-0")
    assert [verdict(consumed_and(error=error)) for error in (0, None)] == [Goodbye.CLEAN] * 2


def test_a_member_whose_subscribe_was_refused_has_nothing_to_close() -> None:
    story = subscribed()
    story.kit("refused", "m0", command="subscribe", unimplemented=True, reason="no such assignor")
    close(story)
    story.kit("overdue", "m0")

    assert clean_close_of(story.trace) == (Goodbye.NONE, "")


@pytest.mark.requirement("CLIENT-64")
@pytest.mark.parametrize("error", [22, 25, 82])
def test_the_refusal_of_an_older_membership_lets_nobody_off(error: int) -> None:
    story = a_member()
    late = story.request(Api.OFFSET_COMMIT, member=ID, generation=1)
    story.join(member=ID, gets="m0-2", generation=2)
    story.sync(member="m0-2", generation=2)
    story.answer(late, error=error)

    assert verdict(close(story)) is Goodbye.UNCLEAN
