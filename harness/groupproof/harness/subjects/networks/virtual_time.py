"""Virtual time: a run that waits for nothing but its own tasks, and that goes the same way each time its seed is the same.

trio draws the order of the tasks that are ready at once; here the draw has a seed, and the tasks an order to start from.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import trio
from trio._core import _run as scheduler

from groupproof.harness.subjects.networks.memory_streams import MockClock

__all__ = ["NoProgress", "run_virtually"]


class NoProgress(Exception):
    """Tasks run on and on while no virtual time passes, or far too many of them for a run that ends."""


class _Bound(trio.abc.Instrument):
    """Cancels `scope` after so many steps of tasks."""

    def __init__(self, steps: int) -> None:
        self.scope = trio.CancelScope()
        self.is_exceeded = False
        self._left = steps

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._left -= 1
        if self._left == 0:
            self.is_exceeded = True
            self.scope.cancel()


def run_virtually(main: Callable[[], Awaitable[None]], *, seed: int, steps_max: int | None = None) -> None:
    """Run `main` in virtual time, which passes only when every task waits.

    `steps_max` bounds how often tasks are resumed in all: `Stuck` is raised beyond it, so that no run lasts for ever.
    """
    bound = None if steps_max is None else _Bound(steps_max)

    async def bounded() -> None:
        if bound is None:
            await main()
            return
        with bound.scope:
            await main()

    with _in_one_order(seed):
        trio.run(bounded, clock=MockClock(autojump_threshold=0), instruments=() if bound is None else (bound,))
    if bound is not None and bound.is_exceeded:
        raise NoProgress(f"{steps_max} steps of tasks did not bring the run to its end, at a virtual time that may stand still")


@contextmanager
def _in_one_order(seed: int) -> Iterator[None]:
    """Let trio schedule as it does under Hypothesis: tasks of a batch by their age, then shuffled by a generator with a seed."""
    switch: Any = scheduler
    was, switch._ALLOW_DETERMINISTIC_SCHEDULING = switch._ALLOW_DETERMINISTIC_SCHEDULING, True
    draws, switch._r = switch._r, random.Random(seed)
    try:
        yield
    finally:
        switch._ALLOW_DETERMINISTIC_SCHEDULING, switch._r = was, draws
