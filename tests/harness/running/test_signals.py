from __future__ import annotations

import signal

import pytest
import trio

from groupproof.harness.running.signals import mind_signals


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_ends_a_run_in_order(number: signal.Signals) -> None:
    async def main() -> bool:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                await nursery.start(mind_signals, scope.cancel)
                signal.raise_signal(number)
                await trio.sleep_forever()
        return scope.cancelled_caught

    assert trio.run(main)


def test_the_second_signal_finds_pythons_own_handler() -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            minding = trio.Event()
            await nursery.start(mind_signals, minding.set)
            signal.raise_signal(signal.SIGINT)
            await minding.wait()
            await trio.testing.wait_all_tasks_blocked()
            signal.raise_signal(signal.SIGINT)
            await trio.sleep_forever()

    with pytest.raises(BaseExceptionGroup) as raised:
        trio.run(main, strict_exception_groups=True)
    assert raised.group_contains(KeyboardInterrupt)
