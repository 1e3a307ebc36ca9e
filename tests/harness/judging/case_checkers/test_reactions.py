from __future__ import annotations

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.case_checkers.reactions import (
    Identity,
    comes_back,
    ignores_stale_refusal,
    keeps_membership,
    recovers,
    rejoins,
    request_came,
    retries,
    stays_out,
    surfaces,
    survives,
    takes_up_its_work,
)
from groupproof.harness.model.case import Judge
from groupproof.harness.model.evidence import NotOffered, NotReached
from groupproof.harness.model.verdicts import ADVERSE, Proof, Verdict
from groupproof.protocol.vocabulary import Api, ErrorCode


def struck() -> Story:
    """A member whose group is stable, and a fault that has just struck."""
    return Story().member().fault("error")


def after_fault(judge: Judge, *, does: str | None, at: float = 500, tells: bool = False, is_mute: bool = False) -> Verdict:
    story = struck().at(at)
    if is_mute:
        story.kit("hello", "m0", capabilities=["classic"], level=0, unreported=["error"])
    acts = {
        "join as it is": lambda: story.join(member=ID, generation=2),
        "join anew": lambda: story.join(gets="m0-2", generation=2),
        "join as another": lambda: story.join(member="m0-0", generation=2),
        "beat": lambda: story.beat(),
        "sync": lambda: story.sync(generation=2),
        "find": lambda: story.find(),
        "leave": lambda: story.leave(),
    }
    if does is not None:
        acts[does]()
    if tells:
        story.tell("error", error="SOMETHING", fatal=True)
    return verdict(judge, story.end(9_000))


@pytest.mark.parametrize(
    ("identity", "does", "expected"),
    [
        (Identity.KEPT, "join as it is", Verdict.OK),
        (Identity.KEPT, "join anew", Verdict.NON_STRICT),
        (Identity.KEPT, "join as another", Verdict.NON_STRICT),
        (Identity.EMPTY, "join anew", Verdict.OK),
        (Identity.EMPTY, "join as it is", Verdict.NON_STRICT),
        (Identity.EMPTY, "join as another", Verdict.NON_STRICT),
        (Identity.EITHER, "join as it is", Verdict.OK),
        (Identity.EITHER, "join anew", Verdict.OK),
        (Identity.KEPT, None, Verdict.FAILED),
    ],
)
def test_a_rejoin_is_judged_by_the_id_it_carries(identity: Identity, does: str | None, expected: Verdict) -> None:
    assert after_fault(rejoins("m0", after="error", requirement="CLIENT-46", identity=identity), does=does) is expected


def test_an_id_that_joingroup_refused_is_no_use_a_second_time() -> None:
    judge = rejoins("m0", after="error", requirement="CLIENT-48", identity=Identity.EMPTY)
    again = struck()
    again.at(500).join(member=ID, error=25)
    again.at(900).join(member=ID, error=25)
    refused = Story().member()
    refused.see("fault", fault="error", detail="triggered", api=Api.JOIN_GROUP.title, client="m0")
    refused.see("fault", fault="error", detail="delivered", api=Api.JOIN_GROUP.title, client="m0")
    refused.at(500).join(member=ID)

    assert [finding.observed for finding in findings(judge, again.end(9_000))] == [
        "It joined again and again with a member id that JoinGroup refuses."
    ]
    assert [finding.observed for finding in findings(judge, refused.end(9_000))] == ["It joined again with the member id that JoinGroup had refused."]


def test_a_client_that_never_got_an_id_leaves_no_ghost_that_it_could_have_avoided() -> None:
    story = Story()
    story.request(Api.JOIN_GROUP, member="")
    story.see("fault", fault="error", detail="triggered", api=Api.JOIN_GROUP.title, client="m0", member=ID)
    story.see("fault", fault="error", detail="delivered", api=Api.JOIN_GROUP.title, client="m0", member=ID)
    story.at(500).join(gets=ID)

    found = findings(rejoins("m0", after="error", requirement="CLIENT-31"), story.end(9_000))
    assert [(finding.verdict, finding.observed) for finding in found] == [(Verdict.OK, "It had been told no member id, and joined without one.")]


