"""What a host of third parties' consumers and one such consumer ask of each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["MemberEvent", "ThirdPartyConsumer"]

MemberEvent = Callable[[str, Sequence[TopicPartition], str | None], None]
"""Takes a callback's name, its partitions, and the member id if the client tells one."""


class ThirdPartyConsumer(Protocol):
    """One consumer of a third party, used by one thread."""

    def poll(self, timeout_s: float) -> None:
        """Take part in the group for so long; raise whatever the client raises."""
        ...

    def commit(self) -> str | None:
        """Commit the positions and wait; return Kafka's name of the error, None for success."""
        ...

    def leave(self) -> None:
        """Close in order."""
        ...

    def die(self) -> None:
        """Close every connection without a word."""
        ...
