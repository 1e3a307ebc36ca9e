from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import trio
import trio.testing
from tests.harness.subjects.shims.fakes import AlwaysUp

from groupproof.harness.subjects.networks.client_ids import OwnerGone, RelabelledStream, owner_of_connection, with_client_id
from groupproof.harness.subjects.networks.network import LoopbackNetwork
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import Framer, frame, read_request, write_request

BODY = {"group_id": "g", "generation_id": 1, "member_id": "x-1"}


@pytest.mark.parametrize("version", [0, 3, 4])
@pytest.mark.parametrize("client_id", [None, "", "rdkafka"])
def test_a_request_gets_another_client_id_and_stays_the_same_request(version: int, client_id: str | None) -> None:
    request = write_request(Api.HEARTBEAT, version, 7, client_id, BODY)

    read = read_request(with_client_id(request, "m0"))

    assert (read.api, read.version, read.correlation, read.client_id) == (Api.HEARTBEAT, version, 7, "m0")
    assert read.body["member_id"] == "x-1"


def test_bytes_too_few_for_a_request_are_left_as_they_are() -> None:
    assert with_client_id(b"short", "m0") == b"short"


def connected() -> tuple[trio.StapledStream[Any, Any], RelabelledStream]:
    """Return a client's end of a connection, and the server's, relabelled."""
    ours, theirs = trio.testing.memory_stream_pair()
    return ours, RelabelledStream(theirs, "m0")


def test_on_a_connection_every_request_is_relabelled_however_its_bytes_come() -> None:
    async def main() -> None:
        (client, relabelled), framer = connected(), Framer()
        sent = b"".join(frame(write_request(Api.HEARTBEAT, 4, number, "same-for-all", BODY)) for number in range(3))
        for at in range(0, len(sent), 11):
            await client.send_all(sent[at : at + 11])
        await client.send_eof()
        read = []
        while data := await relabelled.receive_some(1):
            read += [read_request(item) for item in framer.feed(data)]
        assert [(request.client_id, request.correlation) for request in read] == [("m0", 0), ("m0", 1), ("m0", 2)]
        await relabelled.send_all(b"back")
        assert await client.receive_some() == b"back"

    trio.run(main)


def test_a_stream_without_frames_is_a_broken_one() -> None:
    async def main() -> None:
        client, relabelled = connected()
        await client.send_all(b"\xff\xff\xff\xff")
        with pytest.raises(trio.BrokenResourceError, match="a frame of -1 bytes"):
            await relabelled.receive_some()

    trio.run(main)


on_linux = pytest.mark.skipif(not os.path.isdir("/proc/net"), reason="only Linux tells which process holds a socket")


@contextmanager
def connection() -> Iterator[tuple[socket.socket, int, int]]:
    """Yield a socket of this process with its own port and that of its peer."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as mine:
        yield mine, mine.getsockname()[1], listener.getsockname()[1]


@on_linux
def test_the_only_process_there_is_owns_every_connection_but_those_of_this_process() -> None:
    with connection() as (_, local, remote):
        assert owner_of_connection(local, remote, {os.getpid(): "m0"}) == "m0"
        assert owner_of_connection(local, remote, {4711: "m0"}) is None


@on_linux
def test_of_several_processes_the_one_that_holds_the_socket_owns_it() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        with connection() as (_, local, remote):
            assert owner_of_connection(local, remote, {child.pid: "m1", os.getpid(): "m0"}) == "m0"
            assert owner_of_connection(local, remote, {child.pid: "m1", child.pid + 1: "m2"}) is None
    finally:
        child.communicate(b"\n")


@on_linux
def test_a_socket_that_is_closed_has_no_owner_and_neither_has_one_with_another_peer() -> None:
    with connection() as (mine, local, remote):
        with pytest.raises(OwnerGone):
            owner_of_connection(local, local, {os.getpid(): "m0"})
        mine.close()
        with pytest.raises(OwnerGone):
            owner_of_connection(local, remote, {os.getpid(): "m0", 4711: "m1"})


class Listening(AlwaysUp):
    nodes = (0,)
    heard: list[str | None]

    def __init__(self) -> None:
        self.heard = []

    def advertise(self, node_id: int, host: str, port: int) -> None:
        assert port

    async def serve_connection(self, node_id: int, stream: trio.abc.Stream, peer: str) -> None:
        data = await stream.receive_some()
        self.heard.append(read_request(Framer().feed(bytes(data))[0]).client_id)
        await stream.send_all(b"done")


HEARTBEAT = frame(write_request(Api.HEARTBEAT, 4, 1, "own", BODY))


def test_on_a_network_with_names_requests_come_under_the_owners_name() -> None:
    async def main() -> None:
        network, brokers = LoopbackNetwork(), Listening()
        async with network.opened(brokers) as addresses:
            for names in ({}, {os.getpid(): "m0"}):
                network.names = names
                stream = await network.connect(*addresses[0])
                await stream.send_all(HEARTBEAT)
                assert await stream.receive_some() == b"done"
                await stream.aclose()
        assert brokers.heard == ["own", "m0"]

    trio.run(main)


@on_linux
def test_a_connection_that_comes_while_its_process_starts_waits_for_the_name() -> None:
    """A busy kit learns the pid later than the program connects."""

    async def main() -> None:
        network, brokers = LoopbackNetwork(), Listening()
        async with network.opened(brokers) as addresses:
            with network.starts.pending(), network.starts.pending():
                stream = await network.connect(*addresses[0])
                await stream.send_all(HEARTBEAT)
                await trio.testing.wait_all_tasks_blocked()
                assert brokers.heard == []
                network.names[os.getpid()] = "m0"
            assert await stream.receive_some() == b"done"
            await stream.aclose()
        assert brokers.heard == ["m0"]

    trio.run(main)
