"""What is left of a request about groups, and what the client is told, where it may not do all that it asks for; under trio's MockClock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import trio
from tests.coordinator.helpers import Client, Stage, assigned, staged, virtually
from tests.coordinator.machine.consumer.dialect_at_hand import profile_of
from tests.coordinator.machine.consumer.measured_answers import RELEASES, Observed, measured

from groupproof.coordinator.broker.rights.authorizer import Authorizer, Denial, Operation
from groupproof.coordinator.broker.rights.permitted_requests import Asker, permitted_part
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.protocol.faults import Duplicate, Fault, Selector
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire import consumer_messages as consumer
from groupproof.protocol.wire import messages

NO_GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED
NO_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
NOBODY = "00000000-0000-0000-0000-00000000beef"
JOIN: Mapping[str, Any] = {
    "group_id": "g", "member_id": "a", "member_epoch": 0, "rebalance_timeout_ms": 60_000, "subscribed_topic_names": ("t",), "topic_partitions": (),
}  # fmt: skip
BY_REGEX: Mapping[str, Any] = {**JOIN, "subscribed_topic_names": None, "subscribed_topic_regex": "[tu]"}


def _deny(stage: Stage, *denials: str) -> None:
    stage.cluster.deny(map(Denial.of, denials))


async def _beats(client: Client, body: Mapping[str, Any]) -> dict[str, Any]:
    return await client.ask(Api.CONSUMER_GROUP_HEARTBEAT, body, 1)


async def _described(client: Client, *groups: str) -> list[dict[str, Any]]:
    return list((await client.ask(Api.CONSUMER_GROUP_DESCRIBE, {"group_ids": groups}, 1))["groups"])


async def _beaten(release: str, body: Mapping[str, Any], *denials: str, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what a heartbeat is answered while this is denied."""
    async with staged(profile=profile_of(release), topics={"t": 4, "u": 1}, settings=settings or {}) as stage:
        _deny(stage, *denials)
        return await _beats(stage.connect("app"), body)


def _differs(step: str, release: str, answer: Mapping[str, Any]) -> str:
    return Observed(code=answer["error_code"]).differs(measured()[step][release])


# The consumer protocol


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.requirement("CGH-36")
@virtually
async def test_a_heartbeat_to_a_group_that_the_client_may_not_read_is_refused_whatever_its_shape(release: str) -> None:
    nameless = {**JOIN, "member_id": ""}

    assert not _differs("V44", release, await _beaten(release, JOIN, "READ group g"))
    assert not _differs("V45", release, await _beaten(release, nameless, "READ group g"))
    assert (await _beaten(release, nameless, "DESCRIBE group g"))["error_code"] == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.requirement("CGH-37")
@virtually
async def test_a_heartbeat_that_names_a_topic_that_the_client_may_not_see_is_refused_whatever_its_shape(release: str) -> None:
    named = {**JOIN, "subscribed_topic_names": ("t", "u")}
    untimed = {**named, "rebalance_timeout_ms": -1}

    assert not _differs("V46", release, await _beaten(release, named, "DESCRIBE topic u"))
    assert not _differs("V47", release, await _beaten(release, untimed, "DESCRIBE topic u"))
    assert (await _beaten(release, named, "READ topic u"))["error_code"] == 0
    assert (await _beaten(release, named, "READ group g", "DESCRIBE topic u"))["error_code"] == NO_GROUP


@pytest.mark.requirement("CGH-38")
@pytest.mark.parametrize("denial", ["READ group g", "DESCRIBE topic t"])
@virtually
async def test_what_is_denied_is_refused_without_a_message(denial: str) -> None:
    answer = await _beaten("4.4.0", JOIN, denial)

    assert answer["error_code"] in (NO_GROUP, NO_TOPIC)
    assert answer["error_message"] is None


@virtually
async def test_a_broker_without_the_protocol_says_so_first() -> None:
    answer = await _beaten("4.1.1", JOIN, "READ group g", settings={"group.coordinator.rebalance.protocols": "classic"})

    assert answer["error_code"] == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("release", RELEASES)
