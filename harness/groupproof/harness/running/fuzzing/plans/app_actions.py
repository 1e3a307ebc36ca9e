"""The actions of an application or its operator in a drawn plan, the shim capabilities that they need, and their weights. Pure."""

from __future__ import annotations

from enum import Enum
from typing import Final

__all__ = ["MEANWHILE", "NEEDS", "PROCESS_ACTIONS", "REBALANCE_STARTS", "AppAction"]


class AppAction(Enum):
    """An action of an application or its operator."""

    COMMIT = "commit"
    COMMIT_ASYNC = "commit-async"
    PAUSE = "pause"
    RESUBSCRIBE = "resubscribe"
    CLOSE = "close"
    NEWCOMER = "newcomer"
    REBALANCE = "rebalance"
    GROW = "grow"
    MOVE = "move"
    FAULT = "fault"
    PASS = "pass"
    KILL = "kill"
    FREEZE = "freeze"
    BREAK = "break"


NEEDS: Final = {AppAction.COMMIT: "commit", AppAction.COMMIT_ASYNC: "commit-async", AppAction.PAUSE: "pause", AppAction.RESUBSCRIBE: "resubscribe"}
PROCESS_ACTIONS: Final = frozenset({AppAction.KILL, AppAction.FREEZE})
"""Actions on a whole process: its members need one each, which is expensive, so few plans have them."""

REBALANCE_STARTS: Final = {
    AppAction.REBALANCE: 4,
    AppAction.NEWCOMER: 3,
    AppAction.CLOSE: 1,
    AppAction.GROW: 1,
    AppAction.RESUBSCRIBE: 1,
    AppAction.MOVE: 1,
    AppAction.KILL: 2,
}
MEANWHILE: Final = {
    AppAction.COMMIT: 3, AppAction.COMMIT_ASYNC: 3, AppAction.FAULT: 3, AppAction.PASS: 2, AppAction.PAUSE: 1, AppAction.RESUBSCRIBE: 1, AppAction.CLOSE: 1, AppAction.REBALANCE: 1,
    AppAction.NEWCOMER: 1, AppAction.MOVE: 1, AppAction.KILL: 8, AppAction.FREEZE: 8, AppAction.BREAK: 1,
}  # fmt: skip
