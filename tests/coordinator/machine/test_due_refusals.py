from __future__ import annotations

import random
from typing import Any

from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, Reply, Settings
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest
from groupproof.protocol.wire.messages import GroupRequest, HeartbeatRequest, JoinGroupRequest, JoinProtocol, ListGroupsRequest

NOW_MS = 1_000


def arrival(version: int, token: int = 0) -> Arrival:
    return Arrival(token=token, api_version=version, client_id="c", client_host="/127.0.0.1")


def coordinator(settings: dict[str, Any] | None = None, **more: Any) -> Coordinator:
    return Coordinator(settings=Settings.of({"group.initial.rebalance.delay.ms": 0, **(settings or {})}), random=random.Random(1), **more)


def join(**fields: Any) -> JoinGroupRequest:
    return JoinGroupRequest(**{
        "group_id": "g", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000, "member_id": "", "group_instance_id": None,
        "protocol_type": "consumer", "protocols": (JoinProtocol(name="range", metadata=b""),), **fields,
    })  # fmt: skip


def beat(**fields: Any) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(**{
        "group_id": "g", "member_id": "m", "member_epoch": 0, "rebalance_timeout_ms": 10_000, "subscribed_topic_names": ("t",), "topic_partitions": (), **fields,
    })  # fmt: skip


def codes(machine: Coordinator, message: GroupRequest, version: int) -> list[int]:
    return [int(refusal.code) for refusal in machine.due_refusals(message, arrival(version), NOW_MS)]


def test_all_errors_of_a_request_are_reported_in_the_order_of_the_checks() -> None:
    machine = coordinator()

    assert codes(machine, join(group_id="", session_timeout_ms=1, member_id="nobody"), 5) == [24, 26, 25]
    assert codes(machine, join(session_timeout_ms=1), 5) == [26]
    assert codes(machine, join(), 5) == []


def test_what_is_due_is_what_the_machine_answers_and_nothing_is_done() -> None:
    machine = coordinator()
    message = join(session_timeout_ms=1, member_id="nobody")
    first, _ = machine.due_refusals(message, arrival(5), NOW_MS)

    assert machine.view("g") is None
    assert [output.message for output in machine.handle(message, arrival(5), NOW_MS) if isinstance(output, Reply)] == [first.message]


def test_a_broker_that_does_not_coordinate_the_group_refuses_nothing_because_of_its_state() -> None:
    stranger = HeartbeatRequest(group_id="g", generation_id=1, member_id="nobody")

    assert codes(coordinator(), stranger, 3) == [25]
    assert codes(coordinator(partitions=()), stranger, 3) == [16]


def test_a_full_group_may_find_a_stranger_or_a_malformed_heartbeat_first() -> None:
    machine = coordinator({"group.consumer.max.size": 1})
    machine.handle(beat(member_id="a"), arrival(1), NOW_MS)

    assert codes(machine, beat(member_id="z", member_epoch=3, topic_partitions=None), 1) == [81, 25]
    assert codes(machine, beat(member_id="z", server_assignor="nobody"), 1) == [112, 81]
    assert codes(machine, beat(member_id="a", member_epoch=9, topic_partitions=None), 1) == [110]


def test_a_request_about_no_group_or_several_is_not_reported() -> None:
    assert codes(coordinator(), ListGroupsRequest(), 4) == []