@virtually
async def test_an_expression_matches_what_the_client_may_see_as_it_was_measured(release: str) -> None:
    async with staged(profile=profile_of(release), topics={"t": 4, "u": 1}) as stage:
        _deny(stage, "DESCRIBE topic u")
        client = stage.connect("app")
        joined = await _beats(client, BY_REGEX)
        await trio.sleep(2)
        beaten = await _beats(client, {"group_id": "g", "member_id": "a", "member_epoch": joined["member_epoch"]})
        (described,) = await _described(client, "g")

    assert not _differs("V48", release, joined)
    assert joined["assignment"]["topic_partitions"] == ()
    shares = [{"t": part["partitions"]} for part in beaten["assignment"]["topic_partitions"]]
    assert not Observed(code=beaten["error_code"], assignment=shares[0], tells_assignment=True).differs(measured()["V49"][release])
    assert [part["topic_name"] for part in described["members"][0]["assignment"]["topic_partitions"]] == ["t"]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.requirement("CGD-14")
@virtually
async def test_a_group_that_the_client_may_not_see_is_not_described(release: str) -> None:
    async with staged(profile=profile_of(release)) as stage:
        client = stage.connect("app")
        await _beats(client, JOIN)
        _deny(stage, "DESCRIBE group h")
        beside, described = await _described(client, "g", "h")
        (alone,) = await _described(client, "h")

    assert (described["group_id"], described["error_code"]) == ("g", 0)
    assert not _differs("V50", release, beside)
    assert beside == alone
    assert (alone["group_id"], alone["group_state"], alone["members"]) == ("h", "", ())


@pytest.mark.requirement("CGD-15")
@virtually
async def test_a_group_with_a_topic_that_the_client_may_not_see_is_not_described() -> None:
    async with staged(profile="kafka-4.4") as stage:
        client = stage.connect("app")
        await _beats(client, JOIN)
        _deny(stage, "DESCRIBE topic t client=app", "READ topic t")
        (described,) = await _described(client, "g")
        (to_another,) = await _described(stage.connect("other"), "g")

    assert (described["group_id"], described["error_code"], described["members"]) == ("g", NO_TOPIC, ())
    assert described["error_message"] == "The group has described topic(s) that the client is not authorized to describe."
    assert (to_another["error_code"], len(to_another["members"])) == (0, 1)


# Pure


def _part(message: Any, *denials: str, version: int = 9) -> Any:
    rights = Authorizer(frozenset(map(Denial.of, denials))).rights("app")
    return permitted_part(message, Asker(rights=rights, version=version, settings=Settings.of({}, "kafka-4.1")))


def _asked(message: Any, *denials: str, version: int = 9) -> Any:
    """Return what the coordinator is asked."""
    part = _part(message, *denials, version=version)
    return message if part is None else part.message


def _assignment(topic: str) -> consumer.DescribedAssignment:
    return consumer.DescribedAssignment(topic_partitions=(consumer.DescribedPartitions(topic_id=topic, topic_name=topic, partitions=(0,)),))


@pytest.mark.requirement("CGD-15")
@pytest.mark.parametrize(("assigned_topic", "target", "code"), [("t", "t", 0), ("u", "t", NO_TOPIC), ("t", "u", NO_TOPIC)])
def test_a_topic_of_a_target_counts_as_one_of_an_assignment(assigned_topic: str, target: str, code: int) -> None:
    part = _part(consumer.ConsumerGroupDescribeRequest(group_ids=("g",)), "DESCRIBE topic u")
    member = consumer.DescribedConsumer(member_id="a", assignment=_assignment(assigned_topic), target_assignment=_assignment(target))
    group = consumer.DescribedConsumerGroup(group_id="g", group_state="Stable", members=(consumer.DescribedConsumer(member_id="b"), member))
    (described,) = part.answered(consumer.ConsumerGroupDescribeResponse(groups=(group,))).groups

    assert (described.error_code, len(described.members)) == (code, 0 if code else 2)


