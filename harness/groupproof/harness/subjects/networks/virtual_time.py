"""Virtual time: a run waits only for its own tasks, and the same seed gives the same run.

trio chooses the order of ready tasks at random. Here the random generator has a seed, and the tasks have a fixed order to start from.
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
    """Tasks run on while no virtual time passes, or there are far too many steps for a run that ends."""


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

    `steps_max` bounds how often tasks are resumed in all. Beyond it `NoProgress` is raised, so that no run lasts forever.
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
    """Let trio schedule as it does under Hypothesis: tasks of a batch by age, then shuffled by a seeded generator."""
    switch: Any = scheduler
    was, switch._ALLOW_DETERMINISTIC_SCHEDULING = switch._ALLOW_DETERMINISTIC_SCHEDULING, True
    draws, switch._r = switch._r, random.Random(seed)
    try:
        yield
    finally:
        switch._ALLOW_DETERMINISTIC_SCHEDULING, switch._r = was, draws
