from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
import trio
import trio.testing
from tests.harness.subjects.brokers.scripted_broker import ALL, Answer, ScriptedBroker, metadata

from groupproof.coordinator.machine.storage import partition_of
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.readiness import (
    create_topics,
    delete_groups,
    delete_topics,
    groups_over,
    wait_until_coordinating,
    wait_until_up,
)
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import WireRequest

HERE = ("h", 9092)


CLASSIC_ALONE: Mapping[Api, tuple[int, int]] = {api: span for api, span in ALL.items() if api is not Api.CONSUMER_GROUP_HEARTBEAT}


def _with(answer: Answer, work: Callable[[ScriptedBroker], Awaitable[Any]], versions: Mapping[Api, tuple[int, int]] = CLASSIC_ALONE) -> Any:
    """Return what `work` returns with such a broker, in virtual time."""
    got: list[Any] = []
    raised: list[BrokenEnvironment] = []

    async def main() -> None:
        async with ScriptedBroker.up(answer, versions) as broker:
            try:
                got.append(await work(broker))
            except BrokenEnvironment as error:
                raised.append(error)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    if raised:
        raise raised[0]
    return got[0]


def _found(code: int = 0) -> Mapping[str, Any]:
    return {"coordinators": ({"key": "g", "node_id": 0, "host": "h", "port": 9092, "error_code": code},)}


def _in_turn(**answers: list[Mapping[str, Any]]) -> Answer:
    """Give each API's answers in turn, the last one for ever."""
    left = {name: list(value) for name, value in answers.items()}

    def answer(request: WireRequest) -> Mapping[str, Any]:
        own = left[request.api.name]
        return own.pop(0) if len(own) > 1 else own[0]

    return answer


def test_a_cluster_is_up_when_every_broker_knows_them_all() -> None:
    answer = _in_turn(METADATA=[metadata(brokers=1), metadata(brokers=2)])
    _with(answer, lambda broker: wait_until_up(broker.connect, [HERE, ("h", 9093)], list))

    with pytest.raises(BrokenEnvironment, match=r"did not come up within 3 s: h:9092 knows of 1 of 2 brokers"):
        _with(_in_turn(METADATA=[metadata()]), lambda broker: wait_until_up(broker.connect, [HERE, HERE], list, within_s=3))


def test_a_dead_broker_is_not_waited_for() -> None:
    with pytest.raises(BrokenEnvironment, match="the brokers did not come up: broker 0 ended"):
        _with(_in_turn(), lambda broker: wait_until_up(broker.connect, [HERE], lambda: ["broker 0 ended"]))


def test_one_group_for_each_partition_is_found_and_answered() -> None:
    answer = _in_turn(FIND_COORDINATOR=[_found(15), _found()], HEARTBEAT=[{"error_code": 14}, {"error_code": 16}, {"error_code": 25}])
    asked: Counter[Api] = Counter()

    async def work(broker: ScriptedBroker) -> None:
        await wait_until_coordinating(broker.connect, HERE, 3, list)
        asked.update(request.api for request in broker.asked)

    _with(answer, work)
    assert asked == {Api.FIND_COORDINATOR: 6, Api.HEARTBEAT: 5}


def test_a_cluster_that_never_loads_its_groups_is_reported_with_what_it_answers() -> None:
    answer = _in_turn(FIND_COORDINATOR=[_found()], HEARTBEAT=[{"error_code": 14}])
    with pytest.raises(BrokenEnvironment, match="coordinate no group within 2 s: the coordinator answers COORDINATOR_LOAD_IN_PROGRESS"):
        _with(answer, lambda broker: wait_until_coordinating(broker.connect, HERE, 1, list, within_s=2))


@pytest.mark.parametrize("partitions", [1, 5, 50])
def test_groups_lie_in_all_partitions(partitions: int) -> None:
    assert {partition_of(group, partitions) for group in groups_over(partitions)} == set(range(partitions))


def test_a_new_topic_is_waited_for_until_the_group_coordinator_assigns_it() -> None:
    beaten = {"error_code": 0, "member_id": "m", "member_epoch": 1, "heartbeat_interval_ms": 5_000, "assignment": None}
    assigned = {**beaten, "assignment": {"topic_partitions": ({"topic_id": "11111111-1111-1111-1111-111111111111", "partitions": (0,)},)}}
    answer = _in_turn(
        METADATA=[metadata(topics={"t": 0}), metadata(), metadata(topics={"t": 1})], CREATE_TOPICS=[{"topics": ({"name": "t", "error_code": 0},)}],
        FIND_COORDINATOR=[_found()], CONSUMER_GROUP_HEARTBEAT=[beaten, beaten, assigned], DELETE_GROUPS=[{"results": ()}],
    )  # fmt: skip

    async def work(broker: ScriptedBroker) -> int:
        await create_topics(broker.connect, HERE, {"t": 1}, replicas=1)
        return sum(request.api is Api.CONSUMER_GROUP_HEARTBEAT for request in broker.asked)

    assert _with(answer, work, ALL) == 4, "three until the topic is assigned, and one to leave"


def test_topics_that_are_missing_are_created_and_waited_for() -> None:
    answer = _in_turn(
        METADATA=[metadata(topics={"t": 0, "u": 1}), metadata(topics={"t": 2, "u": 1}), metadata(topics={"t": 4, "u": 1})],
        CREATE_TOPICS=[{"topics": ({"name": "t", "error_code": 0},)}],
    )
    asked: list[WireRequest] = []

    async def work(broker: ScriptedBroker) -> list[str]:
        made = await create_topics(broker.connect, HERE, {"t": 4, "u": 1}, replicas=2)
        asked.extend(broker.asked)
        return made

    assert _with(answer, work) == ["t"]
    creations = [request.body["topics"] for request in asked if request.api is Api.CREATE_TOPICS]
    assert [(creation["name"], creation["num_partitions"], creation["replication_factor"]) for creation in creations[0]] == [("t", 4, 2)]
    assert len(creations) == 1


