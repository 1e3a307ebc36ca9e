"""Well-formed requests with the wildest fields: every one is answered or refused, and none makes the broker fail.

Bodies are drawn from the shapes of every version that is answered; time is that of trio's MockClock.
"""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest
import trio
import trio.testing
from tests.coordinator.helpers import Client, Stage, staged, virtually

from groupproof.coordinator.broker.advertised_versions import accepted
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.codec import Column, Shape
from groupproof.protocol.wire.codec_source import writer_of
from groupproof.protocol.wire.kafka_shapes import has_flexible_header, shape_of
from groupproof.protocol.wire.message_codec import frame

ACCEPTED = accepted("kafka-4.1")
REQUESTS = 150
TEXTS = ("", "t", "g", "other", "m", "consumer", "range", "é", "../x", "x" * 300)
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


class Wild:
    """Draws requests."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def request(self) -> bytes:
        """Return a frame's payload."""
        api = self.chance.choice(sorted(ACCEPTED))
        version = self.chance.randint(*ACCEPTED[api])
        shape = shape_of(api, version, "request")
        body = self._struct(shape)
        self._tame(api, body)
        out = bytearray(struct.pack(">hhih", api, version, 1, -1))
        out += b"\0" if has_flexible_header(api, version, "request") else b""
        writer_of(shape)(out, body)
        return bytes(out)

    def _tame(self, api: Api, body: dict[str, Any]) -> None:
        """Keep a request from taking minutes or memory that it may rightly take."""
        if api is Api.FETCH:
            body["max_wait_ms"] = self.chance.choice([-1, 0, 5])
        if api is Api.CREATE_TOPICS:
            for topic in body["topics"]:
                topic["num_partitions"] = self.chance.choice([-1, 0, 1, 3])

    def _struct(self, shape: Shape) -> dict[str, Any]:
        return {column.name: self._value(column) for column in shape.columns}

    def _value(self, column: Column) -> Any:
        if column.is_nullable and self.chance.random() < 0.2:
            return None
        if column.is_array:
            return tuple(self._one(column) for _ in range(self.chance.choice([0, 1, 1, 2, 3])))
        return self._one(column)

    def _one(self, column: Column) -> Any:
        if column.kind == "struct":
            assert column.shape is not None
            return self._struct(column.shape)
        if column.kind in BITS:
            top = 2 ** (BITS[column.kind] - 1)
            return self.chance.choice([0, 1, -1, 2, 5, 100, top - 1, -top])
        return {
            "string": self.chance.choice(TEXTS),
            "bytes": self.chance.randbytes(self.chance.randrange(80)),
            "bool": self.chance.random() < 0.5,
            "uuid": self.chance.choice([None, "6ba7b811-9dad-11d1-80b4-00c04fd430c8"]),
        }.get(column.kind, 0)


async def _beat(member: Client) -> None:
    """Let the member live on as a good one does, whatever the wild ones did to its group."""
    error = await member.heartbeat()
    assert error in (0, 25, 27)
    if error == 25:
        member.member_id = ""
    if error:
        await member.join()
        await member.sync()


async def _send(stage: Stage, payload: bytes, node: int) -> None:
    hostile = stage.connect("wild", node=node)
    await hostile.stream.send_all(frame(payload))
    await trio.testing.wait_all_tasks_blocked()
    await hostile.stream.aclose()


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@virtually
async def test_no_well_formed_request_makes_a_broker_fail(seed: int) -> None:
    wild = Wild(seed)
    async with staged() as stage:
        (member,) = await stage.stable("m0")
        for number in range(REQUESTS):
            await _send(stage, wild.request(), number % 2)
            if number % 50 == 0:
                await trio.sleep(0.5)
                await _beat(member)
        await trio.testing.wait_all_tasks_blocked()

        assert set(stage.closings()) <= {"the client closed it"}
        assert len(stage.observations("processed")) >= REQUESTS
