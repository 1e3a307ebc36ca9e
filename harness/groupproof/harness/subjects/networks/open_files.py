"""How many files this process may open; each connection is one of them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

try:
    import resource
except ImportError:
    resource = None  # type: ignore[assignment]  # Windows has no such limit

__all__ = ["open_files_max", "open_files_raised", "raise_open_files"]

_ACCEPTING: Final = logging.getLogger("trio.serve_listeners")
"""The logger of `trio.serve_listeners`, which waits 0.1 s if no file is left for a connection, and logs the traceback each time."""


def raise_open_files() -> None:
    """Raise the limit of open files as far as the system lets this process: a shell allows 1,024, and a thousand members have more connections."""
    if resource is not None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        with suppress(OSError, ValueError):  # macOS refuses a limit without an end
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def open_files_max() -> str:
    """Return the limit as a text for messages."""
    if resource is None:
        return "a limited number of"
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return "any number of" if limit == resource.RLIM_INFINITY else f"{limit:,}"


@contextmanager
def open_files_raised(say: Callable[[str], None]) -> Iterator[None]:
    """Raise the limit of open files, and `say` once, in one line, if a connection cannot be accepted all the same."""
    raise_open_files()
    report = _Report(say)
    _ACCEPTING.addFilter(report)
    try:
        yield
    finally:
        _ACCEPTING.removeFilter(report)


class _Report(logging.Filter):
    """Takes the place of trio's tracebacks."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__()
        self._say = say
        self._is_reported = False

    def filter(self, record: logging.LogRecord) -> bool:
        if not self._is_reported:
            self._is_reported = True
            self._say(
                f"new connections wait: this process may open {open_files_max()} files and connections, and all are open; "
                "raise the limit (`ulimit -n`), or let clients close idle connections (connections.max.idle.ms)"
            )
        return False
