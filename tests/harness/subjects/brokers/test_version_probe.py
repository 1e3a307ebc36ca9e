from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio

from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.cluster_map import ClusterMap
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers
from groupproof.harness.subjects.brokers.version_probe import unreadable
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import frame

GARBAGE, CLOSES = "its answer cannot be read", "it closes the connection instead of an answer"


class Boastful(ReferenceBrokers):
    """Offers versions that it cannot speak: to some it closes the connection, to others its answer is cut short."""

    closes: Mapping[Api, int] = {}
    cuts: Mapping[Api, int] = {}

    @asynccontextmanager
    async def cluster(self, *, settings: Mapping[str, Any], brokers: int, topics: Mapping[str, int]) -> AsyncIterator[RunningCluster]:
        async with super().cluster(settings=settings, brokers=brokers, topics=topics) as cluster:
            connect = cluster.connect

            async def boasting(host: str, port: int) -> trio.abc.Stream:
                return self._boasting(await connect(host, port))

            cluster.connect = boasting  # type: ignore[method-assign] # a double of one method
            yield cluster

    def _boasting(self, stream: trio.abc.Stream) -> trio.abc.Stream:
        send_all, receive_some = stream.send_all, stream.receive_some
        cut: list[bytes] = []

        async def listening(data: bytes) -> None:
            api, version, correlation = struct.unpack(">hhi", data[4:12])
            if version >= self.closes.get(Api(api), 99):
                await trio.aclose_forcefully(stream)
            elif version >= self.cuts.get(Api(api), 99):
                cut.append(frame(struct.pack(">i", correlation)))
            else:
                await send_all(data)

        async def telling(most: int | None = None) -> bytes:
            return cut.pop() if cut else bytes(await receive_some(most))

        stream.send_all, stream.receive_some = listening, telling  # type: ignore[method-assign, assignment] # doubles that listen in
        return stream


def found(closes: Mapping[Api, int], cuts: Mapping[Api, int]) -> tuple[dict[Api, dict[int, str]], ClusterMap]:
    subject = type("Boast", (Boastful,), {"closes": closes, "cuts": cuts})(profile="kafka-4.1")
    entries: list[Any] = []

    async def main() -> None:
        async with subject.cluster(settings={}, brokers=1, topics={}) as cluster:
            where = ClusterMap(cluster)
            await where.learn()
            where.unreadable = await unreadable(where, "versions")
            entries.extend([where.unreadable, where])
            await where.close()

    run_virtually(main, seed=1)
    return entries[0], entries[1]


def test_versions_that_are_offered_and_do_not_work_are_named_from_the_newest_down() -> None:
    faults, where = found({Api.JOIN_GROUP: 8}, {Api.LEAVE_GROUP: 3, Api.SYNC_GROUP: 5})

    assert faults == {
        Api.JOIN_GROUP: {9: CLOSES, 8: CLOSES}, Api.SYNC_GROUP: {5: GARBAGE}, Api.LEAVE_GROUP: {5: GARBAGE, 4: GARBAGE, 3: GARBAGE}
    }  # fmt: skip
    assert [where.version(api) for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.LEAVE_GROUP, Api.HEARTBEAT)] == [7, 4, 2, 4]
    assert where.version(Api.JOIN_GROUP, 9) == 9
    assert where.ranges[Api.JOIN_GROUP] == (0, 9)


@pytest.mark.parametrize(("closes", "cuts"), [({}, {}), ({Api.DESCRIBE_GROUPS: 0}, {})])
def test_an_api_with_all_of_its_versions_or_none_is_used_as_it_is_offered(closes: Mapping[Api, int], cuts: Mapping[Api, int]) -> None:
    faults, where = found(closes, cuts)

    assert faults == {}
    assert where.readable == where.ranges
