"""The settings of a Kafka Streams thread: Kafka's application settings, and the versions that its release knows."""

from __future__ import annotations

from dataclasses import dataclass

from groupproof.protocol.wire.embedded.streams_protocol import NO_ERROR, STREAMS_VERSION_MAX

__all__ = ["ThreadSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSettings:
    """Settings of one thread. Each topic of the member is a subtopology.

    `latest` is the newest version of the user data that its release knows; it may be a future one. `first` is the version that it starts with
    (0: the newest). `error` is the error code in its user data from the start (KIP-671). At the record with offset `fails_at` the application
    fails and requests the shutdown of all members. Raise `ValueError` for impossible versions or a negative number of standbys.
    """

    process: str
    is_stateful: bool = False
    standbys: int = 0
    latest: int = STREAMS_VERSION_MAX
    first: int = 0
    error: int = NO_ERROR
    fails_at: int | None = None

    def __post_init__(self) -> None:
        if self.latest < 1:
            raise ValueError(f"versions begin with 1, not {self.latest}")
        if not 0 <= self.first <= self.latest:
            raise ValueError(f"a release that knows version {self.latest} does not begin with {self.first}")
        if self.standbys < 0:
            raise ValueError("num.standby.replicas must not be negative")
