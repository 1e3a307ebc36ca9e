from __future__ import annotations

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.checkers.classic.commit_membership import CommitsNameMembership
from groupproof.harness.judging.checkers.classic.frames import GenerationsGiven, InstanceIdsStay, MemberIdsGiven, NothingAfterLeaving
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api

EVERYTHING = (
    CommitsNameMembership,
    GenerationsGiven,
    InstanceIdsStay,
    MemberIdsGiven,
    NothingAfterLeaving,
)


def a_life() -> Story:
    """A member that joins, beats, commits, rejoins and leaves as it should."""
    story = Story()
    story.join(gets=ID, generation=-1, error=79)
    story.join(member=ID)
    story.sync()
    story.at(300).beat()
    story.commit(("t", 0, 3))
    story.at(600).beat(error=27)
    story.join(member=ID, generation=2)
    story.sync(generation=2)
    story.at(900).beat(generation=2)
    story.leave()
    return story


@pytest.mark.parametrize("judge", EVERYTHING)
def test_a_proper_life_is_not_blamed(judge: object) -> None:
    assert findings(judge, a_life()) == []  # type: ignore[arg-type] # parametrised by object for a short list


@pytest.mark.parametrize("api", [Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT, Api.LEAVE_GROUP])
def test_a_member_id_of_ones_own_making_is_illegal(api: Api) -> None:
    story = Story().member()
    story.request(api, member="m0-mine", generation=1, body={"members": [{"member_id": "m0-mine"}]})

    assert [finding.observed for finding in findings(MemberIdsGiven, story)] == [f"{api.title} named a member id that the client was never given."]


def test_the_id_of_another_client_is_not_ones_own() -> None:
    story = Story().member("m0").member("m1", member="m1-1")
    story.beat("m0", member="m1-1")

    assert verdict(MemberIdsGiven, story) is Verdict.FAILED


@pytest.mark.parametrize(
    ("is_member", "expected"),
    [
        (True, (Verdict.NON_STRICT, "CLIENT-73", "LeaveGroup named no member id, and left a ghost behind.")),
        (False, (Verdict.INFORMATIONAL, "CLIENT-72", "LeaveGroup named no member id.")),
    ],
)
def test_a_leave_without_an_id_leaves_a_ghost_where_there_is_a_member(is_member: bool, expected: tuple[Verdict, str, str]) -> None:
    story = Story().member() if is_member else Story()
    story.leave(member="", error=25)

    (found,) = findings(MemberIdsGiven, story)
    assert (found.verdict, found.requirement, found.observed) == expected


@pytest.mark.parametrize(
    ("api", "expected"), [(Api.SYNC_GROUP, Verdict.FAILED), (Api.HEARTBEAT, Verdict.NON_STRICT), (Api.OFFSET_COMMIT, Verdict.NON_STRICT)]
)
def test_without_a_member_id_a_sync_is_lost_and_a_heartbeat_or_commit_needless(api: Api, expected: Verdict) -> None:
    story = Story().member()
    story.request(api, generation=1)

    assert verdict(MemberIdsGiven, story) is expected


def test_an_instance_may_leave_by_its_name_alone() -> None:
    story = Story()
    story.request(Api.LEAVE_GROUP, body={"members": [{"member_id": "", "group_instance_id": "i0"}]})

    assert findings(MemberIdsGiven, story) == []


@pytest.mark.parametrize("api", [Api.SYNC_GROUP, Api.HEARTBEAT, Api.OFFSET_COMMIT])
@pytest.mark.parametrize("generation", [-1, 0, 7])
def test_a_generation_that_was_never_given_is_illegal(api: Api, generation: int) -> None:
    story = Story().member()
    story.request(api, member=ID, generation=generation)

    others = {(Api.OFFSET_COMMIT, -1): Verdict.OK, (Api.HEARTBEAT, -1): Verdict.NON_STRICT}  # of another rule; costs nobody more than an answer
    assert verdict(GenerationsGiven, story) is others.get((api, generation), Verdict.FAILED)


@pytest.mark.parametrize(("generation", "error", "expected"), [(1, 22, Verdict.NON_STRICT), (1, 0, Verdict.FAILED), (7, 22, Verdict.FAILED)])
@pytest.mark.parametrize("api", [Api.HEARTBEAT, Api.OFFSET_COMMIT])
def test_a_new_id_with_the_earlier_ids_generation_costs_nobody_unless_it_is_accepted(
    api: Api, generation: int, error: int, expected: Verdict
) -> None:
    story = Story().member()
    story.join(gets="m0-new", generation=-1, error=79)
    story.exchange(api, member="m0-new", generation=generation, error=error)
    story.join(member="m0-new", gets="m0-new", generation=2)

    assert verdict(GenerationsGiven, story) is expected
    if expected is Verdict.NON_STRICT:
        (found,) = findings(GenerationsGiven, story)
        assert found.observed == f"{api.title} carried a new member id with the generation of the one before."


@pytest.mark.parametrize(
    ("member", "generation", "error", "times", "expected"),
    [
        (ID, 2, 25, 1, Verdict.NON_STRICT),
        ("m0-new", 1, 22, 1, Verdict.NON_STRICT),
        (ID, 2, 25, 2, Verdict.FAILED),
        (ID, 2, 0, 1, Verdict.FAILED),
        (ID, 3, 25, 1, Verdict.FAILED),
    ],
)
def test_an_id_with_the_generation_of_another_is_two_fields_that_were_read_apart_and_happens_once(
    member: str, generation: int, error: int, times: int, expected: Verdict
) -> None:
    story = Story().member()
    story.join(gets="m0-new", generation=2)
    for _ in range(times):
        story.beat(member=member, generation=generation, error=error)

    assert verdict(GenerationsGiven, story) is expected


