from __future__ import annotations

import pytest
from tests.traces import ID, Story, verdict

from groupproof.harness.judging.case_checkers.discovery import (
    finds_by_its_group,
    goes_to_another,
    looks_up_once,
    looks_up_one_at_a_time,
    rediscovers,
    spaces_lookups,
    unless_asked_elsewhere,
)
from groupproof.harness.judging.case_checkers.reactions import retries
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api

REDISCOVERS = rediscovers("m0", after="error", requirement="CLIENT-04", api=Api.HEARTBEAT)


def test_a_lookup_before_the_next_request_is_a_rediscovery() -> None:
    story = Story().member().fault("error")
    story.at(200).find()
    story.at(400).beat()

    assert verdict(REDISCOVERS, story.end(9_000)) is Verdict.OK


@pytest.mark.parametrize("api", [Api.HEARTBEAT, Api.JOIN_GROUP])
def test_the_next_request_without_a_lookup_is_not_strict(api: Api) -> None:
    story = Story().member().fault("error")
    story.at(400).exchange(api, member=ID)
    story.at(600).find()

    assert verdict(REDISCOVERS, story.end(9_000)) is Verdict.NON_STRICT


def test_on_a_machine_that_lagged_the_next_request_may_have_been_on_its_way() -> None:
    story = Story().member().fault("error")
    story.at(390).kit("lag", source="loop", lag_ms=300)
    story.at(400).beat()
    story.at(600).find()

    with pytest.raises(NotReached, match="the machine lagged between the answer and Heartbeat"):
        verdict(REDISCOVERS, story.end(9_000))


@pytest.mark.parametrize(
    ("second_ms", "looks_up", "expected"), [(20, True, Verdict.OK), (300, True, Verdict.NON_STRICT), (20, False, Verdict.NON_STRICT)]
)
def test_a_second_fetch_of_offsets_that_was_on_its_way_is_no_answer_to_the_refusal_of_the_first(
    second_ms: int, looks_up: bool, expected: Verdict
) -> None:
    story = Story().member().fault("error")
    story.at(second_ms).exchange(Api.OFFSET_FETCH, member=ID)
    if looks_up:
        story.at(400).find()
    story.at(600).exchange(Api.JOIN_GROUP, member=ID)

    judge = rediscovers("m0", after="error", requirement="CLIENT-04", api=Api.OFFSET_FETCH)
    assert verdict(judge, story.end(9_000)) is expected


@pytest.mark.parametrize(("connection", "find_ms", "expected"), [(7, 401, Verdict.OK), (7, 900, Verdict.NON_STRICT), (1, 401, Verdict.NON_STRICT)])
def test_a_lookup_beside_the_request_on_a_connection_of_its_own_may_have_been_sent_before_it(
    connection: int, find_ms: int, expected: Verdict
) -> None:
    story = Story().member().fault("error")
    story.at(400).request(Api.JOIN_GROUP, connection=1, member=ID)
    story.at(find_ms).request(Api.FIND_COORDINATOR, connection=connection)

    assert verdict(REDISCOVERS, story.end(9_000)) is expected


def test_a_lookup_beside_the_request_counts_also_where_the_plan_ends_in_between() -> None:
    """librdkafka's lookup goes out by a thread of its own; three milliseconds later a short case was over."""
    story = Story().member().fault("error")
    story.at(400).request(Api.JOIN_GROUP, connection=1, member=ID)
    story.end(402)
    story.at(403).request(Api.FIND_COORDINATOR, connection=7)

    assert verdict(REDISCOVERS, story) is Verdict.OK


def test_neither_lookup_nor_request_is_a_standstill() -> None:
    assert verdict(REDISCOVERS, Story().member().fault("error").end(9_000)) is Verdict.FAILED
    with pytest.raises(NotReached):
        verdict(REDISCOVERS, Story().member().fault("error").end(1_000))


@pytest.mark.parametrize(("beat_ms", "expected"), [(20, Verdict.FAILED), (3_000, Verdict.NON_STRICT)])
def test_a_commit_that_is_given_up_is_no_standstill_of_a_member_that_continues_with_heartbeats(beat_ms: int, expected: Verdict) -> None:
    story = Story().member().fault("error")
    story.at(beat_ms).beat()

    assert verdict(rediscovers("m0", after="error", requirement="CLIENT-04", api=Api.OFFSET_COMMIT), story.end(9_000)) is expected


