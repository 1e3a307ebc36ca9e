"""Ctrl-C and SIGTERM end a run in order: the results so far are judged and written."""

from __future__ import annotations

import signal
from collections.abc import Callable

import trio

__all__ = ["mind_signals"]


async def mind_signals(on_first: Callable[[], None], task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
    """Call `on_first` at the first signal. Python's own handlers get the second, which ends the process at once."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            on_first()
            return
