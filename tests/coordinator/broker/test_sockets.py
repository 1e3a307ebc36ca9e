"""Sockets read by one task: what comes is offered by a call, and a task wakes only for what a call cannot do."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing

import pytest
import trio
import trio.testing

from groupproof.coordinator.broker.sockets import BestReadiness, BySelector, Poller, Readiness, Socket, has_all


@asynccontextmanager
async def polled(count: int = 1) -> AsyncIterator[tuple[list[Socket], list[socket.socket]]]:
    """Yield sockets of a running poller, and their peers."""
    pairs = [socket.socketpair() for _ in range(count)]
    peers = [peer for _, peer in pairs]
    with closing(Poller()) as poller:
        async with trio.open_nursery() as nursery:
            await nursery.start(poller.run)
            sockets = [Socket(trio.SocketStream(trio.socket.from_stdlib_socket(ours)), poller) for ours, _ in pairs]
            try:
                yield sockets, peers
            finally:
                for item in sockets:
                    await item.aclose()
                for peer in peers:
                    peer.close()
            nursery.cancel_scope.cancel()


def on_sockets(count: int = 1) -> Callable[[Callable[[list[Socket], list[socket.socket]], Awaitable[None]]], Callable[[], None]]:
    def decorate(test: Callable[[list[Socket], list[socket.socket]], Awaitable[None]]) -> Callable[[], None]:
        async def run() -> None:
            async with polled(count) as (sockets, peers):
                await test(sockets, peers)

        def plain() -> None:
            trio.run(run)

        plain.__name__ = test.__name__
        return plain

    return decorate


@on_sockets()
async def test_what_comes_is_offered_until_something_is_left_and_nothing_is_read_after_that(
    sockets: list[Socket], peers: list[socket.socket]
) -> None:
    offered: list[bytes] = []

    def take(data: bytes) -> str | None:
        offered.append(data)
        return "left" if data == b"2" else None

    async with trio.open_nursery() as nursery:
        nursery.start_soon(sockets[0].left, take)
        peers[0].send(b"1")
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert offered == [b"1"]
        peers[0].send(b"2")
    peers[0].send(b"3")
    await trio.testing.wait_all_tasks_blocked(0.01)
    assert offered == [b"1", b"2"]

    assert await sockets[0].left(lambda data: data) == b"3"


@on_sockets()
async def test_the_end_is_offered_as_no_bytes(sockets: list[Socket], peers: list[socket.socket]) -> None:
    peers[0].close()

    assert await sockets[0].left(lambda data: [data]) == [b""]


@on_sockets(2)
async def test_what_a_call_raises_is_raised_to_its_own_connection_alone(sockets: list[Socket], peers: list[socket.socket]) -> None:
    def fail(data: bytes) -> None:
        raise LookupError(data)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(sockets[1].left, lambda data: data)
        for peer in peers:
            peer.send(b"x")
        with pytest.raises(LookupError):
            await sockets[0].left(fail)


@on_sockets(2)
async def test_a_task_that_is_cancelled_by_another_in_the_same_turn_is_offered_nothing(sockets: list[Socket], peers: list[socket.socket]) -> None:
    scopes = [trio.CancelScope(), trio.CancelScope()]
    offered: list[int] = []

    async def wait(number: int) -> None:
        def take(data: bytes) -> None:
            offered.append(number)
            scopes[1 - number].cancel()

        with scopes[number]:
            await sockets[number].left(take)

    async with trio.open_nursery() as nursery:
        for number in range(2):
            nursery.start_soon(wait, number)
        await trio.testing.wait_all_tasks_blocked()
        for peer in peers:
            peer.send(b"x")
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert len(offered) == 1
        nursery.cancel_scope.cancel()

    assert await sockets[1 - offered[0]].left(lambda data: data) == b"x"


@pytest.mark.parametrize("made", [BestReadiness, BySelector])
def test_of_many_sockets_some_are_ready_and_those_that_are_left_after_them_but_for_one_that_was_removed(made: Callable[[], Readiness]) -> None:
    with contextlib.ExitStack() as stack:
        pairs = [tuple(map(stack.enter_context, socket.socketpair())) for _ in range(100)]
        by_fd = {ours.fileno(): ours for ours, _ in pairs}
        ready = stack.enter_context(closing(made()))
        for ours, peer in pairs:
            ready.add(ours.fileno())
            peer.send(b"x")
        first = ready.ready()
        for fd in first:
            by_fd[fd].recv(1)
        gone = next(fd for fd in by_fd if fd not in first)
        ready.remove(gone)
        rest = ready.ready()

    assert len(first) == 64
    assert sorted([*first, gone, *rest]) == sorted(by_fd)


@on_sockets()
async def test_a_task_that_waits_for_a_closed_socket_gets_an_error(sockets: list[Socket], peers: list[socket.socket]) -> None:
    async def wait() -> None:
        with pytest.raises(trio.ClosedResourceError):
            await sockets[0].left(lambda data: data)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        await sockets[0].aclose()
    await wait()
    await sockets[0].aclose()


@on_sockets(200)
async def test_however_many_sockets_have_something_other_tasks_have_their_turns(sockets: list[Socket], peers: list[socket.socket]) -> None:
    offered: list[bytes] = []
    observed = []

    async with trio.open_nursery() as nursery:
        for item in sockets:
            nursery.start_soon(item.left, lambda data: offered.append(data))
        await trio.testing.wait_all_tasks_blocked()
        for peer in peers:
            peer.send(b"x")
        while len(offered) < len(sockets):
            await trio.lowlevel.checkpoint()
            observed.append(len(offered))
        nursery.cancel_scope.cancel()

    assert any(0 < count < len(sockets) for count in observed)


@on_sockets()
async def test_what_the_kernel_does_not_take_now_is_left(sockets: list[Socket], peers: list[socket.socket]) -> None:
    long = b"x" * 10_000_000
    rest = sockets[0].send_now(long)

    assert 0 < len(rest) < len(long)
    assert sockets[0].send_now(rest) == rest
    peers[0].close()
    with pytest.raises(trio.BrokenResourceError):
        sockets[0].send_now(rest)


@asynccontextmanager
async def over_tcp() -> AsyncIterator[tuple[trio.SocketStream, trio.SocketStream]]:
    """Yield both ends of a connection over loopback."""
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listener, await trio.open_tcp_stream("127.0.0.1", listener.socket.getsockname()[1]) as theirs, await listener.accept() as ours:
        yield ours, theirs


async def _read_and_close(theirs: trio.SocketStream) -> None:
    await theirs.receive_some(100)
    await theirs.aclose()


async def _close_unread(theirs: trio.SocketStream) -> None:
    await theirs.aclose()


async def _reset(theirs: trio.SocketStream) -> None:
    await theirs.receive_some(100)
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await theirs.aclose()


@pytest.mark.parametrize(("parts", "is_delivered"), [(_read_and_close, True), (_close_unread, False), (_reset, False)])
def test_a_client_that_closes_in_order_after_all_bytes_has_received_them(
    parts: Callable[[trio.SocketStream], Awaitable[None]], *, is_delivered: bool
) -> None:
    async def main() -> None:
        async with over_tcp() as (ours, theirs):
            await ours.send_all(b"refused")
            await parts(theirs)
            with contextlib.suppress(trio.BrokenResourceError):
                assert await ours.receive_some(1) == b""
            assert await has_all(ours) is is_delivered

    trio.run(main)


def test_a_client_that_closed_before_the_bytes_came_has_not_received_them() -> None:
    async def main() -> None:
        async with over_tcp() as (ours, theirs):
            await theirs.aclose()
            assert await ours.receive_some(1) == b""
            await ours.send_all(b"refused")
            assert not await has_all(ours)

    trio.run(main)


def test_a_peer_that_is_still_there_is_not_said_to_have_hung_up() -> None:
    async def main() -> None:
        async with over_tcp() as (ours, _):
            await ours.send_all(b"refused")
            assert not await has_all(ours)

    trio.run(main)


@on_sockets()
async def test_of_a_socket_that_is_no_tcp_nobody_can_say_it(sockets: list[Socket], peers: list[socket.socket]) -> None:
    peers[0].close()
    assert not await has_all(sockets[0])


def test_a_stream_in_memory_has_refused_what_nobody_takes() -> None:
    ours, _ = trio.testing.memory_stream_pair()
    assert trio.run(has_all, ours)
