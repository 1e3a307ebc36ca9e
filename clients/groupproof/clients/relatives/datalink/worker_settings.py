"""The settings of a worker: DataLink's own names in snake case. All times are in milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

__all__ = ["HAND_OVERS", "HandOver", "WorkerSettings"]

HandOver = Literal["stop-everything", "incremental"]
HAND_OVERS: Final[tuple[HandOver, ...]] = ("stop-everything", "incremental")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Settings of one worker. The defaults are DataLink's (TIMER-29 to TIMER-31). Raise `ValueError` if no worker can start with them (MGR-03).

    `name` is the client id, and the name that tasks are bound to. `hand_over` says what a rebalance stops: all tasks (DataLink, WTASK-04), or only
    moving tasks (PLAN-02). With `fences`, a worker stops its tasks when its session ends by its own clock; DataLink's continues.
    `worker_sync_timeout_ms` bounds the wait for new configurations. After it the worker leaves for `worker_unsync_backoff_ms`.
    """

    group: str
    bootstrap: tuple[tuple[str, int], ...]
    name: str
    assignor: str = "round-robin"
    hand_over: HandOver = "stop-everything"
    fences: bool = False
    capacity: float = 1.0
    resources: Mapping[str, float] = field(default_factory=dict)
    session_timeout_ms: int = 10_000
    heartbeat_interval_ms: int = 3_000
    rebalance_timeout_ms: int = 60_000
    request_timeout_ms: int = 40_000
    retry_backoff_ms: int = 100
    tick_ms: int = 500
    worker_sync_timeout_ms: int = 3_000
    worker_unsync_backoff_ms: int = 300_000

    def __post_init__(self) -> None:
        if not self.group.strip():
            raise ValueError("a worker needs a group: without one it cannot take part in balancing (MGR-03)")
        if not self.bootstrap:
            raise ValueError("a worker needs the address of a Manager: without one it cannot take part in balancing (MGR-03)")
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise ValueError(
                f"heartbeat.interval.ms ({self.heartbeat_interval_ms}) must be lower than session.timeout.ms ({self.session_timeout_ms})"
            )
        if self.hand_over not in HAND_OVERS:
            raise ValueError(f"a hand-over is {' or '.join(HAND_OVERS)}, not {self.hand_over!r}")
        if self.capacity <= 0:
            raise ValueError(f"a worker's capacity is above 0, not {self.capacity}")
