"""Caches answers that are the same for every client until the cluster changes: each is written once.

Every member of a group asks for the API versions, on each of its connections, and for the partitions of its topic. With a thousand partitions that
answer takes longer to make and to write than all requests to the coordinator.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.broker.metadata import OFFSETS_TOPIC, ClusterMetadata, api_versions, metadata
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import write_response
from groupproof.protocol.wire.message_conversion import body_of
from groupproof.protocol.wire.observation_columns import response_columns

if TYPE_CHECKING:
    from groupproof.coordinator.machine.incoming_request import IncomingRequest
    from groupproof.protocol.wire.message_codec import WireRequest
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["ANSWERS_MAX", "KeptAnswer", "KeptAnswers", "answer_columns", "written_answer"]

ANSWERS_MAX: Final = 64
_CORRELATION_END: Final = 4
_LENGTH_AND_CORRELATION: Final = struct.Struct(">ii")


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer in bytes, without its correlation id, and its columns in a trace."""

    written: bytes
    columns: Mapping[str, Any]

    def frame(self, correlation: int) -> bytes:
        """Return the frame that answers the request with this correlation id, with its length prefix."""
        return _LENGTH_AND_CORRELATION.pack(len(self.written) + _CORRELATION_END, correlation) + self.written


class KeptAnswers:
    """The newest answers of one broker to ApiVersions, and to Metadata that names its topics."""

    def __init__(self, cluster: ClusterMetadata) -> None:
        self._cluster = cluster
        self._kept: dict[Hashable, KeptAnswer] = {}
        self._state: Hashable = None

    def answer(self, arrived: IncomingRequest) -> KeptAnswer | None:
        """Return the answer to a request, as `metadata.py` makes it; None where it is not cached."""
        key = None if arrived.is_refused else _key(arrived)
        if key is None:
            return None
        state = self._cluster.state
        if state != self._state or len(self._kept) >= ANSWERS_MAX:
            self._state, self._kept = state, {}
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = self._made(arrived)
        return kept

    def _made(self, arrived: IncomingRequest) -> KeptAnswer:
        wire = arrived.wire
        return written_answer(
            self._cluster, arrived, (api_versions if wire.api is Api.API_VERSIONS else metadata)(self._cluster, wire.body, wire.version)
        )


_OF_VERSIONS: Final[dict[Hashable, KeptAnswer]] = {}
"""The answers to ApiVersions of all clusters in this process. Each case of a run has its own cluster, and they list the same sixty APIs."""


def written_answer(cluster: ClusterMetadata, arrived: IncomingRequest, body: Mapping[str, Any]) -> KeptAnswer:
    """Return the answer with this body, for a request that was not refused."""
    wire = arrived.wire
    columns = response_columns(wire.api, wire.body, body, cluster.topics.name_of)
    return KeptAnswer(write_response(wire.api, wire.version, 0, body)[_CORRELATION_END:], columns)


def answer_columns(answer: GroupResponse | KeptAnswer, wire: WireRequest, named: Callable[[str], str]) -> Mapping[str, Any]:
    """Return the trace columns of an answer that was given where its request was read."""
    return answer.columns if isinstance(answer, KeptAnswer) else response_columns(wire.api, wire.body, body_of(answer), named)


def _key(arrived: IncomingRequest) -> Hashable:
    """Return the facts that the answer depends on besides the cluster; None where the answer is not cached."""
    wire = arrived.wire
    if wire.api is Api.API_VERSIONS:
        return wire.api, wire.version, wire.body.get("client_software_name"), wire.body.get("client_software_version")
    if wire.api is not Api.METADATA or not wire.body.get("topics"):
        return None
    names = tuple(topic.get("name") if topic.get("topic_id") is None else None for topic in wire.body["topics"])
    return None if None in names or OFFSETS_TOPIC in names else (wire.api, wire.version, names)
