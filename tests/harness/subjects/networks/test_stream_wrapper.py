from __future__ import annotations

import socket
import sys

import pytest
import trio
import trio.testing
from tests.harness.subjects.shims.fakes import AlwaysUp

from groupproof.harness.subjects.networks.network import LoopbackNetwork
from groupproof.harness.subjects.networks.stream_wrapper import StreamWrapper

RESET = b"\x01\0\0\0\0\0\0\0"


def test_a_wrapper_changes_nothing_of_a_stream() -> None:
    async def makes() -> tuple[trio.abc.Stream, trio.abc.Stream]:
        one, other = trio.testing.memory_stream_pair()
        return StreamWrapper(one), StreamWrapper(other)

    trio.run(trio.testing.check_two_way_stream, makes, None)


def test_a_wrapped_connection_can_be_reset() -> None:
    class Resetting(AlwaysUp):
        nodes = (0,)

        def advertise(self, node_id: int, host: str, port: int) -> None:
            assert port

        async def serve_connection(self, node_id: int, stream: trio.abc.Stream, peer: str) -> None:
            wrapper = StreamWrapper(stream)
            await wrapper.receive_some()
            wrapper.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            await wrapper.aclose()

    async def main() -> None:
        network = LoopbackNetwork()
        async with network.opened(Resetting()) as addresses:
            stream = await network.connect(*addresses[0])
            await stream.send_all(b"x")
            with pytest.raises(trio.BrokenResourceError) as error:
                await stream.receive_some()
            assert isinstance(error.value.__cause__, ConnectionResetError)
            await stream.aclose()

    trio.run(main)


def test_a_stream_without_a_socket_has_no_options() -> None:
    one, _ = trio.testing.memory_stream_pair()

    StreamWrapper(one).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    assert not hasattr(one, "setsockopt")
    assert StreamWrapper(one).getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8) is None


def test_the_options_of_the_socket_inside_can_be_asked_for() -> None:
    async def main() -> None:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        async with listener, await trio.open_tcp_stream("127.0.0.1", listener.socket.getsockname()[1]) as stream:
            assert StreamWrapper(stream).getsockopt(socket.SOL_SOCKET, socket.SO_TYPE, 4) == socket.SOCK_STREAM.to_bytes(4, sys.byteorder)

    trio.run(main)
