from __future__ import annotations

import base64

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.case_checkers.fields import (
    commits_carry_membership,
    fetches_only_assigned,
    joins_once,
    joins_when_topics_grow,
    joins_with_timeouts,
    keeps_id_handed_out,
    lists_protocols,
    names_its_instance,
    starts_at,
    starts_in_generation,
    subscribes_to,
    syncs_after_join,
    syncs_protocol_agreed,
)
from groupproof.harness.model.case import Judge
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.vocabulary import Api, ErrorCode


@pytest.mark.parametrize(
    ("version", "session", "rebalance", "expected"),
    [
        (9, 5_000, 21_000, Verdict.OK),
        (0, 5_000, -1, Verdict.OK),
        (9, 5_000, 5_000, Verdict.NON_STRICT),
        (9, 10_000, 21_000, Verdict.NON_STRICT),
    ],
)
def test_other_timeouts_than_those_set_are_not_strict(version: int, session: int, rebalance: int, expected: Verdict) -> None:
    story = Story()
    story.request(Api.JOIN_GROUP, version=version, body={"session_timeout_ms": session, "rebalance_timeout_ms": rebalance})

    assert verdict(joins_with_timeouts("m0", session_ms=5_000, rebalance_ms=21_000), story.end()) is expected


@pytest.mark.parametrize(
    ("wanted", "expected"), [(("range",), Verdict.OK), (("roundrobin",), Verdict.FAILED), (("range", "roundrobin"), Verdict.FAILED)]
)
def test_the_protocols_are_those_asked_for(wanted: tuple[str, ...], expected: Verdict) -> None:
    story = Story()
    story.join()

    assert verdict(lists_protocols("m0", wanted), story.end()) is expected


def test_a_subscription_that_ends_early_fails_with_the_reason_and_tells_its_topics_all_the_same() -> None:
    story = Story()
    story.join().body["protocols"][0]["metadata"] = base64.b64decode("AAEAAAABAAF0/////w==")

    assert [finding.observed for finding in findings(lists_protocols("m0", ("range",)), story.end())] == [
        "Its subscription says version 1 and ends before its owned partitions: a leader of the Java client cannot read it."
    ]
    assert verdict(subscribes_to("m0", ("t",), requirement="ASSIGN-10"), story) is Verdict.OK


def test_another_order_of_preference_is_not_strict() -> None:
    story = Story()
    story.join().body["protocols"].append({"name": "roundrobin", "metadata": b""})

    assert verdict(lists_protocols("m0", ("range", "roundrobin")), story.end()) is Verdict.OK
    assert verdict(lists_protocols("m0", ("roundrobin", "range")), story.end()) is Verdict.NON_STRICT


def test_a_second_join_does_not_make_good_what_the_first_left_out() -> None:
    story = Story()
    story.join(generation=1)
    story.join(member=ID, generation=2).body["protocols"].append({"name": "roundrobin", "metadata": b""})

    assert [finding.observed for finding in findings(lists_protocols("m0", ("range", "roundrobin")), story.end())] == [
        "It lists only some of them at first."
    ]
    assert verdict(lists_protocols("m0", ("range", "roundrobin")), story) is Verdict.FAILED


def test_a_join_that_no_consumer_would_send_fails() -> None:
    story = Story()
    story.join().body["protocol_type"] = "consumers"

    assert verdict(lists_protocols("m0", ("range",)), story.end()) is Verdict.FAILED


@pytest.mark.parametrize(("topics", "expected"), [(("u", "t"), Verdict.OK), (("t",), Verdict.FAILED)])
def test_the_subscription_names_the_topics_asked_for_in_any_order(topics: tuple[str, ...], expected: Verdict) -> None:
    story = Story()
    story.join(topics=topics)

    assert verdict(subscribes_to("m0", ("t", "u"), requirement="ASSIGN-10"), story.end()) is expected


@pytest.mark.parametrize(
    ("comes_back_as", "expected"), [("m0-7", Verdict.OK), ("", Verdict.FAILED), ("m0-8", Verdict.FAILED), (None, Verdict.FAILED)]
)
def test_an_id_that_was_handed_out_is_used(comes_back_as: str | None, expected: Verdict) -> None:
    story = Story()
    story.join(gets="m0-7", generation=-1, error=79)
    if comes_back_as is not None:
        story.join(member=comes_back_as)

    assert verdict(keeps_id_handed_out("m0"), story.end()) is expected


