"""What members of a consumer group may send: each checker with the fault that it is for, and with what is none."""

from __future__ import annotations

from typing import Any

import pytest
from tests.epoch_traces import BOTH, EpochStory
from tests.harness.judging.consumer_traces import trace_of
from tests.traces import Story, findings

from groupproof.harness.judging.checkers.checker import findings_of
from groupproof.harness.judging.checkers.consumer.consumer_checkers import CONSUMER_CHECKERS
from groupproof.harness.judging.checkers.consumer.consumer_frames import (
    EpochsGiven,
    FetchesEndWithTheAcknowledgement,
    HeartbeatsNameTheirMember,
    JoinsAreWhole,
    OneHeartbeatAtATime,
    OwnedWereGiven,
)
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

BEAT = Api.CONSUMER_GROUP_HEARTBEAT
WHOLE = {"rebalance_timeout_ms": 60_000, "topic_partitions": (), "subscribed_topic_names": ("t",), "subscribed_topic_regex": None}
T0, T1 = ("t", 0), ("t", 1)


def _asks(story: Story, epoch: int, *, owns: tuple[Any, ...] | None = None, **columns: Any) -> Observation:
    body = {**WHOLE, "topic_partitions": None if owns is None else (1,) if owns else ()}
    return story.request(BEAT, "a", member_epoch=epoch, **{"member": "m", "partitions": owns or (), "body": body, **columns})


def _beat(story: Story, epoch: int, *, gets: int, owns: tuple[Any, ...] | None = None, target: tuple[Any, ...] | None = None) -> None:
    body: dict[str, Any] = {"assignment": None if target is None else {}}
    story.answer(_asks(story, epoch, owns=owns), member_epoch=gets, body=body, partitions=target or ())


def _joined(*target: Any) -> Story:
    story = Story()
    _beat(story, 0, gets=1, owns=(), target=target)
    return story


@pytest.mark.parametrize("profile", ["kafka-4.0", "kafka-4.4"])
@pytest.mark.parametrize("make", CONSUMER_CHECKERS.members)
def test_members_that_follow_the_answers_are_not_blamed(profile: str, make: Any) -> None:
    traces = [trace_of(profile, seed, 60) for seed in range(6)]

    assert [finding for trace in traces for finding in findings_of(make(), trace)] == []


@pytest.mark.requirement("CGP-17")
@pytest.mark.parametrize(
    ("member", "epoch", "requirements"), [("m", 1, []), ("m", 7, ["CGP-17"]), ("m", -1, ["CGP-17"]), ("", -1, []), ("a stranger's", 7, [])]
)
def test_a_commit_within_a_transaction_names_its_member_with_an_epoch_that_the_member_got(member: str, epoch: int, requirements: list[str]) -> None:
    story = _joined()
    _beat(story, 1, gets=1)

    story.exchange(Api.TXN_OFFSET_COMMIT, "producer-1", member=member, generation=epoch)

    assert [finding.requirement for finding in findings(EpochsGiven, story)] == requirements


@pytest.mark.requirement("CGI-18", "CGP-04")
def test_an_epoch_that_was_never_given_is_found_and_one_that_was_is_not() -> None:
    story = _joined()
    _beat(story, 1, gets=1)
    story.exchange(Api.OFFSET_COMMIT, "a", member="m", generation=1)
    assert findings(EpochsGiven, story) == []

    _asks(story, 7)
    story.exchange(Api.OFFSET_COMMIT, "a", member="m", generation=9)
    assert [finding.requirement for finding in findings(EpochsGiven, story)] == ["CGI-18", "CGP-04"]


def test_a_commit_of_a_member_of_the_other_protocol_is_none_of_this() -> None:
    story = Story()
    story.exchange(Api.OFFSET_COMMIT, "a", member="m", generation=9)

    assert findings(EpochsGiven, story) == []


@pytest.mark.requirement("CGV-11")
@pytest.mark.parametrize(("epoch", "requirements"), [(1, ["CGV-11"]), (0, [])])
def test_after_its_leave_a_member_only_joins(epoch: int, requirements: list[str]) -> None:
    story = _joined()
    _beat(story, -1, gets=-1)
    _asks(story, epoch, owns=())

    assert [finding.requirement for finding in findings(EpochsGiven, story)] == requirements