def test_a_broker_that_cannot_create_yet_is_asked_again() -> None:
    refused = {"topics": ({"name": "t", "error_code": 38, "error_message": "1 broker"},)}
    answer = _in_turn(
        METADATA=[*(metadata(topics={"t": 0}) for _ in range(4)), metadata(topics={"t": 1})],
        CREATE_TOPICS=[refused, {"topics": ({"name": "t", "error_code": 0},)}],
    )

    assert _with(answer, lambda broker: create_topics(broker.connect, HERE, {"t": 1}, replicas=2)) == ["t"]


def test_topics_are_made_and_deleted_by_the_controller() -> None:
    controlled = {**metadata(brokers=2, topics={"t": 0}), "controller_id": 1}
    answer = _in_turn(
        METADATA=[controlled, controlled, {**controlled, **metadata(topics={"t": 1})}, controlled],
        CREATE_TOPICS=[{"topics": ({"name": "t", "error_code": 0},)}],
        DELETE_TOPICS=[{"responses": ()}],
    )
    connected: list[tuple[str, int]] = []

    async def work(broker: ScriptedBroker) -> None:
        async def connect(host: str, port: int) -> trio.abc.Stream:
            connected.append((host, port))
            return await broker.connect(host, port)

        await create_topics(connect, HERE, {"t": 1}, replicas=1)
        await delete_topics(connect, HERE, ["t"])

    _with(answer, work)
    controller = (controlled["brokers"][1]["host"], controlled["brokers"][1]["port"])
    assert connected == [HERE, controller, HERE, HERE, HERE, controller]


def test_a_creation_that_is_refused_says_what_to_do() -> None:
    answer = _in_turn(METADATA=[metadata(topics={"t": 0})], CREATE_TOPICS=[{"topics": ({"name": "t", "error_code": 29, "error_message": "no"},)}])
    with pytest.raises(BrokenEnvironment, match=r"topic 't' can't be created: TOPIC_AUTHORIZATION_FAILED \(no\); create it, or allow"):
        _with(answer, lambda broker: create_topics(broker.connect, HERE, {"t": 1}, replicas=1))


def test_a_topic_with_too_few_partitions_is_not_touched() -> None:
    with pytest.raises(BrokenEnvironment, match="topic 't' has 1 partitions, 4 are needed"):
        _with(_in_turn(METADATA=[metadata(topics={"t": 1})]), lambda broker: create_topics(broker.connect, HERE, {"t": 4}, replicas=1))


def test_no_topics_need_no_broker() -> None:
    assert _with(_in_turn(), lambda broker: create_topics(broker.connect, HERE, {}, replicas=1)) == []


def test_topics_are_deleted_and_those_that_stay_are_reported() -> None:
    answer = _in_turn(
        METADATA=[metadata()],
        DELETE_TOPICS=[{"responses": ({"name": "t", "error_code": 0}, {"name": "u", "error_code": 29}, {"name": "v", "error_code": 3})}],
    )

    assert _with(answer, lambda broker: delete_topics(broker.connect, HERE, ["t", "u", "v"])) == ["topic u: TOPIC_AUTHORIZATION_FAILED"]
    assert _with(_in_turn(), lambda broker: delete_topics(broker.connect, HERE, [])) == []


def test_groups_are_deleted_each_by_its_coordinator() -> None:
    answer = _in_turn(FIND_COORDINATOR=[_found()], DELETE_GROUPS=[{"results": ({"group_id": "g", "error_code": code},)} for code in (0, 30, 69)])

    assert _with(answer, lambda broker: delete_groups(broker.connect, HERE, ["g", "h", "i"])) == ["group h: GROUP_AUTHORIZATION_FAILED"]


def test_members_are_made_to_leave_so_that_their_group_can_go() -> None:
    left: list[Any] = []
    members = ({"member_id": "a"}, {"member_id": "b", "group_instance_id": "i"})

    def answer(request: WireRequest) -> Mapping[str, Any]:
        if request.api is Api.LEAVE_GROUP:
            left.extend((member["member_id"], member["group_instance_id"]) for member in request.body["members"])
        codes = {"DELETE_GROUPS": {"results": ({"group_id": "g", "error_code": 68 if len(left) < 2 else 0},)}, "FIND_COORDINATOR": _found()}
        return {**codes, "DESCRIBE_GROUPS": {"groups": ({"group_id": "g", "members": members},)}, "LEAVE_GROUP": {}}[request.api.name]

    assert _with(answer, lambda broker: delete_groups(broker.connect, HERE, ["g"])) == []
    assert left == [("a", None), ("b", "i")]


def test_a_group_that_stays_full_whoever_leaves_is_reported() -> None:
    full = {"results": ({"group_id": "g", "error_code": 68},)}
    answer = _in_turn(FIND_COORDINATOR=[_found()], DELETE_GROUPS=[full], DESCRIBE_GROUPS=[{"groups": ({"group_id": "g"},)}])

    assert _with(answer, lambda broker: delete_groups(broker.connect, HERE, ["g"])) == ["group g: NON_EMPTY_GROUP"]


def test_a_broker_that_deletes_no_groups_is_reported() -> None:
    left = _with(_in_turn(FIND_COORDINATOR=[_found()]), lambda broker: delete_groups(broker.connect, HERE, ["g"]), {Api.FIND_COORDINATOR: (0, 1)})

    assert left == ["group g: it does not speak DeleteGroups"]
