from __future__ import annotations

import trio
import trio.testing

from groupproof.harness.running.run_clock import clock_from_now


def test_a_runs_clock_begins_when_it_is_made_and_counts_nanoseconds() -> None:
    async def main() -> list[int]:
        await trio.sleep(5)
        clock = clock_from_now()
        at_once = clock()
        await trio.sleep(1.5)
        return [at_once, clock()]

    assert trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0)) == [0, 1_500_000_000]