@pytest.mark.parametrize(("after_ms", "requirements"), [(20, []), (3_000, ["CGV-11"])])
def test_a_heartbeat_on_another_connection_may_have_been_on_its_way_when_the_member_left(after_ms: int, requirements: list[str]) -> None:
    story = _joined()
    _beat(story, -1, gets=-1)
    _asks(story.at(story.trace[-1].at_ms + after_ms), 1, owns=(), connection=2)

    assert [finding.requirement for finding in findings(EpochsGiven, story)] == requirements


@pytest.mark.requirement("CGI-19")
@pytest.mark.parametrize(("owns", "requirements"), [((T0,), []), ((T0, T1), ["CGI-19"])])
def test_a_member_owns_its_assignment(owns: tuple[Any, ...], requirements: list[str]) -> None:
    story = _joined(T0)
    _beat(story, 1, gets=1, owns=owns)

    assert [finding.requirement for finding in findings(OwnedWereGiven, story)] == requirements


def _closes(story: Story) -> None:
    story.see("event", who="link", connection=1, body={"name": "closed"})


@pytest.mark.requirement("CGI-17", "CGC-27")
@pytest.mark.parametrize(("after_ms", "epoch", "is_closed", "count"), [
    (100, 1, False, 1),
    (100, -1, False, 0),
    (100, 1, True, 0),
    (5_000, 1, False, 0),
], ids=["two at once", "the leave", "a connection that ended", "a heartbeat that was given up"])  # fmt: skip
@pytest.mark.parametrize("connection", [1, 2])
def test_one_heartbeat_is_under_way_at_a_time(connection: int, after_ms: int, epoch: int, is_closed: bool, count: int) -> None:
    story = _joined()
    first = _asks(story.at(1_000), 1)
    if is_closed:
        _closes(story)
    second = _asks(story.at(1_000 + after_ms), epoch, connection=connection)
    if not is_closed:
        story.answer(first, member_epoch=1)
    story.answer(second, member_epoch=1)

    assert [finding.requirement for finding in findings(OneHeartbeatAtATime, story)] == ["CGI-17"] * count


@pytest.mark.parametrize(("connection", "is_answered", "count"), [(1, False, 1), (1, True, 0), (2, False, 0), (2, True, 0)])
def test_a_heartbeat_whose_answer_was_never_recorded_may_have_been_given_up(connection: int, is_answered: bool, count: int) -> None:
    story = _joined()
    _asks(story.at(1_000), 1)
    second = _asks(story.at(1_100), 1, connection=connection)
    if is_answered:  # passed over, the first one's answer is missing in the trace
        story.at(1_900).answer(second, member_epoch=1)
    story.at(9_000).kit("mark", mark="later")

    assert len(findings(OneHeartbeatAtATime, story)) == count


@pytest.mark.parametrize(("closed_ms", "count"), [(1_150, 0), (4_000, 1)])
def test_two_heartbeats_on_a_connection_that_is_silent_are_two_unless_it_had_ended_by_then(closed_ms: int, count: int) -> None:
    story = _joined()
    _asks(story.at(1_000), 1)
    _asks(story.at(1_100), 1)
    _closes(story.at(closed_ms))

    assert len(findings(OneHeartbeatAtATime, story)) == count


@pytest.mark.parametrize(("closed_ms", "count"), [(1_150, 0), (4_000, 1)])
def test_a_client_knows_of_the_end_of_its_connection_before_the_answer_that_nobody_reads_is_recorded(closed_ms: int, count: int) -> None:
    story = _joined()
    first = _asks(story.at(1_000), 1)
    _asks(story.at(1_100), 1, connection=2)
    story.answer(first, member_epoch=1)
    _closes(story.at(closed_ms))

    assert len(findings(OneHeartbeatAtATime, story)) == count


@pytest.mark.requirement("CGC-07")
@pytest.mark.parametrize(("lack", "count"), [
    ({}, 0), ({"rebalance_timeout_ms": -1}, 1), ({"topic_partitions": None}, 1), ({"topic_partitions": (1,)}, 1), ({"subscribed_topic_names": None}, 1),
    ({"subscribed_topic_names": None, "subscribed_topic_regex": "t.*"}, 0),
])  # fmt: skip
def test_a_join_says_all_that_there_is_to_say(lack: dict[str, Any], count: int) -> None:
    story = Story()
    _asks(story, 0, body={**WHOLE, **lack})

    assert [finding.requirement for finding in findings(JoinsAreWhole, story)] == ["CGC-07"] * count