_GROUP: Mapping[str, Any] = {"group_id": "g", "member_id": "m"}
_OFFSETS = (messages.CommitTopic(name="t", partitions=(messages.CommitPartition(partition_index=1, committed_offset=5),)),)
_UNCOMMITTED = (messages.CommittedTopic(name="t", partitions=(messages.CommittedPartition(partition_index=1, error_code=NO_GROUP),)),)
_UNFETCHED = (messages.FetchedTopic(name="t", partitions=(messages.FetchedPartition(partition_index=1, error_code=NO_GROUP),)),)

_JOIN = messages.JoinGroupRequest(session_timeout_ms=1, protocol_type="c", protocols=(), **_GROUP)
_SYNC = messages.SyncGroupRequest(generation_id=1, protocol_type="c", protocol_name="p", **_GROUP)
_COMMIT = messages.OffsetCommitRequest(generation_id=1, topics=_OFFSETS, **_GROUP)
_COMMIT_IN_TRANSACTION = messages.TxnOffsetCommitRequest(transactional_id="x", producer_id=1, producer_epoch=1, topics=_OFFSETS, **_GROUP)
_FETCH = messages.OffsetFetchRequest(groups=(messages.FetchGroup(group_id="g", topics=(messages.FetchTopic(name="t", partition_indexes=(1,)),)),))
_UNDESCRIBED = messages.DescribeGroupsResponse(groups=(messages.DescribedGroup(group_id="g", error_code=NO_GROUP),))
_UNDELETED = messages.DeleteGroupsResponse(results=(messages.DeletedGroup(group_id="g", error_code=NO_GROUP),))


def _no_join(protocol: str | None) -> messages.JoinGroupResponse:
    return messages.JoinGroupResponse(error_code=NO_GROUP, generation_id=-1, protocol_name=protocol, member_id="")


def _no_offsets(*topics: messages.FetchedTopic) -> messages.OffsetFetchResponse:
    return messages.OffsetFetchResponse(groups=(messages.FetchedGroup(group_id="g", topics=topics, error_code=NO_GROUP),))


@pytest.mark.parametrize(
    ("message", "version", "denied", "answer"),
    [
        (_JOIN, 9, "READ", _no_join(None)),
        (_JOIN, 6, "READ", _no_join("")),
        (_SYNC, 5, "READ", messages.SyncGroupResponse(error_code=NO_GROUP)),
        (replace(_SYNC, protocol_name=None), 4, "READ", messages.SyncGroupResponse(error_code=NO_GROUP)),
        (replace(_SYNC, protocol_name=None), 5, "READ", messages.SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)),
        (messages.HeartbeatRequest(generation_id=1, **_GROUP), 4, "READ", messages.HeartbeatResponse(error_code=NO_GROUP)),
        (messages.LeaveGroupRequest(group_id="g", members=()), 5, "READ", messages.LeaveGroupResponse(error_code=NO_GROUP)),
        (_COMMIT, 8, "READ", messages.OffsetCommitResponse(topics=_UNCOMMITTED)),
        (_COMMIT_IN_TRANSACTION, 3, "READ", messages.TxnOffsetCommitResponse(topics=_UNCOMMITTED)),
        (messages.OffsetDeleteRequest(group_id="g"), 0, "DELETE", messages.OffsetDeleteResponse(error_code=NO_GROUP)),
        (messages.DescribeGroupsRequest(groups=("g",)), 5, "DESCRIBE", _UNDESCRIBED),
        (messages.DeleteGroupsRequest(groups_names=("g", "g")), 2, "DELETE", _UNDELETED),
        (_FETCH, 2, "DESCRIBE", _no_offsets()),
        (_FETCH, 1, "DESCRIBE", _no_offsets(*_UNFETCHED)),
    ],
)
def test_a_request_about_a_group_that_is_denied_is_answered_in_its_own_shape(message: Any, version: int, denied: str, answer: Any) -> None:
    others = [f"{operation} group g" for operation in Operation if operation != denied]

    assert _part(message, f"{denied} group g", version=version) == answer
    assert _asked(message, *others, version=version) == message


