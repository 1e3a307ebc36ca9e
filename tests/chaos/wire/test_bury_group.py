from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from groupproof.chaos.wire.bury_group import forget
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import Framer, WireRequest, frame, read_request, write_response
from groupproof.protocol.wire.records import Record, read_batches

SPOKEN = {Api.PRODUCE: (3, 13), Api.OFFSET_FETCH: (1, 10)}


class Leader:
    """Leads a partition of __consumer_offsets, with one offset of each group; `refuses` is what Produce is answered."""

    def __init__(self, refuses: int = 0) -> None:
        self.refuses = refuses
        self.asked: list[WireRequest] = []
        self.reached: list[Address] = []
        self.nursery: trio.Nursery | None = None

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        ours, theirs = trio.testing.memory_stream_pair()
        self.reached.append((host, port))
        assert self.nursery is not None
        self.nursery.start_soon(self._serve, theirs)
        return ours

    async def _serve(self, stream: trio.abc.Stream) -> None:
        framer = Framer()
        while data := await stream.receive_some():
            for payload in framer.feed(bytes(data)):
                asked = read_request(payload)
                self.asked.append(asked)
                await stream.send_all(frame(write_response(asked.api, asked.version, asked.correlation, self._answer(asked))))

    def _answer(self, asked: WireRequest) -> dict[str, Any]:
        if asked.api is Api.API_VERSIONS:
            return {"api_keys": tuple({"api_key": int(api), "min_version": low, "max_version": high} for api, (low, high) in SPOKEN.items())}
        if asked.api is Api.OFFSET_FETCH:
            part = {"partition_index": 2, "committed_offset": 7}
            return {"groups": ({"group_id": asked.body["groups"][0]["group_id"], "topics": ({"name": "t", "partitions": (part,)},)},)}
        written = {"index": 5, "error_code": self.refuses}
        return {"responses": ({"name": "__consumer_offsets", "partition_responses": (written,)},)}


def forgotten(leader: Leader) -> None:
    async def main() -> None:
        async with trio.open_nursery() as leader.nursery:
            await forget(leader.connect, ("node-1", 9092), "shop", 5)
            leader.nursery.cancel_scope.cancel()

    trio.run(main)


def test_the_group_and_its_offsets_are_buried_where_they_are() -> None:
    leader = Leader()
    forgotten(leader)
    produce = leader.asked[-1]
    (topic,) = produce.body["topic_data"]
    (part,) = topic["partition_data"]
    records: list[Record] = [record for batch in read_batches(part["records"]) for record in batch.records()]

    assert leader.reached == [("node-1", 9092)]
    assert (topic["name"], part["index"], produce.body["acks"], produce.version) == ("__consumer_offsets", 5, -1, 12)
    assert [record.key for record in records] == [b"\0\1\0\4shop\0\1t\0\0\0\2", b"\0\2\0\4shop"]
    assert {record.value for record in records} == {None}


def test_it_is_asked_as_kafka_s_own_tools_ask_for_internal_topics_are_closed_to_others() -> None:
    leader = Leader()
    forgotten(leader)

    assert {asked.client_id for asked in leader.asked if asked.api is Api.PRODUCE} == {"__admin_client"}


def test_a_broker_that_refuses_is_reported() -> None:
    with pytest.RaisesGroup(BrokenEnvironment) as raised:
        forgotten(Leader(refuses=29))

    assert "shop can't be removed: Produce to __consumer_offsets is answered TOPIC_AUTHORIZATION_FAILED" in str(raised.value.exceptions[0])
