from __future__ import annotations

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.case_checkers.first_join import keeps_pending_id, waits_for_its_join
from groupproof.harness.model.evidence import NotOffered, NotReached
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.vocabulary import Api, ErrorCode


def test_a_client_that_comes_back_with_each_id_leaves_none_behind() -> None:
    story = Story()
    story.join(error=ErrorCode.MEMBER_ID_REQUIRED)
    story.join(member=ID)

    assert verdict(keeps_pending_id("m0"), story) is Verdict.OK


def test_an_id_that_is_left_behind_delays_the_group_and_is_reported_though_the_client_joins_with_another() -> None:
    story = Story()
    story.join(error=ErrorCode.MEMBER_ID_REQUIRED)
    story.join(gets="m0-2", error=ErrorCode.MEMBER_ID_REQUIRED)
    story.join(member="m0-2", gets="m0-2")

    (found,) = findings(keeps_pending_id("m0"), story)

    assert found.verdict is Verdict.NON_STRICT
    assert found.observed.startswith("It left an id behind")


@pytest.mark.parametrize(("error", "expected"), [(0, Verdict.OK), (ErrorCode.UNKNOWN_MEMBER_ID, Verdict.NON_STRICT)])
def test_an_id_that_was_given_back_by_a_leave_is_not_left_behind(error: int, expected: Verdict) -> None:
    story = Story()
    story.join(error=ErrorCode.MEMBER_ID_REQUIRED)
    story.leave(error=error)
    story.join(gets="m0-2", error=ErrorCode.MEMBER_ID_REQUIRED)
    story.join(member="m0-2", gets="m0-2")

    assert verdict(keeps_pending_id("m0"), story.end()) is expected


@pytest.mark.parametrize(("connection", "proof"), [(1, Proof.SAFETY), (2, Proof.LIVENESS)])
def test_once_is_enough_of_a_client_that_joins_otherwise_where_the_id_came(connection: int, proof: Proof) -> None:
    story = Story()
    story.join(error=ErrorCode.MEMBER_ID_REQUIRED)
    story.request(Api.JOIN_GROUP, connection=connection)

    (found,) = findings(keeps_pending_id("m0"), story)

    assert found.proof is proof


def test_a_client_that_is_handed_no_id_has_none_to_keep_and_one_that_never_joins_shows_nothing() -> None:
    story = Story()
    story.join(version=3)

    assert verdict(keeps_pending_id("m0"), story) is Verdict.OK
    with pytest.raises(NotReached):
        findings(keeps_pending_id("m0"), Story())


def parked(*, ignored: tuple[str, ...] = ()) -> Story:
    story = Story()
    story.tell("answer", id=1, ok=True, ignored=list(ignored))
    story.request(Api.JOIN_GROUP, member=ID, body={"rebalance_timeout_ms": 30_000})
    story.see("event", who="kit", body={"name": "mark", "mark": "parked"})
    return story


JUDGE = waits_for_its_join("m0", after="parked")


def test_a_client_that_waits_for_its_join_sends_no_second() -> None:
    story = parked()
    story.at(6_500).answer(story.trace[1], member=ID)

    assert verdict(JUDGE, story) is Verdict.OK


def test_a_join_that_is_abandoned_before_the_rebalance_timeout_is_reported_by_the_member_that_it_leaves_behind() -> None:
    same, anew = parked(), parked()
    same.at(2_500).request(Api.JOIN_GROUP, member=ID, connection=2)
    anew.at(2_500).request(Api.JOIN_GROUP, connection=2)

    assert [findings(JUDGE, story)[0].observed for story in (same, anew)] == [
        "It sent another JoinGroup before its rebalance timeout was over.",
        "It gave its JoinGroup up before the rebalance timeout and joined anew, leaving a ghost behind.",
    ]
    assert {(findings(JUDGE, story)[0].verdict, findings(JUDGE, story)[0].proof) for story in (same, anew)} == {(Verdict.NON_STRICT, Proof.SAFETY)}


def test_a_member_that_abandons_its_join_and_leaves_the_group_leaves_no_ghost_behind() -> None:
    story = parked()
    story.at(2_500).leave()
    story.request(Api.JOIN_GROUP, connection=2)

    (found,) = findings(JUDGE, story)

    assert found.verdict is Verdict.NON_STRICT
    assert found.observed == "It gave its JoinGroup up before the rebalance timeout, left the group and joined anew."


def test_a_join_given_up_after_the_rebalance_timeout_is_not_given_up_too_soon() -> None:
    story = parked()
    story.at(31_000).request(Api.JOIN_GROUP, member=ID, connection=2)

    assert verdict(JUDGE, story) is Verdict.OK


def test_a_join_that_came_after_the_answer_is_another_rebalances() -> None:
    story = parked()
    story.at(1_000).answer(story.trace[1], member=ID)
    story.at(2_000).join(member=ID)

    assert verdict(JUDGE, story) is Verdict.OK


def test_a_client_with_a_timeout_of_its_own_is_judged_only_where_it_gives_up() -> None:
    waits, gives_up = parked(ignored=("request_timeout_ms",)), parked(ignored=("request_timeout_ms",))
    gives_up.at(2_500).request(Api.JOIN_GROUP, member=ID, connection=2)

    with pytest.raises(NotOffered, match="request_timeout_ms"):
        findings(JUDGE, waits)
    assert verdict(JUDGE, gives_up) is Verdict.NON_STRICT


def test_nothing_is_said_where_no_join_was_parked() -> None:
    story = Story()
    story.join()
    story.see("event", who="kit", body={"name": "mark", "mark": "parked"})

    with pytest.raises(NotReached, match="was parked"):
        findings(JUDGE, story)
