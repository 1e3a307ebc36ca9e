"""The inbox of a connection: order, and a bound that slows the writer."""

from __future__ import annotations

import trio
import trio.testing
from tests.coordinator.helpers import virtually

from groupproof.coordinator.broker.request_queue import INBOX_BYTES_MAX, INBOX_FRAMES_MAX, Inbox


@virtually
async def test_items_come_out_in_order_and_none_after_the_end() -> None:
    inbox: Inbox[int] = Inbox()
    for item in range(3):
        await inbox.put(item, 1)
    inbox.close()

    assert inbox.closed
    assert [await inbox.get() for _ in range(4)] == [0, 1, 2, None]


@virtually
async def test_a_writer_waits_while_too_many_frames_are_there() -> None:
    inbox: Inbox[int] = Inbox()
    written = []

    async def write() -> None:
        for item in range(INBOX_FRAMES_MAX + 1):
            await inbox.put(item, 1)
            written.append(item)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        await trio.testing.wait_all_tasks_blocked()
        assert len(written) == INBOX_FRAMES_MAX
        assert await inbox.get() == 0
        await trio.testing.wait_all_tasks_blocked()
        assert len(written) == INBOX_FRAMES_MAX + 1


@virtually
async def test_a_frame_longer_than_the_bound_still_goes_through_alone() -> None:
    inbox: Inbox[str] = Inbox()
    await inbox.put("long", INBOX_BYTES_MAX * 2)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(inbox.put, "short", 1)
        await trio.testing.wait_all_tasks_blocked()

        assert await inbox.get() == "long"
        assert await inbox.get() == "short"
    assert not inbox.holds_any


@virtually
async def test_a_reader_that_waits_gets_the_end() -> None:
    inbox: Inbox[int] = Inbox()
    got = []

    async def read() -> None:
        got.append(await inbox.get())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await trio.testing.wait_all_tasks_blocked()
        inbox.close()
    assert got == [None]


@virtually
async def test_a_held_inbox_gives_nothing_and_continues_with_what_is_left_of_the_request_under_way() -> None:
    inbox: Inbox[str] = Inbox()
    received: list[str | None] = []

    async def read() -> None:
        while (item := await inbox.get()) is not None:
            received.append(item)
        received.append(None)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await trio.testing.wait_all_tasks_blocked()
        for first, expected in (("rest", ["rest", "behind"]), (None, ["behind"])):
            assert inbox.is_awaited
            inbox.hold()
            await inbox.put("behind", 1)
            await trio.testing.wait_all_tasks_blocked()
            assert (received, inbox.is_awaited) == ([], False)
            inbox.resume(first)
            await trio.testing.wait_all_tasks_blocked()
            assert received == expected
            received.clear()
        inbox.hold()
        inbox.close()
        await trio.testing.wait_all_tasks_blocked()
        assert received == []
        inbox.resume()

    assert received == [None]


@virtually
async def test_a_reader_who_has_nothing_to_do_is_awaited_again_without_its_turn() -> None:
    inbox: Inbox[str] = Inbox()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(inbox.get)
        await trio.testing.wait_all_tasks_blocked()
        inbox.hold()
        inbox.resume()

        assert inbox.is_awaited
        nursery.cancel_scope.cancel()
