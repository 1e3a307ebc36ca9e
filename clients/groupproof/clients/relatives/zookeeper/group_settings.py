"""An application's settings for the consumer on ZooKeeper: names and defaults of kafka.consumer.ConsumerConfig 0.9.0.1, in milliseconds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["ConsumerSettings", "WhiteList"]

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class WhiteList:
    """Topics by a regular expression; with `is_black`, all other topics (createMessageStreamsByFilter). `threads` streams share them."""

    pattern: str
    threads: int = 1
    is_black: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    """The settings of one consumer process. `topics` is the topic count map, topic to threads, or a `WhiteList`.

    `rebalance_backoff_ms` defaults to zookeeper.sync.time.ms (TIMER-33). Raise `ValueError` for values that ConsumerConfig refuses.
    """

    group: str
    topics: Mapping[str, int] | WhiteList = field(default_factory=dict)
    zookeeper_session_timeout_ms: int = 6_000
    zookeeper_sync_time_ms: int = 2_000
    rebalance_max_retries: int = 4
    rebalance_backoff_ms: int = -1
    auto_commit_enable: bool = True
    auto_commit_interval_ms: int = 60_000
    queued_max_message_chunks: int = 2
    fetch_message_max_bytes: int = 1_048_576
    consumer_timeout_ms: int = -1
    refresh_leader_backoff_ms: int = 200
    offsets_channel_backoff_ms: int = 1_000
    offsets_commit_max_retries: int = 5
    offsets_storage: str = "zookeeper"
    dual_commit_enabled: bool | None = None
    auto_offset_reset: str = "largest"
    exclude_internal_topics: bool = True
    assignor: str = "range"  # partition.assignment.strategy

    def __post_init__(self) -> None:
        if not _LEGAL.fullmatch(self.group):
            raise ValueError(f"group.id {self.group!r} is illegal: it may hold letters, digits, '.', '_' and '-'")
        _one_of("auto.offset.reset", self.auto_offset_reset, ("smallest", "largest"))
        _one_of("offsets.storage", self.offsets_storage, ("zookeeper", "kafka"))
        _one_of("partition.assignment.strategy", self.assignor, ("range", "roundrobin"))
        threads = [self.topics.threads] if isinstance(self.topics, WhiteList) else list(self.topics.values())
        if any(count < 1 for count in threads):
            raise ValueError("a topic needs at least one thread")
        if self.rebalance_max_retries < 0:
            raise ValueError("rebalance.max.retries must not be negative")

    @property
    def backoff_ms(self) -> int:
        """The pause after a failed attempt."""
        return self.zookeeper_sync_time_ms if self.rebalance_backoff_ms < 0 else self.rebalance_backoff_ms

    @property
    def is_dual(self) -> bool:
        """Return whether offsets are committed to Kafka and ZooKeeper."""
        is_in_kafka = self.offsets_storage == "kafka"
        return is_in_kafka if self.dual_commit_enabled is None else self.dual_commit_enabled


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} is {' or '.join(allowed)}, not {value!r}")