@pytest.mark.parametrize(("node", "expected"), [(1, Verdict.OK), (0, Verdict.FAILED)])
def test_a_client_follows_its_coordinator_to_another_broker(node: int, expected: Verdict) -> None:
    story = Story().member().mark("moved")
    story.at(400).beat(node=node)

    assert verdict(goes_to_another("m0", Api.HEARTBEAT, after="moved", requirement="CLIENT-07"), story.end(9_000)) is expected


def test_a_client_that_had_no_coordinator_can_follow_none() -> None:
    with pytest.raises(NotReached):
        verdict(goes_to_another("m0", Api.HEARTBEAT, after="moved", requirement="CLIENT-07"), Story().mark("moved").end(9_000))


def test_a_second_lookup_in_flight_is_reported() -> None:
    story = Story()
    first = story.request(Api.FIND_COORDINATOR, connection=1)
    story.request(Api.FIND_COORDINATOR, connection=2)
    story.answer(first)
    assert verdict(looks_up_one_at_a_time("m0"), story.end()) is Verdict.INFORMATIONAL

    story = Story()
    story.request(Api.FIND_COORDINATOR, connection=1)
    story.see("event", who="link", connection=1, body={"name": "closed"})
    story.find(connection=2)
    assert verdict(looks_up_one_at_a_time("m0"), story.end()) is Verdict.OK


@pytest.mark.parametrize(
    ("gaps_ms", "expected"),
    [((100, 100, 100, 100), Verdict.OK), ((5, 10, 20, 40), Verdict.OK), ((1, 2, 4, 8), Verdict.OK), ((1, 1, 2, 1), Verdict.NON_STRICT)],
)
def test_failed_lookups_are_spaced_and_how_far_is_the_clients_choice(gaps_ms: tuple[float, ...], expected: Verdict) -> None:
    story = Story().fault("error")
    for number in range(5):
        story.at(sum(gaps_ms[:number])).find(error=15 if number < 4 else 0)

    assert verdict(spaces_lookups("m0", after="error"), story.end()) is expected


def test_a_lookup_that_was_not_repeated_has_no_gap() -> None:
    with pytest.raises(NotReached):
        verdict(spaces_lookups("m0", after="error"), Story().fault("error").end())


def test_a_lookup_in_a_rebalance_is_reported_and_no_more() -> None:
    story = Story().member().mark("rebalance")
    assert verdict(looks_up_once("m0", after="rebalance"), story) is Verdict.OK

    story.find()
    assert verdict(looks_up_once("m0", after="rebalance"), story) is Verdict.INFORMATIONAL


@pytest.mark.parametrize(("group", "expected"), [("g", Verdict.OK), ("h", Verdict.FAILED)])
def test_a_lookup_names_the_clients_group(group: str, expected: Verdict) -> None:
    story = Story()
    story.find(body={"coordinator_keys": (group,)})

    assert verdict(finds_by_its_group("m0", "g"), story.end()) is expected


@pytest.mark.parametrize("judge", [finds_by_its_group("m0", "g"), looks_up_one_at_a_time("m0")])
def test_nothing_is_said_of_lookups_that_never_came(judge: object) -> None:
    with pytest.raises(NotReached):
        verdict(judge, Story().end())  # type: ignore[arg-type] # parametrised by object for a short list


@pytest.mark.parametrize(
    ("connection", "error", "at_once", "expected"),
    [
        (2, 0, True, Verdict.OK),
        (1, 0, True, Verdict.FAILED),
        (2, 15, True, Verdict.FAILED),
        (2, 0, False, Verdict.FAILED),
        (2, None, True, Verdict.FAILED),
    ],
)
def test_a_client_that_asked_another_broker_at_once_and_got_its_answer_need_not_ask_again(
    connection: int, error: int | None, at_once: bool, expected: Verdict
) -> None:
    story = Story()
    other = story.request(Api.FIND_COORDINATOR, connection=connection)
    if not at_once:
        story.answer(other, error=0)
    hit = story.request(Api.FIND_COORDINATOR, connection=1)
    story.fault("broken", "armed")
    story.see("fault", fault="broken", detail="triggered", body={"stage": "triggered"}, connection=1, correlation=hit.correlation)
    if at_once and error is not None:
        story.answer(other, error=error)
    story.fault("broken", "delivered")

    judge = unless_asked_elsewhere(retries("m0", Api.FIND_COORDINATOR, after="broken", requirement="CLIENT-06"), "m0")
    assert verdict(judge, story.end(9_000)) is expected