def test_of_several_groups_those_are_asked_about_that_the_client_may_see() -> None:
    described = _part(messages.DescribeGroupsRequest(groups=("g", "h")), "DESCRIBE group g")
    deleted = _part(messages.DeleteGroupsRequest(groups_names=("g", "h", "h")), "DELETE group g")
    of_h = messages.DescribeGroupsResponse(groups=(messages.DescribedGroup(group_id="h"),))

    assert (described.message.groups, deleted.message.groups_names) == (("h",), ("h",))
    assert [(group.group_id, group.error_code) for group in described.answered(of_h).groups] == [("g", NO_GROUP), ("h", 0)]
    answer = deleted.answered(messages.DeleteGroupsResponse(results=(messages.DeletedGroup(group_id="h"),)))
    assert [(group.group_id, group.error_code) for group in answer.results] == [("h", 0), ("g", NO_GROUP)]


def test_all_groups_are_listed_by_who_may_describe_the_cluster() -> None:
    assert _part(messages.ListGroupsRequest(), "DESCRIBE group g") is None


def _fetch(*names: str) -> tuple[messages.FetchTopic, ...]:
    return tuple(messages.FetchTopic(name=name, partition_indexes=(0,)) for name in names)


def _fetched(group: str, *names: str, error: int = 0) -> messages.FetchedGroup:
    topics = tuple(messages.FetchedTopic(name=name, partitions=(messages.FetchedPartition(partition_index=0, committed_offset=5),)) for name in names)
    return messages.FetchedGroup(group_id=group, topics=topics, error_code=error)


def test_offsets_of_topics_are_fetched_that_the_client_may_see() -> None:
    groups = (messages.FetchGroup(group_id="f", topics=_fetch("t", "u")), messages.FetchGroup(group_id="g"), messages.FetchGroup(group_id="h"))
    part = _part(messages.OffsetFetchRequest(groups=groups), "DESCRIBE group g", "DESCRIBE topic u")
    answer = part.answered(messages.OffsetFetchResponse(groups=(_fetched("f", "t"), _fetched("h", "t", "u"))))

    assert [(group.group_id, group.topics) for group in part.message.groups] == [("f", _fetch("t")), ("h", None)]
    assert [(group.group_id, group.error_code) for group in answer.groups] == [("f", 0), ("g", NO_GROUP), ("h", 0)]
    codes = [[(topic.name, topic.partitions[0].error_code) for topic in group.topics] for group in answer.groups]
    assert codes == [[("t", 0), ("u", NO_TOPIC)], [], [("t", 0)]], "who asks for all topics hears nothing of one that is denied"
    assert answer.groups[0].topics[1].partitions[0].committed_offset == -1


def test_a_group_whose_offsets_are_refused_as_a_whole_says_nothing_of_topics() -> None:
    part = _part(messages.OffsetFetchRequest(groups=(messages.FetchGroup(group_id="f", topics=_fetch("u")),)), "DESCRIBE topic u")
    refused = messages.OffsetFetchResponse(groups=(_fetched("f", error=ErrorCode.UNKNOWN_MEMBER_ID),))

    assert part.answered(refused) == refused


def test_offsets_of_topics_are_deleted_that_the_client_may_read() -> None:
    topics = tuple(messages.OffsetDeleteTopic(name=name, partitions=(messages.OffsetDeletePartition(partition_index=0),)) for name in "tu")
    request = messages.OffsetDeleteRequest(group_id="g", topics=topics)
    part = _part(request, "READ topic u")
    done = messages.OffsetDeleteResponse(topics=(messages.DeletedOffsetTopic(name="t", partitions=(messages.DeletedOffset(partition_index=0),)),))
    refused = messages.OffsetDeleteResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND)

    assert part.message.topics == topics[:1]
    assert {topic.name: topic.partitions[0].error_code for topic in part.answered(done).topics} == {"t": 0, "u": NO_TOPIC}
    assert part.answered(refused) == refused
    assert _part(request, "DESCRIBE topic u") is None