@pytest.mark.parametrize(("generation", "again", "expected"), [(1, True, Verdict.NON_STRICT), (1, False, Verdict.OK), (2, True, Verdict.OK)])
def test_only_a_refusal_of_the_old_generation_is_stale(generation: int, again: bool, expected: Verdict) -> None:
    story = struck()
    commit = story.request(Api.OFFSET_COMMIT, member=ID, generation=1)
    story.join(member=ID, generation=2)
    if generation == 2:
        commit = story.request(Api.OFFSET_COMMIT, member=ID, generation=2)
    story.fault("refused")
    story.answer(commit, error=22)
    if again:
        story.join(member=ID, generation=3)

    assert verdict(ignores_stale_refusal("m0", fault="refused", join="error"), story.end(9_000)) is expected


def test_a_member_that_left_before_it_joined_again_leaves_no_ghost() -> None:
    story = struck()
    story.leave()
    story.at(500).join(gets="m0-2", generation=2)

    assert [finding.observed for finding in findings(rejoins("m0", after="error", requirement="CLIENT-46"), story.end(9_000))] == [
        "It left the group and joined anew, which costs the group another rebalance."
    ]
    assert [finding.observed for finding in findings(keeps_membership("m0", after="error", requirement="CLIENT-49"), story)] == [
        "It left the group and joined anew, though its membership stood."
    ]


def test_an_absent_rejoin_is_as_severe_as_the_case_says_and_may_be_reported_instead() -> None:
    assert after_fault(rejoins("m0", after="error", requirement="CLIENT-76", absent=Verdict.NON_STRICT), does="beat") is Verdict.NON_STRICT
    assert after_fault(rejoins("m0", after="error", requirement="CLIENT-31", or_reports=True), does=None, tells=True) is Verdict.OK
    assert after_fault(rejoins("m0", after="error", requirement="CLIENT-31"), does=None, tells=True) is Verdict.FAILED


def test_a_late_rejoin_is_late_and_still_identified() -> None:
    story = struck()
    story.at(7_000).join(gets="m0-2", generation=2)
    found = findings(rejoins("m0", after="error", requirement="CLIENT-46"), story.end(9_000))

    assert [(finding.verdict, finding.proof) for finding in found] == [(Verdict.NON_STRICT, Proof.TIMING), (Verdict.NON_STRICT, Proof.SAFETY)]


def test_what_the_member_did_before_the_fault_is_no_reaction() -> None:
    story = Story().member()
    story.join(member=ID, generation=2)

    assert verdict(rejoins("m0", after="error", requirement="CLIENT-46"), story.fault("error").end(9_000)) is Verdict.FAILED


def test_a_fault_that_was_never_delivered_proves_nothing() -> None:
    story = Story().member().fault("error", "armed", "triggered").end(9_000)

    with pytest.raises(NotReached):
        verdict(rejoins("m0", after="error", requirement="CLIENT-46"), story)
    with pytest.raises(NotReached, match="never delivered"):
        verdict(request_came("error", "m0", Api.HEARTBEAT, requirement="CLIENT-30"), story)


@pytest.mark.parametrize(("stages", "expected"), [(["armed", "triggered", "delivered"], Verdict.OK), (["armed"], Verdict.FAILED)])
def test_a_request_that_the_fault_waits_for_is_due(stages: list[str], expected: Verdict) -> None:
    story = Story().member().fault("error", *stages).end(9_000)

    assert verdict(request_came("error", "m0", Api.HEARTBEAT, requirement="CLIENT-30"), story) is expected


def test_nothing_is_due_of_a_fault_that_was_never_armed() -> None:
    with pytest.raises(NotReached, match="never armed"):
        verdict(request_came("error", "m0", Api.HEARTBEAT, requirement="CLIENT-30"), Story().member().end(9_000))