@pytest.mark.parametrize(("comes_back_as", "expected"), [("m0-8", Verdict.NON_STRICT), ("", Verdict.FAILED), ("m0-9", Verdict.FAILED)])
def test_a_member_that_asks_again_without_an_id_and_joins_with_the_second_leaves_the_first_behind(comes_back_as: str, expected: Verdict) -> None:
    story = Story()
    story.join(gets="m0-7", generation=-1, error=79)
    story.join(gets="m0-8", generation=-1, error=79)
    story.join(member=comes_back_as, gets=comes_back_as)

    assert verdict(keeps_id_handed_out("m0"), story.end()) is expected


def test_a_client_with_a_handed_out_id_that_is_never_admitted_is_no_member() -> None:
    story = Story()
    for handed in ("m0-7", "m0-8"):
        story.join(gets=handed, generation=-1, error=79)
    story.join(member="m0-8", error=ErrorCode.UNKNOWN_MEMBER_ID)

    assert verdict(keeps_id_handed_out("m0"), story.end()) is Verdict.FAILED


def test_a_member_that_is_never_asked_for_an_id_has_none_to_keep() -> None:
    old, newest = Story(), Story()
    old.join(version=3)
    newest.join(version=9)

    assert verdict(keeps_id_handed_out("m0"), old.end()) is Verdict.OK
    with pytest.raises(NotReached):
        verdict(keeps_id_handed_out("m0"), newest.end())


@pytest.mark.parametrize(("syncs_at", "expected"), [(200, Verdict.OK), (4_000, Verdict.FAILED), (None, Verdict.FAILED)])
def test_a_sync_follows_its_join_within_the_session(syncs_at: float | None, expected: Verdict) -> None:
    story = Story()
    story.join()
    if syncs_at is not None:
        story.at(syncs_at).sync()

    assert verdict(syncs_after_join("m0", 3_000), story.end(9_000)) is expected


@pytest.mark.parametrize(
    ("named", "error", "expected"),
    [(None, 0, Verdict.OK), ("range", 0, Verdict.OK), ("roundrobin", 0, Verdict.FAILED), ("range", 23, Verdict.FAILED)],
)
def test_a_client_continues_with_the_assignor_agreed_on(named: str | None, error: int, expected: Verdict) -> None:
    story = Story()
    story.join(protocol="range")
    story.answer(story.request(Api.SYNC_GROUP, member=ID, generation=1, body={"protocol_name": named}), error=error)

    assert verdict(syncs_protocol_agreed("m0", "range"), story.end()) is expected


def _synced(story: Story, *, error: int = 0, generation: int = 1) -> Story:
    story.answer(story.request(Api.SYNC_GROUP, member=ID, generation=generation, body={"protocol_name": "range"}), error=error)
    return story


def test_a_member_that_fell_out_after_it_had_gone_on_with_the_assignor_did_so() -> None:
    story = Story()
    story.join(protocol="range")
    _synced(story)
    story.join(protocol="range", generation=2)
    _synced(story, error=ErrorCode.UNKNOWN_MEMBER_ID, generation=2)
    story.join(error=ErrorCode.MEMBER_ID_REQUIRED)

    assert verdict(syncs_protocol_agreed("m0", "range"), story.end()) is Verdict.OK


@pytest.mark.parametrize(
    ("agreed", "error", "reason"),
    [
        ("range", ErrorCode.UNKNOWN_MEMBER_ID, "m0 lost its membership before it had gone on with range"),
        ("roundrobin", 0, "the group agreed on roundrobin, and never on range"),
    ],
)
def test_where_the_assignor_cannot_be_judged_it_is_said_why(agreed: str, error: int, reason: str) -> None:
    story = Story()
    story.join(protocol=agreed)

    with pytest.raises(NotReached, match=reason):
        verdict(syncs_protocol_agreed("m0", "range"), _synced(story, error=error).end())


@pytest.mark.parametrize(("again", "expected"), [(False, Verdict.OK), (True, Verdict.NON_STRICT)])
def test_a_second_join_while_the_first_is_parked_is_not_strict(again: bool, expected: Verdict) -> None:
    story = Story()
    story.request(Api.JOIN_GROUP)
    story.mark("parked")
    if again:
        story.request(Api.JOIN_GROUP)

    assert verdict(joins_once("m0", after="parked", requirement="CLIENT-22"), story.end()) is expected


