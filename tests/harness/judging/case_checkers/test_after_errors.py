from __future__ import annotations

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.case_checkers.after_errors import (
    HEEDS_MS,
    SETTLES_MS,
    ends_up_a_member,
    ids_are_given_up_for_a_reason,
    refusals_are_respected,
    refused_ids_are_dropped,
)
from groupproof.harness.model.evidence import NotOffered, NotReached
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.vocabulary import Api

SESSION = {"session_timeout_ms": 6_000, "protocols": ()}
SETTLED = ends_up_a_member("m0", after="healed")
HEEDED = refusals_are_respected("healed")


def anew(story: Story, *, instance: str | None = None, rebalance_ms: int = 60_000) -> Story:
    body = {**SESSION, "group_instance_id": instance, "rebalance_timeout_ms": rebalance_ms}
    story.answer(story.request(Api.JOIN_GROUP, body=body, instance=instance), error=79)
    return story.end(30_000)


def joins_anew_after(api: Api, error: int, *, member: str = ID) -> Story:
    story = Story().member()
    story.at(300).exchange(api, member=member, generation=1, error=error)
    return anew(story)


@pytest.mark.parametrize(
    ("api", "error", "text"),
    [
        (Api.OFFSET_COMMIT, 27, "OffsetCommit was answered REBALANCE_IN_PROGRESS"),
        (Api.HEARTBEAT, 22, "Heartbeat was answered ILLEGAL_GENERATION"),
        (Api.SYNC_GROUP, 22, "SyncGroup was answered ILLEGAL_GENERATION"),
    ],
)
def test_an_id_given_up_at_an_answer_that_does_not_call_for_it_is_named_with_the_answer(api: Api, error: int, text: str) -> None:
    (found,) = findings(ids_are_given_up_for_a_reason, joins_anew_after(api, error))

    assert found.verdict is Verdict.NON_STRICT
    assert found.observed == f"After {text} it joined again with the empty member id."


@pytest.mark.parametrize(("api", "error"), [(Api.HEARTBEAT, 25), (Api.SYNC_GROUP, 25), (Api.OFFSET_COMMIT, 25), (Api.JOIN_GROUP, 81)])
def test_an_id_may_be_given_up_when_it_is_unknown_or_the_client_had_to_end(api: Api, error: int) -> None:
    assert findings(ids_are_given_up_for_a_reason, joins_anew_after(api, error)) == []


def test_being_unknown_excuses_nobody_who_asked_without_the_id() -> None:
    story = Story().member()
    story.at(300).beat(error=22)
    story.beat(member="", error=25)

    risky = Story().member()
    risky.at(300).commit(("t", 0, 1), member="", generation=-1, error=25)
    risky.sync(error=27)

    (found,) = findings(ids_are_given_up_for_a_reason, anew(story))
    (risked,) = findings(ids_are_given_up_for_a_reason, anew(risky))
    assert "After Heartbeat was answered ILLEGAL_GENERATION" in found.observed
    assert "After OffsetCommit, sent without the id, was answered UNKNOWN_MEMBER_ID" in risked.observed


def test_an_answer_to_who_asked_without_the_id_is_not_what_it_was_given_up_for() -> None:
    story = Story().member()
    story.at(300).commit(("t", 0, 1), error=27)
    story.at(500).commit(("t", 0, 2), member="", generation=-1, error=25)
    story.beat(member="", error=25)

    (found,) = findings(ids_are_given_up_for_a_reason, anew(story))
    assert found.observed == "After OffsetCommit was answered REBALANCE_IN_PROGRESS it joined again with the empty member id."


def test_of_several_answers_the_one_that_costs_the_generation_is_named_and_none_from_before_the_id_was_last_used() -> None:
    story = Story().member()
    story.at(300).beat(error=15)
    story.at(900).beat(error=22)
    story.sync(error=27)
    unused = Story().member()
    unused.at(300).beat(error=22)
    unused.at(900).beat(error=27)

    (found,) = findings(ids_are_given_up_for_a_reason, anew(story))
    (later,) = findings(ids_are_given_up_for_a_reason, anew(unused))
    assert "Heartbeat was answered ILLEGAL_GENERATION" in found.observed
    assert "Heartbeat was answered REBALANCE_IN_PROGRESS" in later.observed


def test_a_join_that_is_refused_as_unknown_may_be_tried_without_the_id() -> None:
    story = Story().member()
    story.at(300).answer(story.request(Api.JOIN_GROUP, member=ID), error=25, member="")

    assert findings(ids_are_given_up_for_a_reason, anew(story)) == []


