"""A shim's log, kept up to a limit: the first lines and the last, so that a flood neither fills memory nor hides the end."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

__all__ = ["StderrLog"]

_LAST_MAX: Final = 200
"""The lines in which the last words are looked for: the stack of a crash stands behind them in Go, Node and Java."""

_FRAME: Final = re.compile(r"\s+at |\t/.*:\d+|goroutine \d+ \[|Node\.js v\d")
_GO_FRAME: Final = re.compile(r"\t/.*:\d+")  # the line before it names the function

HEAD_CHARS_MAX = 64 << 10
TAIL_CHARS_MAX = 192 << 10
LINE_CHARS_MAX = 4 << 10


class StderrLog:
    """Lines of one process. Several cases may share it; each asks for the lines `since` its own start."""

    def __init__(self) -> None:
        self._head: list[str] = []
        self._head_chars = 0
        self._tail: deque[str] = deque()
        self._tail_chars = 0
        self._dropped = 0

    def add(self, text: str) -> None:
        line = text[:LINE_CHARS_MAX]
        if not self._tail and not self._dropped and self._head_chars + len(line) <= HEAD_CHARS_MAX:
            self._head.append(line)
            self._head_chars += len(line)
            return
        self._tail.append(line)
        self._tail_chars += len(line)
        while self._tail_chars > TAIL_CHARS_MAX:
            self._tail_chars -= len(self._tail.popleft())
            self._dropped += 1

    @property
    def count(self) -> int:
        """Return how many lines have come so far, dropped ones included."""
        return len(self._head) + self._dropped + len(self._tail)

    def since(self, count: int) -> list[str]:
        """Return the kept lines after the first `count`, with one line that says so where some were dropped."""
        head = self._head[count:]
        gone = self._dropped - max(0, count - len(self._head))
        if gone <= 0:
            return head + list(self._tail)[-gone:]
        return [*head, f"[groupproof] {gone} lines dropped here", *self._tail]

    def last(self, lines_max: int = 8) -> tuple[str, ...]:
        """Return the last nonempty lines. The frames of a stack are left out, unless there is nothing else: the error stands before them."""
        lines = [line for line in self.since(max(0, self.count - _LAST_MAX)) if line.strip()]
        return tuple((_without_frames(lines) or lines)[-lines_max:])


def _without_frames(lines: Sequence[str]) -> list[str]:
    return [line for line, after in zip_longest(lines, lines[1:], fillvalue="") if not _FRAME.match(line) and not _GO_FRAME.match(after)]