@pytest.mark.parametrize(("does", "tells", "expected"), [("find", False, Verdict.OK), (None, True, Verdict.OK), (None, False, Verdict.FAILED)])
def test_a_retry_comes_or_the_application_gets_a_report(does: str | None, tells: bool, expected: Verdict) -> None:
    judge = retries("m0", Api.FIND_COORDINATOR, after="error", requirement="CLIENT-06", or_reports=True)

    assert after_fault(judge, does=does, tells=tells) is expected


@pytest.mark.parametrize(
    ("does", "expected"), [("sync", Verdict.OK), ("join as it is", Verdict.FAILED), ("beat", Verdict.OK), ("find", Verdict.FAILED)]
)
def test_an_assignment_or_a_heartbeat_of_a_valid_membership_is_recovery(does: str, expected: Verdict) -> None:
    assert after_fault(recovers("m0", after="error", requirement="CLIENT-76", within_ms=5_000), does=does) is expected


@pytest.mark.parametrize(("was_one", "message"), [(True, "It never became a member again."), (False, "It never got an assignment.")])
def test_a_client_that_was_no_member_before_does_not_count_as_one_again(was_one: bool, message: str) -> None:
    story = (Story().member() if was_one else Story()).mark("error").end(20_000)
    (found,) = findings(recovers("m0", after="error", requirement="CLIENT-76", within_ms=5_000), story)

    assert (found.verdict, found.observed) == (Verdict.FAILED, message)


@pytest.mark.parametrize(("does", "expected"), [("sync", Verdict.OK), ("beat", Verdict.OK), ("find", Verdict.FAILED)])
def test_a_member_is_back_when_its_group_answers_it(does: str, expected: Verdict) -> None:
    assert after_fault(comes_back("m0", after="error", requirement="CLIENT-51", within_ms=5_000), does=does) is expected


@pytest.mark.parametrize(
    ("does", "tells", "expected"),
    [
        ("beat", False, Verdict.OK),
        ("join as it is", False, Verdict.NON_STRICT),
        ("join anew", False, Verdict.NON_STRICT),
        (None, True, Verdict.OK),
        (None, False, Verdict.FAILED),
    ],
)
def test_a_membership_that_stands_is_kept(does: str | None, tells: bool, expected: Verdict) -> None:
    assert after_fault(keeps_membership("m0", after="error", requirement="CLIENT-49", or_reports=True), does=does, tells=tells) is expected


def test_a_member_that_was_no_member_has_nothing_to_keep() -> None:
    with pytest.raises(NotReached):
        verdict(keeps_membership("m0", after="error", requirement="CLIENT-49"), Story().fault("error").end(9_000))


@pytest.mark.parametrize(
    ("does", "tells", "expected"),
    [("find", True, Verdict.OK), ("beat", False, Verdict.OK), ("find", False, Verdict.NON_STRICT), (None, False, Verdict.FAILED)],
)
def test_an_error_reaches_the_application(does: str | None, tells: bool, expected: Verdict) -> None:
    judge = surfaces("m0", after="error", requirement="CLIENT-17", tried_again=Api.HEARTBEAT)

    assert after_fault(judge, does=does, tells=tells) is expected


@pytest.mark.parametrize(("does", "expected"), [("join anew", Verdict.FAILED), ("beat", Verdict.OK), (None, Verdict.OK)])
def test_a_member_that_joined_again_reports_too_late_that_it_was_replaced(does: str | None, expected: Verdict) -> None:
    judge = surfaces("m0", after="error", requirement="CLIENT-57", if_unreported=Verdict.FAILED, before_joining=True)

    assert after_fault(judge, does=does, tells=True) is expected


@pytest.mark.parametrize(
    ("goes_on", "observed"),
    [(False, "It fell silent, on the wire and to the application."), (True, "It went on without telling the application.")],
)
def test_a_replaced_member_continues_wrongly_only_after_the_refusal(goes_on: bool, observed: str) -> None:
    story = Story().member().mark("twin")
    story.at(300).beat()
    story.at(600).beat(error=ErrorCode.FENCED_INSTANCE_ID)
    if goes_on:
        story.at(900).beat(error=ErrorCode.FENCED_INSTANCE_ID)
    judge = surfaces("m0", after="twin", requirement="CLIENT-57", if_unreported=Verdict.FAILED, refusals=[ErrorCode.FENCED_INSTANCE_ID])

    assert [(finding.verdict, finding.observed) for finding in findings(judge, story.end(9_000))] == [(Verdict.FAILED, observed)]


