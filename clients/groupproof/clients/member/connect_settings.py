"""The settings of a Kafka Connect worker: Kafka's own settings, and how far the worker has read the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from groupproof.protocol.wire.embedded.connect_protocol import CONNECT_PROTOCOLS

__all__ = ["WorkerSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Settings of one worker. The connectors are the member's topics, each with `tasks_max` tasks.

    `config_end` is the last configuration offset that it can read (None: no limit). Raise `ValueError` for an unknown protocol or a negative number.
    """

    url: str
    protocol: str = "sessioned"
    tasks_max: int = 1
    rebalance_max_delay_ms: int = 300_000
    config_offset: int = 1
    config_end: int | None = None

    def __post_init__(self) -> None:
        if self.protocol not in {"eager", *CONNECT_PROTOCOLS[1:]}:
            raise ValueError(f"connect.protocol is eager, compatible or sessioned, not {self.protocol!r}")
        if min(self.tasks_max, self.rebalance_max_delay_ms) < 0:
            raise ValueError("a worker's numbers must not be negative")

    @property
    def version(self) -> int:
        """The newest version of its metadata and assignments."""
        return 0 if self.protocol == "eager" else CONNECT_PROTOCOLS.index(self.protocol)
