"""A shim's log, kept up to a limit: the first lines and the last, so that a flood neither fills memory nor hides the end."""

from __future__ import annotations

from collections import deque

__all__ = ["StderrLog"]

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
        """Return the last nonempty lines."""
        return tuple(line for line in self.since(max(0, self.count - 4 * lines_max)) if line.strip())[-lines_max:]