def test_a_member_that_left_or_was_silent_for_a_session_or_is_static_begins_again() -> None:
    left, late, instance = Story().member(), Story().member(), Story().member()
    left.leave()
    late.at(2_000).commit(("t", 0, 1))
    late.at(7_000).exchange(Api.OFFSET_COMMIT, member=ID, generation=1, error=27)

    assert findings(ids_are_given_up_for_a_reason, anew(left)) == []
    assert findings(ids_are_given_up_for_a_reason, anew(late)) == []
    assert findings(ids_are_given_up_for_a_reason, anew(instance, instance="i0")) == []


def test_a_pending_id_leaves_no_ghost_and_a_lost_connection_is_a_separate_fault() -> None:
    pending, cut = Story(), Story().member()
    pending.join(error=79)
    cut.see("event", who="link", client="m0", connection=1, body={"name": "closed"})

    assert findings(ids_are_given_up_for_a_reason, anew(pending)) == []
    (found,) = findings(ids_are_given_up_for_a_reason, anew(cut))
    assert found.observed == "After its connection was closed it joined again with the empty member id."


def test_a_member_with_a_late_poll_or_without_a_fault_has_its_own_reasons() -> None:
    away, nothing = Story().member(), Story().member()
    away.kit("command", "m0", command="commit", fields={})
    away.at(4_000).beat(error=27)

    assert findings(ids_are_given_up_for_a_reason, anew(away, rebalance_ms=3_500)) == []
    assert len(findings(ids_are_given_up_for_a_reason, anew(back_at(3_000), rebalance_ms=3_500))) == 1
    assert findings(ids_are_given_up_for_a_reason, anew(back_at(3_600), rebalance_ms=3_500)) == []
    assert findings(ids_are_given_up_for_a_reason, anew(nothing)) == []


def back_at(ms: int) -> Story:
    """A member whose application was paused until then, and is told of a rebalance."""
    story = Story().member()
    story.kit("command", "m0", command="pause", fields={})
    story.tell("answer", ok=True)
    story.at(ms).kit("command", "m0", command="resume", fields={})
    story.at(4_000).beat(error=27)
    return story


def test_a_member_that_was_killed_or_paused_for_the_poll_deadline_begins_again() -> None:
    killed, frozen, briefly = Story().member(), Story().member(), Story().member()
    killed.at(300).beat(error=27)
    killed.kit("kill", "m0")
    for story, ms in ((frozen, 4_000), (briefly, 1_000)):
        story.kit("freeze", "m0")
        story.at(ms).kit("thaw", "m0")
        story.at(4_100).beat(error=27)

    assert findings(ids_are_given_up_for_a_reason, anew(killed)) == []
    assert findings(ids_are_given_up_for_a_reason, anew(frozen, rebalance_ms=3_500)) == []
    assert len(findings(ids_are_given_up_for_a_reason, anew(briefly, rebalance_ms=3_500))) == 1


def test_a_member_that_dropped_its_id_and_asks_again_without_it_is_reported_once() -> None:
    story = Story().member()
    story.at(300).beat(error=22)
    story.answer(story.request(Api.JOIN_GROUP, body=SESSION), error=15, member="")

    (found,) = findings(ids_are_given_up_for_a_reason, anew(story))
    assert "After Heartbeat was answered ILLEGAL_GENERATION" in found.observed


def refused(*, member: str = ID, after_ms: int = 500, is_joining: bool = False) -> Story:
    story = Story().member()
    request = story.request(Api.JOIN_GROUP, member=ID, connection=2) if is_joining else None
    story.at(300).beat(error=25)
    if request is not None:
        story.answer(request, error=14)
    story.at(300 + after_ms).join(member=member)
    return story.end()


def test_an_id_that_was_refused_is_not_joined_with_again() -> None:
    synced = Story()
    synced.join()
    synced.sync(error=25)
    synced.at(500).join(member=ID)

    assert verdict(refused_ids_are_dropped, refused()) is Verdict.NON_STRICT
    assert verdict(refused_ids_are_dropped, synced.end()) is Verdict.NON_STRICT
    assert verdict(refused_ids_are_dropped, refused(member="")) is Verdict.OK
    assert verdict(refused_ids_are_dropped, refused(after_ms=50)) is Verdict.OK
    assert verdict(refused_ids_are_dropped, refused(is_joining=True)) is Verdict.OK


def test_an_id_that_joingroup_itself_refused_lets_nobody_in() -> None:
    story = Story()
    story.join()
    story.at(300).join(member=ID, error=25)
    story.at(900).join(member=ID, error=25)

    assert verdict(refused_ids_are_dropped, story.end()) is Verdict.FAILED