@pytest.mark.requirement("CGP-14")
@pytest.mark.parametrize(("partition", "is_driven", "requirements"), [(T0, True, ["CGP-14"]), (T1, True, []), (T0, False, [])])
def test_what_was_given_up_is_fetched_no_more(partition: Any, is_driven: bool, requirements: list[str]) -> None:
    story = Story()
    if is_driven:
        story.kit("command", "a", command="subscribe")
    _beat(story, 0, gets=1, owns=(), target=(T0, T1))
    _beat(story, 1, gets=1, target=(T1,))
    _beat(story, 1, gets=2, owns=(T1,))
    for at_ms in (10_000, 10_500, 11_000):
        story.at(at_ms).request(Api.FETCH, "a", offsets=((*partition, 5),), connection=3)

    assert [finding.requirement for finding in findings(FetchesEndWithTheAcknowledgement, story)] == requirements


@pytest.mark.requirement("CGC-01")
def test_a_heartbeat_without_a_group_or_a_member_is_found_and_a_join_of_version_0_is_none() -> None:
    story = _joined()
    _asks(story, 0, member="", version=0)
    assert findings(HeartbeatsNameTheirMember, story) == []

    _asks(story, 0, member="", version=1)
    _asks(story, 1, member="", version=0)
    _asks(story, 1, group="", version=1)
    assert [finding.observed for finding in findings(HeartbeatsNameTheirMember, story)] == [
        "A heartbeat came without a member id.",
        "A heartbeat came without a member id.",
        "A heartbeat came without a group id.",
    ]


@pytest.mark.requirement("CGP-15")
def test_a_commit_with_the_epoch_of_a_membership_that_ended_is_found_but_for_one_that_was_on_its_way() -> None:
    story = _joined()
    _beat(story, -1, gets=-1)
    story.exchange(Api.OFFSET_COMMIT, "a", member="m", generation=1)
    story.at(5_000)
    story.exchange(Api.OFFSET_COMMIT, "a", member="m", generation=-1)
    assert findings(EpochsGiven, story) == []

    story.exchange(Api.OFFSET_COMMIT, "a", member="m", generation=1)
    assert [finding.requirement for finding in findings(EpochsGiven, story)] == ["CGP-15"]

    again = _joined()
    _beat(again, -1, gets=-1)
    again.at(5_000)
    _beat(again, 0, gets=1, owns=(), target=())
    again.exchange(Api.OFFSET_COMMIT, "a", member="m", generation=1)
    assert findings(EpochsGiven, again) == []


def _fetching(story: EpochStory, *at_ms: float) -> list[str]:
    for ms in at_ms:
        story.at(ms).request(Api.FETCH, offsets=(("t", 1, 10),))
    return [finding.requirement for finding in findings(FetchesEndWithTheAcknowledgement, story)]


def _driven() -> EpochStory:
    story = EpochStory()
    story.kit("command", "m0", command="subscribe")
    return story.settled()


@pytest.mark.requirement("CGP-14")
@pytest.mark.parametrize("how", ["refused", "left"])
@pytest.mark.parametrize(("then", "requirements"), [("nothing", []), ("called back", ["CGP-14"]), ("joined", ["CGP-14"])])
def test_a_leave_or_a_refusal_acknowledges_nothing_until_the_callback_or_the_next_join(how: str, then: str, requirements: list[str]) -> None:
    story = _driven()
    story.hb(-1) if how == "left" else story.hb(1, error=110)
    if then == "called back":
        story.partitions("lost", *BOTH)
        story.tell("callback_done")
    elif then == "joined":
        story.hb(0, gets=2, gives=BOTH[:1])

    assert _fetching(story, 2_000, 4_000) == requirements


def test_what_a_member_is_given_again_it_fetches() -> None:
    story = _driven()
    story.hb(1, error=110)
    story.partitions("lost", *BOTH)
    story.tell("callback_done")
    story.hb(0, gets=2, gives=BOTH)

    assert _fetching(story, 2_000, 4_000) == []