@pytest.mark.parametrize(
    ("judge", "does"),
    [
        (surfaces("m0", after="error", requirement="CLIENT-17"), "find"),
        (surfaces("m0", after="error", requirement="CLIENT-57", before_joining=True), "join anew"),
        (surfaces("m0", after="error", requirement="CLIENT-17"), None),
        (survives("m0", after="error", requirement="CLIENT-21"), None),
        (rejoins("m0", after="error", requirement="CLIENT-21", or_reports=True), None),
        (retries("m0", Api.OFFSET_FETCH, after="error", requirement="CLIENT-79", or_reports=True), None),
        (keeps_membership("m0", after="error", requirement="CLIENT-49", or_reports=True), None),
    ],
)
def test_a_program_without_an_event_for_errors_is_not_blamed_for_a_missing_report(judge: Judge, does: str | None) -> None:
    assert after_fault(judge, does=does) in ADVERSE
    with pytest.raises(NotOffered, match="no event for an error"):
        after_fault(judge, does=does, is_mute=True)


def test_nothing_is_said_of_who_was_never_refused() -> None:
    judge = surfaces("m0", after="twin", requirement="CLIENT-57", refusals=[ErrorCode.FENCED_INSTANCE_ID])

    with pytest.raises(NotReached, match="never answered with 82"):
        verdict(judge, Story().member().mark("twin").end(9_000))


@pytest.mark.parametrize(
    ("does", "tells", "expected"),
    [("find", False, Verdict.OK), (None, True, Verdict.OK), ("leave", False, Verdict.FAILED), (None, False, Verdict.FAILED)],
)
def test_an_odd_answer_neither_stops_a_client_nor_is_hidden(does: str | None, tells: bool, expected: Verdict) -> None:
    assert after_fault(survives("m0", after="error", requirement="CLIENT-21"), does=does, tells=tells) is expected


@pytest.mark.parametrize(
    ("does", "expected"),
    [("tells", Verdict.OK), ("beats", Verdict.FAILED), ("both", Verdict.OK), ("beats without a generation", Verdict.FAILED), (None, Verdict.FAILED)],
)
def test_an_assignment_is_processed_when_the_application_gets_its_callback(does: str | None, expected: Verdict) -> None:
    story = struck().at(500)
    story.join(member=ID, generation=2)
    story.sync(generation=2, gets=[("t", 0)])
    story.at(800)
    if does in ("tells", "both"):
        story.partitions("assigned", ("t", 0))
    if does not in (None, "tells"):
        story.beat(generation=2 if does != "beats without a generation" else -1)

    assert verdict(takes_up_its_work("m0", after="error"), story.end(9_000)) is expected


def test_an_assignment_without_partitions_is_processed_by_a_heartbeat() -> None:
    story = struck().at(500)
    story.join(member=ID, generation=2)
    story.sync(generation=2)
    story.at(800).beat(generation=2)

    assert verdict(takes_up_its_work("m0", after="error"), story.end(9_000)) is Verdict.OK


@pytest.mark.parametrize(("protocol", "gets", "expected"), [
    ("cooperative-sticky", [0], Verdict.OK), ("cooperative-sticky", [0, 1], Verdict.FAILED), ("range", [0], Verdict.FAILED),
])  # fmt: skip
def test_a_cooperative_application_need_not_get_its_partitions_again(protocol: str, gets: list[int], expected: Verdict) -> None:
    story = struck()
    story.partitions("assigned", ("t", 0))
    story.at(500).join(member=ID, generation=2, protocol=protocol)
    story.sync(generation=2, gets=[("t", number) for number in gets])
    story.at(800).beat(generation=2)

    assert verdict(takes_up_its_work("m0", after="error"), story.end(9_000)) is expected


