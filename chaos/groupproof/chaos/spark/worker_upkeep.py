"""What PySpark does in a Python worker between two tasks, made cheap: for tasks of a fraction of a second it came to a sixth of their time."""

from __future__ import annotations

import sys
from functools import cache
from zipimport import zipimporter

from groupproof.harness.running.gc_pauses import set_aside

__all__ = ["spare_next_task"]


def spare_next_task() -> None:
    """Call this at the end of a task, in the worker. What is loaded by then is neither looked through nor read again before the next one."""
    _set_modules_aside()
    _forget_archives()


@cache
def _set_modules_aside() -> None:
    """Set aside, once in a worker, what its first task has loaded: PySpark's daemon collects all garbage after each task (`manager` in its `daemon` module)."""
    set_aside()


def _forget_archives() -> None:
    """Let no archive on the path be read again.

    PySpark invalidates the caches of all imports before each task, and until 3.13 Python's zipimport reads the whole list of an
    archive then. On the path of a worker are PySpark itself and a jar of Spark's with 5,000 classes. What is imported later finds the list that was kept.
    """
    for path, finder in tuple(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