@pytest.mark.parametrize(("by", "after_ms", "judged"), [("client", 0, Verdict.OK), ("client", 800, Verdict.FAILED), ("broker", 0, Verdict.FAILED)])
def test_an_answer_at_which_the_client_hung_up_may_be_unread(by: str, after_ms: float, judged: Verdict) -> None:
    story = Story()
    story.join()
    answer = story.at(300).join(member=ID, error=25)
    story.at(300 + after_ms).see("event", who="link", connection=answer.connection, body={"name": "closed", "by": by})
    story.at(1_900).join(member=ID, error=25)

    assert verdict(refused_ids_are_dropped, story.end()) is judged


def healed(story: Story) -> Story:
    return story.at(1_000).mark("healed")


def test_a_member_that_heartbeats_in_the_newest_generation_is_settled() -> None:
    story = healed(Story().member())
    story.beat()

    assert verdict(SETTLED, story.end(2_000)) is Verdict.OK


def test_a_member_of_an_older_generation_is_not() -> None:
    story = healed(Story().member())
    story.join("m1", gets="m1-1", generation=2)
    story.at(SETTLES_MS + 900)
    story.beat()

    (found,) = findings(SETTLED, story.end(SETTLES_MS + 1_100))
    assert (found.verdict, found.proof) == (Verdict.FAILED, Proof.LIVENESS)
    assert found.observed == "It still sends Heartbeat, and is not settled."


@pytest.mark.parametrize(("spoke", "observed"), [(True, "It fell silent: its last word was SyncGroup."), (False, "It never spoke to the group.")])
def test_silence_is_reported_with_the_last_word(spoke: bool, observed: str) -> None:
    story = healed(Story().member() if spoke else Story())

    (found,) = findings(SETTLED, story.end(SETTLES_MS + 1_100))
    assert found.observed == observed


def beating(session_ms: int, *ignored: str) -> Story:
    """A member that is silent once all is healed; a rebalance waits 30 s for it, and it heartbeats as it likes where the shim cannot set that."""
    story = Story()
    story.kit("command", "m0", command="subscribe", fields={"heartbeat_interval_ms": 300})
    story.tell("answer", ok=True, ignored=[*ignored])
    story.join(session_ms=session_ms)
    return healed(story).end(SETTLES_MS + 1_100)


def test_a_member_that_learns_of_a_rebalance_when_it_is_over_need_not_settle() -> None:
    with pytest.raises(NotOffered, match="m0 heartbeats every 30000 ms, and a rebalance waits for it 30000 ms"):
        findings(SETTLED, beating(90_000, "heartbeat_interval_ms"))
    for story in (beating(45_000, "heartbeat_interval_ms"), beating(90_000)):
        assert verdict(SETTLED, story) is Verdict.FAILED


def test_a_client_with_a_slow_rhythm_has_as_many_times_as_long_to_settle() -> None:
    with pytest.raises(NotReached, match="before m0 had to be settled"):
        findings(SETTLED, healed_slowly().end(SETTLES_MS + 1_100))
    (found,) = findings(SETTLED, healed_slowly().end(2 * SETTLES_MS + 1_100))
    assert found.observed == "It fell silent: its last word was SyncGroup."


def healed_slowly() -> Story:
    story = Story()
    story.kit("rhythm", react_ms=12_000)
    return healed(story.member())


def test_a_run_that_ended_early_settles_nothing() -> None:
    with pytest.raises(NotReached, match="before m0 had to be settled"):
        findings(SETTLED, healed(Story().member()).end(2_000))


@pytest.mark.parametrize(("entry", "expected"), [(True, Verdict.OK), (False, Verdict.FAILED)])
def test_a_client_that_got_a_fatal_error_may_end_if_it_reports_it(entry: bool, expected: Verdict) -> None:
    story = Story().member()
    story.at(500).beat(error=82)
    if entry:
        story.tell("error", error="FENCED_INSTANCE_ID")

    assert verdict(SETTLED, healed(story).end(SETTLES_MS + 1_100)) is expected


def test_a_member_without_permission_to_fetch_offsets_may_end_if_it_reports_it_also_after_an_unreported_answer() -> None:
    story = Story().member()
    story.at(500).exchange(Api.OFFSET_FETCH, error=30)
    story.tell("error", error="GROUP_AUTHORIZATION_FAILED")

    assert verdict(SETTLED, healed(story).end(SETTLES_MS + 1_100)) is Verdict.OK


@pytest.mark.parametrize(
    ("after_ms", "rejoins", "expected"),
    [(HEEDS_MS + 100, False, Verdict.FAILED), (HEEDS_MS - 500, False, Verdict.OK), (HEEDS_MS + 100, True, Verdict.OK)],
)
def test_a_refused_membership_is_not_heartbeated_on_with(after_ms: int, rejoins: bool, expected: Verdict) -> None:
    story = Story().member()
    story.at(500).beat(error=22)
    if rejoins:
        story.join(member=ID)
    story = healed(story).at(1_000 + after_ms)
    story.beat()

    assert verdict(HEEDED, story.end()) is expected
