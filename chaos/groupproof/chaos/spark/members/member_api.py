"""The interface between a host and its third-party consumers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["MemberEvent", "ThirdPartyConsumer"]

MemberEvent = Callable[[str, Sequence[TopicPartition], str | None], None]
"""Gets a callback's name, its partitions, and the member id if the client reports one."""


class ThirdPartyConsumer(Protocol):
    """One third-party consumer, used by one thread."""

    def poll(self, timeout_s: float) -> None:
        """Take part in the group for `timeout_s`; raise the client's errors."""
        ...

    def commit(self) -> str | None:
        """Commit the positions and wait; return Kafka's name of the error, None for success."""
        ...

    def leave(self) -> None:
        """Close in order."""
        ...

    def die(self) -> None:
        """Close every connection without a LeaveGroup."""
        ...