@pytest.mark.parametrize(("has_left", "error", "expected"), [(False, 22, Verdict.NON_STRICT), (False, 0, Verdict.FAILED), (True, 25, Verdict.FAILED)])
def test_a_refused_heartbeat_without_generation_costs_nobody_unless_its_client_has_left(has_left: bool, error: int, expected: Verdict) -> None:
    story = Story().member()
    if has_left:
        story.leave()
    story.exchange(Api.HEARTBEAT, member=ID, generation=-1, error=error)

    assert verdict(GenerationsGiven, story) is expected
    if expected is Verdict.NON_STRICT:
        assert [found.observed for found in findings(GenerationsGiven, story)] == ["Heartbeat carried no generation."]


def test_the_last_generation_is_tolerated_on_its_way_and_not_for_long() -> None:
    story = a_life()
    story.at(1_000).beat(generation=1)
    assert findings(GenerationsGiven, story) == []

    story.at(2_500).beat(generation=1)
    assert verdict(GenerationsGiven, story) is Verdict.NON_STRICT


@pytest.mark.parametrize(("connection", "expected"), [(1, Verdict.OK), (2, Verdict.NON_STRICT)])
def test_what_comes_of_a_connection_that_was_closed_was_sent_before_and_waited_on_its_way(connection: int, expected: Verdict) -> None:
    story = Story().member()
    story.see("event", who="link", connection=1, body={"name": "closed", "by": "client"})
    asked = story.request(Api.JOIN_GROUP, member=ID, connection=2)
    story.answer(asked, member=ID, generation=2, body={"member_id": ID, "generation_id": 2, "leader": ID})
    story.answer(story.request(Api.SYNC_GROUP, member=ID, generation=2, connection=2))
    story.at(2_000).beat(generation=1, connection=connection)

    assert verdict(GenerationsGiven, story) is expected


@pytest.mark.parametrize(
    ("answers", "closed_at", "expected"), [(False, 2_000, Verdict.OK), (True, 2_000, Verdict.NON_STRICT), (False, 2_200, Verdict.NON_STRICT)]
)
def test_what_is_followed_by_the_end_of_its_connection_had_waited_unless_somebody_took_the_answer(
    answers: bool, closed_at: float, expected: Verdict
) -> None:
    story = Story().member()
    story.join(member=ID, generation=2)
    story.sync(generation=2)
    request = story.at(2_000).request(Api.HEARTBEAT, member=ID, generation=1, connection=3)
    if answers:
        story.answer(request, error=22)
    story.at(closed_at).see("event", who="link", connection=3, body={"name": "closed"})

    assert verdict(GenerationsGiven, story.end(3_000)) is expected


@pytest.mark.parametrize(("correlation", "expected"), [(2, Verdict.OK), (100, Verdict.NON_STRICT)])
def test_what_others_have_overtaken_was_sent_before_them(correlation: int, expected: Verdict) -> None:
    story = Story().member()
    story.join(member=ID, generation=2)
    story.sync(generation=2)
    story.at(2_000).beat(generation=1, correlation=correlation)

    assert verdict(GenerationsGiven, story.end(3_000)) is expected


@pytest.mark.parametrize(("connection", "expected"), [(1, Verdict.OK), (2, Verdict.NON_STRICT)])
def test_a_heartbeat_of_a_connection_that_was_closed_was_sent_before_the_leave(connection: int, expected: Verdict) -> None:
    story = Story().member()
    story.see("event", who="link", connection=1, body={"name": "closed", "by": "client"})
    story.exchange(Api.LEAVE_GROUP, member=ID, connection=2, body={"members": [{"member_id": ID}]})
    story.at(2_000).beat(connection=connection)

    assert verdict(NothingAfterLeaving, story) is expected


def test_a_heartbeat_long_after_the_leave_is_not_strict() -> None:
    story = Story().member()
    story.leave()
    story.at(900).beat()
    assert findings(NothingAfterLeaving, story) == []

    story.at(1_100).beat()
    assert verdict(NothingAfterLeaving, story) is Verdict.NON_STRICT


@pytest.mark.parametrize(("lag_ms", "expected"), [(50.0, [Verdict.NON_STRICT]), (400.0, [])])
def test_time_that_the_machine_lost_after_the_clean_close_does_not_count_for_the_client(lag_ms: float, expected: list[Verdict]) -> None:
    story = Story().member()
    story.leave()
    story.at(600).see("event", who="kit", body={"name": "lag", "source": "loop", "lag_ms": lag_ms})
    story.at(1_100).beat()

    assert [found.verdict for found in findings(NothingAfterLeaving, story)] == expected


def test_a_leave_that_was_refused_ends_nothing() -> None:
    story = Story().member()
    story.leave(error=16)
    story.at(5_000).beat()

    assert findings(NothingAfterLeaving, story) == []


def test_a_static_member_that_forgets_its_instance_id_is_not_strict() -> None:
    story = Story()
    story.join(instance="i0")
    story.beat(instance="i0")
    assert findings(InstanceIdsStay, story) == []

    story.beat()
    assert verdict(InstanceIdsStay, story) is Verdict.NON_STRICT


def test_a_request_of_a_version_that_has_no_instance_id_is_not_blamed() -> None:
    story = Story()
    story.join(instance="i0")
    story.beat(version=2)

    assert findings(InstanceIdsStay, story) == []
