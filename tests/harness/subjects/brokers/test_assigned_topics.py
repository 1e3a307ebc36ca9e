from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import trio
import trio.testing
from tests.harness.subjects.brokers.scripted_broker import ALL, Answer, ScriptedBroker

from groupproof.harness.subjects.brokers.assigned_topics import WAIT_S, wait_until_assigned
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.message_codec import WireRequest

TOPIC_ID = "11111111-1111-1111-1111-111111111111"


def _assigned(epoch: int, *partitions: int) -> Mapping[str, Any]:
    topics = ({"topic_id": TOPIC_ID, "partitions": partitions},) if partitions else ()
    return {"error_code": 0, "member_id": "m", "member_epoch": epoch, "heartbeat_interval_ms": 5_000, "assignment": {"topic_partitions": topics}}


def _refused(code: ErrorCode) -> Mapping[str, Any]:
    return {"error_code": code, "member_id": None, "member_epoch": 0, "heartbeat_interval_ms": 0, "assignment": None}


NOTHING_NEW = {**_assigned(2), "assignment": None}


def _coordinators(*heartbeats: Mapping[str, Any] | None, ports: tuple[int, ...] = (9092,)) -> Answer:
    """Answer heartbeats in turn, the last answer for ever (None: close the connection); groups are coordinated at `ports` in turn."""
    left = list(heartbeats)

    def answer(request: WireRequest) -> Mapping[str, Any] | None:
        if request.api is Api.FIND_COORDINATOR:
            keys = enumerate(request.body["coordinator_keys"])
            found = ({"key": key, "node_id": 0, "host": "h", "port": ports[number % len(ports)], "error_code": 0} for number, key in keys)
            return {"coordinators": tuple(found)}
        if request.api is Api.DELETE_GROUPS:
            return {"results": ()}
        if request.body["member_epoch"] == -1:
            return {**NOTHING_NEW, "member_epoch": -1}
        return left.pop(0) if len(left) > 1 else left[0]

    return answer


def _waited(answer: Answer, versions: Mapping[Api, tuple[int, int]] = ALL) -> tuple[list[WireRequest], float]:
    """Return what was asked while the topic `t` of two partitions was waited for, and the seconds."""
    asked: list[WireRequest] = []

    async def main() -> float:
        async with ScriptedBroker.up(answer, versions) as broker:
            began = trio.current_time()
            await wait_until_assigned(broker.connect, ("h", 9092), {"t": 2})
            asked.extend(broker.asked)
            return trio.current_time() - began

    return asked, trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def _epochs(asked: list[WireRequest]) -> list[int]:
    return [request.body["member_epoch"] for request in asked if request.api is Api.CONSUMER_GROUP_HEARTBEAT]


def test_a_topic_is_known_when_all_its_partitions_are_assigned_and_the_group_is_deleted_then() -> None:
    asked, seconds = _waited(_coordinators(_assigned(1), NOTHING_NEW, _assigned(3, 0), _assigned(4, 0, 1)))

    assert _epochs(asked) == [0, 1, 2, 3, -1]
    assert (asked[-1].api, asked[-1].body["groups_names"]) == (Api.DELETE_GROUPS, (asked[1].body["group_id"],))
    assert seconds < 1


@pytest.mark.parametrize("code", [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.UNKNOWN_MEMBER_ID])
def test_a_member_that_must_begin_again_joins_again(code: ErrorCode) -> None:
    assert _epochs(_waited(_coordinators(_assigned(1), _refused(code), _assigned(1, 0, 1)))[0]) == [0, 1, 0, -1]


def test_every_coordinator_is_asked() -> None:
    asked, _ = _waited(_coordinators(_assigned(1, 0, 1), ports=(9092, 9093, 9094)))

    assert len({request.body["group_id"] for request in asked if request.api is Api.CONSUMER_GROUP_HEARTBEAT}) == 3


@pytest.mark.parametrize("code", [ErrorCode.UNSUPPORTED_VERSION, ErrorCode.GROUP_AUTHORIZATION_FAILED])
def test_a_coordinator_that_admits_no_member_is_not_waited_for(code: ErrorCode) -> None:
    asked, seconds = _waited(_coordinators(_refused(code)))

    assert _epochs(asked)[:1] == [0]
    assert seconds < 1


def test_a_broker_without_the_consumer_protocol_is_asked_nothing() -> None:
    assert _waited(_coordinators(None), {api: span for api, span in ALL.items() if api is not Api.CONSUMER_GROUP_HEARTBEAT})[0] == []


def test_a_coordinator_that_is_gone_or_assigns_nothing_is_left_to_the_cases() -> None:
    assert _waited(_coordinators(None))[1] < WAIT_S
    assert _waited(_coordinators(NOTHING_NEW))[1] == pytest.approx(WAIT_S, abs=1)