def test_a_join_after_the_answer_is_no_second_one_while_waiting() -> None:
    story = Story().mark("parked")
    story.join()
    story.join(member=ID, generation=2)

    assert verdict(joins_once("m0", after="parked", requirement="CLIENT-22"), story.end()) is Verdict.NON_STRICT

    waiting = Story()
    request = waiting.request(Api.JOIN_GROUP)
    waiting.mark("parked")
    waiting.answer(request)
    waiting.join(member=ID, generation=2)
    assert verdict(joins_once("m0", after="parked", requirement="CLIENT-22"), waiting.end()) is Verdict.OK


@pytest.mark.parametrize(("instance", "expected"), [("i0", Verdict.OK), ("i1", Verdict.FAILED), (None, Verdict.FAILED)])
def test_a_static_member_says_who_it_is(instance: str | None, expected: Verdict) -> None:
    story = Story()
    story.join(instance=instance)

    assert verdict(names_its_instance("m0", "i0"), story.end()) is expected


@pytest.mark.parametrize(("generation", "expected"), [(1, Verdict.OK), (2, Verdict.NON_STRICT)])
def test_a_static_member_comes_back_into_its_generation(generation: int, expected: Verdict) -> None:
    story = Story().member()
    story.join("m1", gets="i0-2", generation=generation, leader=ID)
    story.sync("m1", member="i0-2", generation=generation)

    assert verdict(starts_in_generation("m1", of="m0", requirement="STATIC-16"), story.end()) is expected


@pytest.mark.parametrize(("member", "generation", "expected"), [(ID, 1, Verdict.OK), (ID, 0, Verdict.FAILED), ("", -1, Verdict.FAILED)])
def test_a_commit_carries_the_newest_membership(member: str, generation: int, expected: Verdict) -> None:
    story = Story().member().mark("commit")
    story.commit(("t", 0, 5), member=member, generation=generation)

    assert verdict(commits_carry_membership("m0", after="commit"), story.end()) is expected


@pytest.mark.parametrize(("asked", "expected"), [([("t", 0)], Verdict.OK), ([("t", 0), ("t", 1)], Verdict.INFORMATIONAL)])
def test_a_fetch_of_anothers_offsets_is_reported(asked: list[tuple[str, int]], expected: Verdict) -> None:
    story = Story().member(gets=[("t", 0)])
    story.exchange(Api.OFFSET_FETCH, partitions=tuple(asked))

    assert verdict(fetches_only_assigned("m0"), story.end()) is expected


STARTS = {("t", 0): 10, ("t", 1): 12}


@pytest.mark.parametrize(
    ("first", "or_not", "expected"),
    [
        ([("t", 0, 10, 19), ("t", 1, 12, 19)], False, Verdict.OK),
        ([("t", 0, 0, 19)], True, Verdict.FAILED),
        ([("t", 0, 11, 19)], True, Verdict.FAILED),
        ([("t", 0, 10, 19)], False, Verdict.FAILED),
        ([("t", 0, 10, 19)], True, Verdict.OK),
    ],
)
def test_a_member_continues_where_the_group_had_committed(first: list[tuple[str, int, int, int]], or_not: bool, expected: Verdict) -> None:
    story = Story().member()
    story.consume(*first)

    assert verdict(starts_at("m0", STARTS, requirement="CLIENT-79", or_not=or_not), story.end(9_000)) is expected


@pytest.mark.parametrize(("first", "fatal", "expected"), [
    ([], True, Verdict.OK), ([], False, Verdict.FAILED), ([("t", 0, 0, 19)], True, Verdict.FAILED),
])  # fmt: skip
def test_a_member_that_tells_its_application_that_it_ends_need_not_continue(
    first: list[tuple[str, int, int, int]], fatal: bool, expected: Verdict
) -> None:
    story = Story().member()
    story.kit("mark", mark="error")
    story.consume(*first)
    story.tell("error", error="NOT_COORDINATOR", message="", fatal=fatal)

    assert verdict(starts_at("m0", STARTS, requirement="CLIENT-79", ends_after="error"), story.end(9_000)) is expected


def begins(*offsets: tuple[str, int, int]) -> Story:
    """Tell of a member that fetches from these offsets, and whose application tells of the committed ones."""
    story = Story().member(gets=[("t", 0), ("t", 1)])
    story.exchange(Api.FETCH, connection=2, offsets=offsets)
    story.exchange(Api.FETCH, connection=2, offsets=(("t", 0, 0), ("t", 1, 0)))
    story.consume(("t", 0, 10, 19), ("t", 1, 12, 19))
    return story.end()