# The broker


@virtually
async def test_offsets_are_committed_of_topics_that_the_client_may_read() -> None:
    async with staged(topics={"t": 1, "u": 1}) as stage:
        (client,) = await stage.stable("app")
        _deny(stage, "READ topic u")
        both = tuple({"name": name, "partitions": ({"partition_index": 0, "committed_offset": 5},)} for name in ("t", "u", "nowhere"))
        answer = await client.ask(Api.OFFSET_COMMIT, client.who(topics=both))
        only_denied = await client.commit(7, 0, topic="u")
        _deny(stage)
        topics = tuple({"name": name, "partition_indexes": (0,)} for name in "tu")
        fetched = await client.ask(Api.OFFSET_FETCH, {"groups": ({"group_id": "g", "topics": topics},)})

    codes = {topic["name"]: topic["partitions"][0]["error_code"] for topic in answer["topics"]}
    assert codes == {"t": 0, "u": NO_TOPIC, "nowhere": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert only_denied == [NO_TOPIC]
    assert [topic["partitions"][0]["committed_offset"] for topic in fetched["groups"][0]["topics"]] == [5, -1]


@pytest.mark.parametrize(("denials", "codes"), [(["READ group g"], [NO_GROUP, NO_GROUP]), (["READ topic t"], [NO_TOPIC, ErrorCode.UNKNOWN_TOPIC_ID])])
@virtually
async def test_a_commit_by_topic_ids_is_refused_as_one_by_names(denials: list[str], codes: list[int]) -> None:
    async with staged(profile="kafka-4.4") as stage:
        client = stage.connect("app")
        (topic,) = (await client.ask(Api.METADATA, {"topics": None}, 12))["topics"]
        _deny(stage, *denials)
        offsets = ({"partition_index": 0, "committed_offset": 5},)
        topics = tuple({"topic_id": topic_id, "partitions": offsets} for topic_id in (topic["topic_id"], NOBODY))
        answer = await client.ask(Api.OFFSET_COMMIT, {"group_id": "g", "member_id": "", "generation_id": -1, "topics": topics}, 10)

    codes_by_id = {entry["topic_id"]: entry["partitions"][0]["error_code"] for entry in answer["topics"]}
    assert [codes_by_id[topic["topic_id"]], codes_by_id[NOBODY]] == codes


@virtually
async def test_a_join_that_waits_was_allowed_when_it_came() -> None:
    async with staged() as stage:
        first, *_ = await stage.stable("app")
        second = stage.connect("app")
        await second.send(Api.JOIN_GROUP, second.join_body(), 3)
        await trio.testing.wait_all_tasks_blocked()
        _deny(stage, "READ group g")
        refused = await first.heartbeat()
        await trio.sleep(61)
        joined = second.joined(await second.receive())
        synced = await second.sync(**{second.member_id: assigned(0)})

    assert refused == NO_GROUP
    assert joined["error_code"] == 0
    assert synced["error_code"] == NO_GROUP


@virtually
async def test_what_is_denied_to_one_client_another_does() -> None:
    async with staged() as stage:
        client, other = stage.connect("app"), stage.connect("other")
        _deny(stage, "READ group g client=app")

        assert [(await member.join())["error_code"] for member in (client, other)] == [NO_GROUP, 0]
        _deny(stage)
        assert (await client.ask(Api.HEARTBEAT, other.who()))["error_code"] == 0


@virtually
async def test_a_request_that_is_refused_was_processed_as_often_as_a_fault_says() -> None:
    async with staged() as stage:
        client = stage.connect("app")
        _deny(stage, "READ group g")
        stage.cluster.arm(Fault(name="f", selector=Selector(api="Heartbeat"), action=Duplicate()))

        assert await client.heartbeat() == NO_GROUP
        assert len(stage.observations("processed", api="Heartbeat")) == 2
        assert "delivered" in stage.stages("f")
