"""Answers of faults that the application tells of: whatever became of their connection, the client took them (contract, "Receipts").

A client may hang up so hard over an answer that nobody can see whether it read it. When its application then names the code, it did.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import trio

from groupproof.protocol.trace import Observation, Recorder
from groupproof.protocol.vocabulary import ErrorCode, error_named

__all__ = ["TellTale", "names_code", "watch_receipts"]

Tell = Callable[[str, Mapping[str, Any]], None]

_TELLING: Final = frozenset({"error", "offsets_committed", "answer"})
_COLUMNS: Final = ("client", "api", "connection", "correlation", "group", "member")
_TOLD_MAX: Final = 1_000


@dataclass(slots=True)
class TellTale:
    """Follows a trace; pure. Remembers the refusals that faults have put in and that nobody is known to have taken."""

    _open: dict[str, Observation] = field(default_factory=dict)

    def feed(self, seen: Observation) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the faults whose answer this observation shows to be taken, with the columns of the answer."""
        if seen.kind == "response" and seen.fault is not None and seen.error and seen.client is not None:
            self._open[seen.fault] = seen
        elif seen.kind == "fault" and seen.fault is not None and seen.detail in ("delivered", "healed"):
            self._open.pop(seen.fault, None)
        elif seen.who == "shim" and seen.body.get("name") in _TELLING:
            return [self._taken(name) for name, answer in tuple(self._open.items()) if answer.client == seen.client and _names(seen, answer)]
        return []

    def _taken(self, name: str) -> tuple[str, Mapping[str, Any]]:
        answer = self._open.pop(name)
        return name, {column: getattr(answer, column) for column in _COLUMNS}


def _names(seen: Observation, answer: Observation) -> bool:
    assert answer.error is not None
    words = (str(seen.body[name]) for name in ("error", "message") if seen.body.get(name))
    return any(names_code(word, answer.error) for word in words)


def names_code(words: str, code: int) -> bool:
    """Tell whether a client means error `code` by these words: by its name however it writes it, as CODE_n, or by its number."""
    plain = re.sub(r"[^A-Z0-9]", "", words.upper())
    if code in set(ErrorCode) and error_named(code).replace("_", "") in plain:
        return True
    return re.search(rf"(?:^|(?:code|error|unknown)[\W_]{{0,3}}|\[){code}(?:$|\D)", words, re.IGNORECASE) is not None


async def watch_receipts(recorder: Recorder, tell: Tell, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
    """Have each receipt of this kind told, in a turn of its own: what tells it is then known to all who listen."""
    tale = TellTale()
    send, receive = trio.open_memory_channel[tuple[str, Mapping[str, Any]]](_TOLD_MAX)

    def feed(seen: Observation) -> None:
        for told in tale.feed(seen):
            send.send_nowait(told)

    stop = recorder.listen(feed)
    try:
        task_status.started()
        async for name, columns in receive:
            tell(name, columns)
    finally:
        stop()
