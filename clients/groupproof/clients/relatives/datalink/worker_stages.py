"""The stages of a worker's ticking thread. They are finer than the states of the design."""

from __future__ import annotations

from enum import Enum
from typing import Final

__all__ = ["BEATING", "ENDED", "REFRESHING", "SYNCING", "Stage"]


class Stage(Enum):
    """The event that the ticking thread waits for."""

    DOWN = "not started, or ended"
    IDLE = "ticking"
    STOPPING = "tasks are being stopped before JoinGroup"
    JOINING = "JoinGroup sent"
    LEADING = "the leader reads its configurations again"
    SYNCING = "SyncGroup sent"
    CATCHING_UP = "configurations are read again for the assignment"
    GIVING_AWAY = "tasks are being stopped that the assignment gives to others"
    CLOSING = "tasks are being stopped for good"
    LEAVING = "LeaveGroup sent"


SYNCING: Final = (Stage.LEADING, Stage.SYNCING)
BEATING: Final = (Stage.IDLE, Stage.STOPPING, Stage.CATCHING_UP, Stage.GIVING_AWAY)
REFRESHING: Final = (Stage.LEADING, Stage.CATCHING_UP)
ENDED: Final = (Stage.DOWN, Stage.CLOSING, Stage.LEAVING)
