"""Receipts of injected errors that the application reports: the client read the answer, even if its connection ended (contract, "Receipts").

A client may reset its connection so abruptly that nobody can see whether it read the answer. When its application then names the code, it did.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import trio

from groupproof.protocol.trace import Observation, Recorder
from groupproof.protocol.vocabulary import ErrorCode, error_named

__all__ = ["RefusalTracker", "names_code", "watch_receipts"]

Tell = Callable[[str, Mapping[str, Any]], None]

_TELLING: Final = frozenset({"error", "offsets_committed", "answer"})
_COLUMNS: Final = ("client", "api", "connection", "correlation", "group", "member")
_REPORTS_MAX: Final = 1_000


@dataclass(slots=True)
class RefusalTracker:
    """Follows a trace; pure. Remembers the injected errors that the client is not yet known to have read."""

    _open: dict[str, Observation] = field(default_factory=dict)

    def feed(self, obs: Observation) -> list[tuple[str, Mapping[str, Any]]]:
        """Return the faults whose answer the client has read, by this observation, with the columns of the answer."""
        if obs.kind == "response" and obs.fault is not None and obs.error and obs.client is not None:
            self._open[obs.fault] = obs
        elif obs.kind == "fault" and obs.fault is not None and obs.detail in ("delivered", "healed"):
            self._open.pop(obs.fault, None)
        elif obs.who == "shim" and obs.body.get("name") in _TELLING:
            return [self._pop_open(name) for name, answer in tuple(self._open.items()) if answer.client == obs.client and _names(obs, answer)]
        return []

    def _pop_open(self, name: str) -> tuple[str, Mapping[str, Any]]:
        answer = self._open.pop(name)
        return name, {column: getattr(answer, column) for column in _COLUMNS}


def _names(obs: Observation, answer: Observation) -> bool:
    assert answer.error is not None
    words = (str(obs.body[name]) for name in ("error", "message") if obs.body.get(name))
    return any(names_code(word, answer.error) for word in words)


def names_code(words: str, code: int) -> bool:
    """Return whether a client's words mean error `code`: they contain its name in any spelling, CODE_n, or its number."""
    plain = re.sub(r"[^A-Z0-9]", "", words.upper())
    if code in set(ErrorCode) and error_named(code).replace("_", "") in plain:
        return True
    return re.search(rf"(?:^|(?:code|error|unknown)[\W_]{{0,3}}|\[){code}(?:$|\D)", words, re.IGNORECASE) is not None


async def watch_receipts(recorder: Recorder, tell: Tell, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
    """Pass each such receipt to `tell` in a turn of its own, so that all listeners have its observation before."""
    tracker = RefusalTracker()
    send, receive = trio.open_memory_channel[tuple[str, Mapping[str, Any]]](_REPORTS_MAX)

    def feed(obs: Observation) -> None:
        for receipt in tracker.feed(obs):
            send.send_nowait(receipt)

    stop = recorder.listen(feed)
    try:
        task_status.started()
        async for name, columns in receive:
            tell(name, columns)
    finally:
        stop()
