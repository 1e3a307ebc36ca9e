from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest
import trio

from groupproof.harness.cases.client import CASES
from groupproof.harness.model.plan import Member
from groupproof.harness.running.hold import Hold, StoppableClock
from groupproof.harness.running.plans.member_control import Actor
from groupproof.protocol.trace import Recorder


@dataclass
class Hands:
    """A machine's clock, and a keyboard."""

    now: float = 100.0

    def read(self) -> float:
        return self.now


def test_time_stands_still_while_the_clock_is_stopped_and_continues_where_it_stood() -> None:
    hands = Hands()
    clock = StoppableClock(hands.read)
    began = clock.current_time()

    hands.now += 2
    clock.stop()
    hands.now += 3600
    assert clock.current_time() - began == 2
    assert clock.deadline_to_sleep_time(clock.current_time() + 1) == float("inf")
    assert clock.deadline_to_sleep_time(clock.current_time() - 1) <= 0

    clock.resume()
    hands.now += 1
    assert clock.current_time() - began == 3
    assert clock.deadline_to_sleep_time(clock.current_time() + 1) == pytest.approx(1)


@pytest.fixture
def keyboard() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    os.close(read)
    os.close(write)


def actor(pid: int | None) -> Actor:
    """Return a member on a process, or on none of its own."""
    made = Actor(Member(name="m0"), Recorder(lambda: 0))
    made.handle = cast("Any", type("Handle", (), {"pid": pid, "line": "python shim.py"})())
    return made


async def held(hold: Hold, pid: int | None, keys: int | None) -> bool:
    """Return whether a start had to wait for Enter, pressing it once nothing else happens."""
    waited = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(hold.mind_keyboard)

        async def start() -> None:
            await hold.on_started(CASES[0], actor(pid))
            waited.set()

        nursery.start_soon(start)
        await trio.testing.wait_all_tasks_blocked()
        had_to_wait = not waited.is_set()
        if keys is not None:
            os.write(keys, b"\n")
        await waited.wait()
        nursery.cancel_scope.cancel()
    return had_to_wait


def test_a_start_waits_for_enter_and_says_what_to_attach_to(keyboard: tuple[int, int]) -> None:
    lines: list[str] = []
    hold = Hold(lines.append, keys=keyboard[0])

    assert trio.run(held, hold, 4711, keyboard[1], clock=hold.clock)

    assert lines[0] == f"{CASES[0].id}: m0 is process 4711: python shim.py"
    assert [line.partition(";")[0] for line in lines[1:]] == ["time is stopped", "time runs"]


def test_a_member_in_this_process_is_not_waited_for(keyboard: tuple[int, int]) -> None:
    hold = Hold(lambda _: None, keys=keyboard[0])

    assert not trio.run(held, hold, None, None, clock=hold.clock)


def test_where_nobody_can_press_a_key_time_continues() -> None:
    lines: list[str] = []
    with open(os.devnull) as nobody:
        hold = Hold(lines.append, keys=nobody.fileno())
        trio.run(held, hold, 4711, None, clock=hold.clock)

    assert not hold.clock.is_stopped
