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
async def test_a_reader_that_waits_is_told_of_the_end() -> None:
    inbox: Inbox[int] = Inbox()
    got = []

    async def read() -> None:
        got.append(await inbox.get())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await trio.testing.wait_all_tasks_blocked()
        inbox.close()
    assert got == [None]