@pytest.mark.parametrize(
    ("declares", "gets", "expected"),
    [(["classic"], [0], Verdict.OK), (["classic"], [0, 1], Verdict.FAILED), (["classic", "on-revoked"], [0], Verdict.FAILED)],
)
def test_an_application_that_asks_what_it_owns_learns_of_changes_alone(declares: list[str], gets: list[int], expected: Verdict) -> None:
    story = struck()
    story.kit("hello", "m0", capabilities=declares)
    story.partitions("assigned", ("t", 0))
    story.at(500).join(member=ID, generation=2, protocol="range")
    story.sync(generation=2, gets=[("t", number) for number in gets])
    story.at(800).beat(generation=2)

    assert verdict(takes_up_its_work("m0", after="error"), story.end(9_000)) is expected


def test_nothing_is_said_of_an_assignment_that_never_came() -> None:
    with pytest.raises(NotReached, match="assigned nothing"):
        verdict(takes_up_its_work("m0", after="error"), struck().end(9_000))


def test_silence_needs_time_to_be_proven() -> None:
    with pytest.raises(NotReached):
        verdict(survives("m0", after="error", requirement="CLIENT-21"), struck().end(1_000))


@pytest.mark.parametrize(("member", "instance", "expected"), [(ID, "i0", Verdict.OK), ("", None, Verdict.OK), ("", "i0", Verdict.FAILED)])
def test_a_fenced_member_does_not_throw_its_successor_out(member: str, instance: str | None, expected: Verdict) -> None:
    story = struck()
    story.join(member=member, instance=instance, generation=2)

    assert verdict(stays_out("m0", after="error", requirement="CLIENT-57"), story.end()) is expected


@pytest.mark.parametrize(("member", "generation", "expected"), [(ID, 1, Verdict.NON_STRICT), (ID, 2, Verdict.OK)])
def test_a_refusal_is_stale_by_the_generation_that_the_commit_carries(member: str, generation: int, expected: Verdict) -> None:
    """A commit that waited for the new generation, and carries it, is the newest membership's own: to believe its refusal is right."""
    story = Story().member().fault("join")
    story.join(member=ID, generation=2)
    story.fault("error")
    story.commit(("t", 0, 5), member=member, generation=generation, error=25)
    story.join(gets="m0-2", generation=3)

    assert verdict(ignores_stale_refusal("m0", fault="error", join="join"), story.end()) is expected


def test_a_refusal_before_the_new_generation_is_none_of_an_old_one() -> None:
    story = Story().member().fault("join", "armed", "triggered", "delivered").fault("error")
    story.commit(("t", 0, 5), error=25)
    story.join(gets="m0-2", generation=2)

    assert verdict(ignores_stale_refusal("m0", fault="error", join="join"), story.end()) is Verdict.OK


def test_a_refusal_in_a_generation_after_the_join_is_none_of_an_old_one_however_late_the_commit_is() -> None:
    story = Story().member().fault("join", "armed", "triggered", "delivered")
    story.join(member=ID, generation=2)
    story.join(member=ID, generation=3)
    story.fault("error")
    story.commit(("t", 0, 5), generation=3, error=22)
    story.join(member=ID, generation=4)

    assert verdict(ignores_stale_refusal("m0", fault="error", join="join"), story.end()) is Verdict.OK


@pytest.mark.parametrize(("fault", "proof"), [(None, Proof.TIMING), ("error", Proof.SAFETY)])
def test_a_member_that_joins_as_it_was_after_its_session_was_only_silent(fault: str | None, proof: Proof) -> None:
    story = struck().at(4_000)
    story.answer(story.request(Api.HEARTBEAT, member=ID, generation=1), error=25, fault=fault)
    story.join(member=ID, generation=2)

    found = findings(keeps_membership("m0", after="error", requirement="CLIENT-49"), story.end(9_000))
    assert [(finding.verdict, finding.proof) for finding in found] == [(Verdict.NON_STRICT, proof)]
