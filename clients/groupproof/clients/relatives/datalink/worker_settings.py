"""The settings of a worker: DataLink's own names in snake case, milliseconds throughout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

__all__ = ["HAND_OVERS", "HandOver", "WorkerSettings"]

HandOver = Literal["stop-everything", "incremental"]
HAND_OVERS: Final[tuple[HandOver, ...]] = ("stop-everything", "incremental")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """One worker; the defaults are DataLink's (TIMER-29 to TIMER-31). Raises `ValueError` for what no worker can start with (MGR-03).

    `name` is the client id, and what tasks are bound to. `hand_over` says what a rebalance stops: all tasks (DataLink, WTASK-04), or what moves
    (PLAN-02). With `fences` a worker whose session ended by its own clock stops its tasks without being told; DataLink's goes on.
    `worker_sync_timeout_ms` bounds the wait for configurations that are new enough; then the worker leaves for `worker_unsync_backoff_ms`.
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
