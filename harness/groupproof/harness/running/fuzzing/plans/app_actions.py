"""What an application or its operator does in a drawn plan, what its shim must be able to do for it, and how often it comes. Pure."""

from __future__ import annotations

from enum import Enum
from typing import Final

__all__ = ["ALONE", "MEANWHILE", "NEEDS", "STIRS", "Doing"]


class Doing(Enum):
    """What an application, or its operator, does."""

    COMMIT = "commit"
    COMMIT_ASYNC = "commit-async"
    PAUSE = "pause"
    RESUBSCRIBE = "resubscribe"
    CLOSE = "close"
    NEWCOMER = "newcomer"
    TOLD = "told"
    GROW = "grow"
    MOVE = "move"
    MISHAP = "mishap"
    PASS = "pass"
    KILL = "kill"
    FREEZE = "freeze"
    BREAK = "break"


NEEDS: Final = {Doing.COMMIT: "commit", Doing.COMMIT_ASYNC: "commit-async", Doing.PAUSE: "pause", Doing.RESUBSCRIBE: "resubscribe"}
ALONE: Final = frozenset({Doing.KILL, Doing.FREEZE})
"""What is done to a whole process: its members need one each, which is dear, so that few plans have it."""

STIRS: Final = {Doing.TOLD: 4, Doing.NEWCOMER: 3, Doing.CLOSE: 1, Doing.GROW: 1, Doing.RESUBSCRIBE: 1, Doing.MOVE: 1, Doing.KILL: 2}
MEANWHILE: Final = {
    Doing.COMMIT: 3, Doing.COMMIT_ASYNC: 3, Doing.MISHAP: 3, Doing.PASS: 2, Doing.PAUSE: 1, Doing.RESUBSCRIBE: 1, Doing.CLOSE: 1, Doing.TOLD: 1,
    Doing.NEWCOMER: 1, Doing.MOVE: 1, Doing.KILL: 8, Doing.FREEZE: 8, Doing.BREAK: 1,
}  # fmt: skip
