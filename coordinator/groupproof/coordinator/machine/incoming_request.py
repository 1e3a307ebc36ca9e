"""One request from a connection, decoded and named: the broker processes it, and planted bugs of answers read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from groupproof.protocol.wire.message_codec import WireRequest

__all__ = ["IncomingRequest"]


class IncomingRequest(NamedTuple):
    """One request and the columns that name it in the trace. `is_refused` marks an ApiVersions of an unknown version (KIP-511)."""

    wire: WireRequest
    columns: Mapping[str, Any]
    is_refused: bool = False

    @property
    def answer_version(self) -> int:
        """The version of the answer: 0 for a refused ApiVersions."""
        return 0 if self.is_refused else self.wire.version
