"""Makes PySpark's work between two tasks of a Python worker cheap: with tasks of a fraction of a second it took a sixth of their time."""

from __future__ import annotations

import sys
from functools import cache
from zipimport import zipimporter

from groupproof.harness.running.gc_pauses import set_aside

__all__ = ["spare_next_task"]


def spare_next_task() -> None:
    """Call this at the end of a task, in the worker. Loaded modules are then neither collected nor read again before the next task."""
    _set_modules_aside()
    _forget_archives()


@cache
def _set_modules_aside() -> None:
    """Freeze once what a worker's first task has loaded: PySpark's daemon collects garbage after each task (`manager` in `daemon`)."""
    set_aside()


def _forget_archives() -> None:
    """Keep Python from reading the archives on the path again.

    PySpark invalidates all import caches before each task, and until 3.13 Python's zipimport then reads an archive's whole
    list. A worker's path has PySpark itself and a Spark jar with 5,000 classes. Later imports use the kept list.
    """
    for path, finder in tuple(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