def test_its_position_is_known_from_its_fetch_requests_whatever_its_application_says() -> None:
    judge = starts_at("m0", STARTS, requirement="CLIENT-79")
    (found,) = findings(judge, begins(("t", 0, 0), ("t", 1, 12)))
    assert (found.verdict, found.proof, found.detail) == (Verdict.FAILED, Proof.SAFETY, str({("t", 0): 0, ("t", 1): 12}))

    assert verdict(judge, begins(("t", 0, 10), ("t", 1, 12))) is Verdict.OK
    assert verdict(judge, begins(("an id", 0, 0), ("t", 1, 12), ("t", 0, 10))) is Verdict.OK


@pytest.mark.parametrize(
    ("later", "records", "expected"),
    [
        (("t", 0, 10), ("t", 0, 10, 19), Verdict.NON_STRICT),
        (("t", 0, 20), ("t", 0, 10, 19), Verdict.FAILED),
        (("t", 0, 10), ("t", 0, 0, 19), Verdict.FAILED),
        (("t", 0, 10), ("t", 1, 12, 19), Verdict.FAILED),
    ],
)
def test_a_client_that_fetches_elsewhere_and_goes_to_the_committed_offset_before_it_delivers_is_not_strict(
    later: tuple[str, int, int], records: tuple[str, int, int, int], expected: Verdict
) -> None:
    story = Story().member(gets=[("t", 0)])
    for offsets in (("t", 0, 0), later):
        story.exchange(Api.FETCH, connection=2, offsets=(offsets,))
    story.consume(records)

    assert verdict(starts_at("m0", {("t", 0): 10}, requirement="CLIENT-79"), story.end()) is expected


def test_records_alone_are_no_proof_of_where_it_went_on() -> None:
    story = Story().member()
    story.consume(("t", 0, 0, 19), ("t", 1, 12, 19))

    assert [finding.proof for finding in findings(starts_at("m0", STARTS, requirement="CLIENT-79"), story.end())] == [Proof.LIVENESS]


@pytest.mark.parametrize(("offset", "expected"), [(10, Verdict.OK), (0, Verdict.NON_STRICT), (11, Verdict.FAILED)])
def test_an_error_that_once_meant_nothing_committed_may_be_read_so(offset: int, expected: Verdict) -> None:
    story = Story().member()
    story.consume(("t", 0, offset, 19), ("t", 1, 12, 19))

    assert verdict(starts_at("m0", STARTS, requirement="CLIENT-79", means_nothing_once=True), story.end()) is expected


def metadata_of(story: Story, *, is_counted: bool = False, **topics: int) -> Story:
    """Tell of a Metadata answer: whole, as behind a tap, or with the number of partitions alone, as the reference coordinator records it."""
    by_name = {name: count if is_counted else [{"partition_index": number} for number in range(count)] for name, count in topics.items()}
    listed = [{"name": name, "partitions": partitions} for name, partitions in by_name.items()]
    story.answer(story.request(Api.METADATA), body={"topics": listed})
    return story


@pytest.mark.parametrize("is_counted", [False, True])
def test_a_leader_that_learns_of_new_partitions_joins_again(is_counted: bool) -> None:
    judge = joins_when_topics_grow("m0", "t", 4, after="grown")
    story = metadata_of(Story().member().mark("grown"), is_counted=is_counted, u=8, t=2)
    with pytest.raises(NotReached, match="metadata"):
        verdict(judge, story)

    metadata_of(story.at(1_000), is_counted=is_counted, t=4)
    assert verdict(judge, story.end(8_000)) is Verdict.FAILED

    story = Story().member().mark("grown")
    metadata_of(story.at(1_000), is_counted=is_counted, t=4)
    story.at(1_500).join(member=ID, generation=2)
    assert verdict(judge, story.end(8_000)) is Verdict.OK


@pytest.mark.parametrize(
    "judge",
    [
        joins_with_timeouts("m0", session_ms=1, rebalance_ms=1),
        lists_protocols("m0", ()),
        subscribes_to("m0", (), requirement="ASSIGN-10"),
        syncs_after_join("m0", 1),
        syncs_protocol_agreed("m0", "range"),
        fetches_only_assigned("m0"),
        names_its_instance("m0", "i0"),
        starts_in_generation("m1", of="m0", requirement="STATIC-16"),
        starts_at("m0", STARTS, requirement="CLIENT-79"),
        commits_carry_membership("m0", after="x"),
    ],
)
def test_nothing_is_said_of_what_never_happened(judge: Judge) -> None:
    with pytest.raises(NotReached):
        verdict(judge, Story().mark("x").end())
