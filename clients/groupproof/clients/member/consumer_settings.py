"""An application's settings for a member: Kafka's consumer settings in snake case. All times are in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass, fields

from groupproof.clients.member.connect_settings import WorkerSettings
from groupproof.clients.member.streams_settings import ThreadSettings

__all__ = ["MemberSettings"]

JOIN_TIMEOUT_SLACK_MS = 5_000  # Kafka's JOIN_GROUP_TIMEOUT_LAPSE


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSettings:
    """The settings of one member. Defaults are Kafka's, except `close_timeout_ms` (Kafka: 30 s), which bounds a clean close.

    Raise `ValueError` if the heartbeat interval is not below the session timeout (CLIENT-42), a number is negative, the assignors are
    empty, or `auto_offset_reset` is unknown.
    """

    group: str
    topics: tuple[str, ...]
    instance_id: str | None = None
    assignors: tuple[str, ...] = ("range",)
    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    auto_commit: bool = True
    auto_commit_interval_ms: int = 5_000
    auto_offset_reset: str = "latest"
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    request_timeout_ms: int = 30_000
    default_api_timeout_ms: int = 60_000
    close_timeout_ms: int = 5_000
    metadata_max_age_ms: int = 300_000
    connections_max_idle_ms: int = 540_000
    fetch_max_wait_ms: int = 500
    max_poll_records: int = 500
    rack: str | None = None
    by_epochs: bool = False  # speaks KIP-848's protocol, not the classic one
    topic_regex: str | None = None  # RE2/J, instead of topics; only with `by_epochs`
    remote_assignor: str | None = None  # the broker's assignor; only with `by_epochs`
    worker: WorkerSettings | None = None  # a worker of Kafka Connect, whose connectors are `topics`
    thread: ThreadSettings | None = None  # a thread of Kafka Streams

    def __post_init__(self) -> None:
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise ValueError(
                f"heartbeat.interval.ms ({self.heartbeat_interval_ms}) must be lower than session.timeout.ms ({self.session_timeout_ms})"
            )
        negative = [column.name for column in fields(self) if isinstance(value := getattr(self, column.name), int) and value < 0]
        if negative:
            raise ValueError(f"{negative[0]} must not be negative")
        if not self.assignors:
            raise ValueError("at least one assignor is needed")
        if self.auto_offset_reset not in ("earliest", "latest", "none"):
            raise ValueError(f"auto_offset_reset is earliest, latest or none, not {self.auto_offset_reset!r}")

    @property
    def rebalance_timeout_ms(self) -> int:
        """The member's rebalance timeout is its max.poll.interval.ms (CLIENT-23)."""
        return self.max_poll_interval_ms

    @property
    def join_timeout_ms(self) -> int:
        """The timeout of a JoinGroup is longer than the rebalance timeout (CLIENT-22)."""
        return max(self.rebalance_timeout_ms + JOIN_TIMEOUT_SLACK_MS, self.request_timeout_ms)
