from __future__ import annotations

import os

import trio
import trio.testing

from groupproof.harness.running.canary import Canary
from groupproof.harness.running.pace import BREATH_S, LATE_MS, Pace

FEWEST = 2 * (os.cpu_count() or 1)


def virtually(main: object) -> None:
    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))  # type: ignore[arg-type]  # any coroutine function


async def crowd(pace: Pace, nursery: trio.Nursery, count: int) -> None:
    """Let `count` runs want in, each of which stays."""
    for _ in range(count):
        nursery.start_soon(pace.enter)
    await trio.testing.wait_all_tasks_blocked()


def test_without_a_canary_as_many_run_as_are_allowed() -> None:
    async def main() -> None:
        pace = Pace(3)
        async with trio.open_nursery() as nursery:
            await crowd(pace, nursery, 5)
            assert pace.running == 3
            pace.leave()
            await trio.testing.wait_all_tasks_blocked()
            assert pace.running == 3
            nursery.cancel_scope.cancel()

    virtually(main)


def test_while_it_is_quiet_one_more_is_let_in_each_moment_up_to_the_limit() -> None:
    async def main() -> None:
        jobs = FEWEST + 5
        pace = Pace(jobs, Canary())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pace.run)
            await crowd(pace, nursery, jobs + 10)
            assert pace.running == FEWEST
            await trio.sleep(BREATH_S * 2.5)
            assert pace.running == FEWEST + 2
            await trio.sleep(BREATH_S * 20)
            assert pace.running == jobs
            nursery.cancel_scope.cancel()

    virtually(main)


def test_a_late_canary_holds_back_a_third_once_a_while_and_never_below_the_fewest() -> None:
    async def main() -> None:
        canary = Canary()
        pace = Pace(100, canary)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pace.run)
            await crowd(pace, nursery, 100)
            await trio.sleep(BREATH_S * 30.5)
            assert pace.running == FEWEST + 30
            canary.tell("loop", LATE_MS)
            canary.tell("child", LATE_MS)
            assert pace.allowed == int((FEWEST + 30) * 2 / 3)
            for _ in range(120):
                await trio.sleep(BREATH_S / 2)
                canary.tell("loop", LATE_MS)
            assert pace.allowed == FEWEST
            nursery.cancel_scope.cancel()

    virtually(main)


def test_small_lags_stop_growth_and_nothing_more() -> None:
    async def main() -> None:
        canary = Canary()
        pace = Pace(100, canary)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pace.run)
            await crowd(pace, nursery, 100)
            for _ in range(10):
                canary.tell("child", LATE_MS - 1)
                await trio.sleep(BREATH_S / 2)
            assert pace.allowed == FEWEST
            nursery.cancel_scope.cancel()

    virtually(main)


def test_a_slot_is_given_back_however_its_run_ends() -> None:
    async def main() -> None:
        pace = Pace(1)
        for _ in range(2):
            with trio.move_on_after(1):
                async with pace.slot():
                    await trio.sleep_forever()
        assert pace.running == 0

    virtually(main)


def test_an_eager_pace_lets_all_in_at_once_and_steps_back_all_the_same() -> None:
    async def main() -> None:
        canary = Canary()
        pace = Pace(FEWEST + 30, canary, is_eager=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pace.run)
            await crowd(pace, nursery, FEWEST + 30)
            assert pace.running == FEWEST + 30
            canary.tell("loop", LATE_MS)
            assert pace.allowed < FEWEST + 30
            nursery.cancel_scope.cancel()

    virtually(main)
