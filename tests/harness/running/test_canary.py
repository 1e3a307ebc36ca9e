from __future__ import annotations

import os
import signal

import pytest
import trio

from groupproof.harness.running import canary as canary_module
from groupproof.harness.running.canary import Canary


@pytest.mark.slow
def test_a_loop_that_is_held_up_is_reported_with_how_long() -> None:
    async def main() -> None:
        canary = Canary()
        pairs: list[tuple[str, float]] = []
        canary.listen(lambda source, lag_ms: pairs.append((source, lag_ms)))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(canary.run)
            with trio.fail_after(120):
                while not any(source == "loop" and lag_ms >= 100 for source, lag_ms in pairs):  # a busy machine may be late by less before
                    await trio.sleep(0.001)
                    busy_until = trio.current_time() + 0.2
                    while trio.current_time() < busy_until:
                        pass
            assert canary.worst_ms == max(lag_ms for _, lag_ms in pairs)
            nursery.cancel_scope.cancel()

    trio.run(main)


@pytest.mark.slow
def test_a_child_that_is_held_up_is_reported_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped process is the surest late one; this one first tells its number as if it were a lag."""
    monkeypatch.setattr(canary_module, "_CHILD", f"import os; print(os.getpid(), flush=True)\n{canary_module._CHILD}")
    numbers: list[float] = []

    async def main() -> None:
        canary, event = Canary(), trio.Event()

        def hear(source: str, lag_ms: float) -> None:
            if source == "child":
                numbers.append(lag_ms)
                event.set()

        canary.listen(hear)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(canary.run)
            with trio.fail_after(120):
                await event.wait()
                while not any(lag_ms >= 100 for lag_ms in numbers[1:]):
                    os.kill(int(numbers[0]), signal.SIGSTOP)
                    await trio.sleep(0.2)
                    os.kill(int(numbers[0]), signal.SIGCONT)
                    await trio.sleep(0.05)
            nursery.cancel_scope.cancel()

    trio.run(main)

    with pytest.raises(ProcessLookupError):
        os.kill(int(numbers[0]), 0)


def test_a_listener_that_stops_is_not_notified_any_more() -> None:
    async def main() -> None:
        canary = Canary()
        entries: list[float] = []
        stop = canary.listen(lambda source, lag_ms: entries.append(lag_ms))
        canary.tell("loop", 40)
        stop()
        canary.tell("loop", 50)
        assert entries == [40]
        assert canary.worst_ms == 50

    trio.run(main)
