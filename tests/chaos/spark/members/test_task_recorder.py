from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groupproof.chaos.spark.members.load_order import MemberOrder
from groupproof.chaos.spark.members.task_recorder import TaskRecorder
from groupproof.chaos.spark.traces.trace_segments import Sealer, Stamp
from groupproof.clients.consumer.connection import Exchange
from groupproof.protocol.trace_columns import read_parquet
from groupproof.protocol.vocabulary import Api

MEMBER = MemberOrder(client="m0", group="g", actions=())


@pytest.fixture
def recorder(tmp_path: Path) -> TaskRecorder:
    return TaskRecorder(Stamp(3, lambda: 0), Sealer(tmp_path, "r", "w"), run="r", seed=7, slot=3, attempt=1)


def exchange(api: Api, request: dict[str, Any], answer: dict[str, Any] | None = None) -> Exchange:
    return Exchange(1, api, 4, 9, {"group_id": "g", **request}, answer)


def test_frames_become_observations_of_their_member(recorder: TaskRecorder, tmp_path: Path) -> None:
    watch = recorder.watch(MEMBER)
    watch(exchange(Api.HEARTBEAT, {"member_id": "id", "generation_id": 2}))
    watch(exchange(Api.HEARTBEAT, {"member_id": "id", "generation_id": 2}, {"error_code": 27}))
    watch(exchange(Api.METADATA, {}))
    recorder.seal()

    asked, answered = read_parquet(tmp_path)
    assert (asked.kind, asked.who, asked.api, asked.client, asked.member, asked.generation, asked.run) == (
        "request", "member", "Heartbeat", "m0", "id", 2, "r",
    )  # fmt: skip
    assert (answered.kind, answered.error, answered.connection) == ("response", 27, asked.connection)
    assert recorder.counted()["errors"] == {"REBALANCE_IN_PROGRESS": 1}


def test_each_life_has_connections_of_its_own(recorder: TaskRecorder, tmp_path: Path) -> None:
    for _ in range(2):
        recorder.watch(MEMBER)(exchange(Api.HEARTBEAT, {}))
    recorder.seal()

    assert len({obs.connection for obs in read_parquet(tmp_path)}) == 2


def test_a_member_is_settled_from_its_assignment_to_its_next_join(recorder: TaskRecorder) -> None:
    watch = recorder.watch(MEMBER)
    recorder.event(MEMBER, "started", is_up=True)
    assert recorder.counted()["groups"] == {"g": [0, 1, 0, 0]}

    watch(exchange(Api.JOIN_GROUP, {"protocols": ()}, {"error_code": 0, "generation_id": 5, "member_id": "id"}))
    watch(exchange(Api.SYNC_GROUP, {"generation_id": 5}, {"error_code": 0, "assignment": b""}))
    assert recorder.counted()["groups"] == {"g": [5, 1, 1, 0]}

    watch(exchange(Api.JOIN_GROUP, {"protocols": ()}))
    assert recorder.counted()["groups"] == {"g": [5, 1, 0, 0]}
    recorder.event(MEMBER, "died", is_up=False)
    assert recorder.counted()["groups"] == {"g": [5, 0, 0, 0]}


def test_a_member_of_the_consumer_protocol_is_settled_in_the_epoch_that_it_was_given(recorder: TaskRecorder, tmp_path: Path) -> None:
    watch = recorder.watch(MEMBER)
    recorder.event(MEMBER, "started", is_up=True)
    for asked, epoch, error in ((0, 3, 0), (3, 4, 0), (4, 0, 110)):
        request = {"member_id": "id", "member_epoch": asked}
        watch(exchange(Api.CONSUMER_GROUP_HEARTBEAT, request))
        watch(exchange(Api.CONSUMER_GROUP_HEARTBEAT, request, {"error_code": error, "member_epoch": epoch, "member_id": "id"}))
    recorder.seal()

    counted = recorder.counted()
    assert (counted["groups"], counted["joins"], counted["heartbeats"]) == ({"g": [4, 1, 1, 0]}, 1, 3)
    assert counted["errors"] == {"FENCED_MEMBER_EPOCH": 1}
    epochs = [obs.member_epoch for obs in read_parquet(tmp_path) if obs.kind == "response"]
    assert epochs[:2] == [3, 4]


def test_an_application_without_frames_is_counted_by_its_callbacks(recorder: TaskRecorder, tmp_path: Path) -> None:
    recorder.event(MEMBER, "started", is_up=True)
    recorder.called(MEMBER, "partitions_assigned", [("t", 0), ("t", 1)])
    recorder.called(MEMBER, "partitions_revoked", [("t", 1)])
    recorder.committed(None)
    recorder.committed("ILLEGAL_GENERATION")
    recorder.seal()

    counted = recorder.counted()
    assert (counted["commits"], counted["joins"], counted["errors"]) == (2, 1, {"ILLEGAL_GENERATION": 1})
    assert counted["groups"] == {"g": [0, 1, 0, 1]}
    recorder.event(MEMBER, "died", is_up=False)
    assert recorder.counted()["groups"] == {"g": [0, 0, 0, 0]}
    [event] = read_parquet(tmp_path)
    assert event.body == {"name": "started", "attempt": 1}
