"""A frame on its way through the tap: its header, and its body where this kit can read it. Pure.

The bytes are kept and forwarded unchanged. What the kit reads of them is for the trace alone.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Final

from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import VERSIONS, WireError, WireRequest, read_request, read_response

__all__ = ["STOPPED", "ForwardedFrame", "answer_of", "correlation_of", "passing_of"]

STOPPED: Final = "the tap was stopped"
"""Why a connection ended that was open to the end of the run."""

_HEADER: Final = struct.Struct(">hhi")
_APIS: Final[dict[int | None, Api]] = {int(api): api for api in Api}
_CORRELATION: Final = struct.Struct(">i")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardedFrame:
    """One request. `wire` is None where it cannot be read, and `why` gives the reason. Without a header `api_key` is None.

    `api` is None where the kit does not know its version; then its response cannot be read either. Otherwise the response can be read, whatever the
    request holds. Brokers tolerate more than the kit does, such as the bytes that librdkafka 2.16 sends after a Metadata request for all topics.
    """

    payload: bytes
    api_key: int | None
    version: int
    correlation: int
    wire: WireRequest | None
    why: str = ""

    @property
    def api(self) -> Api | None:
        api = _APIS.get(self.api_key)
        return api if api is not None and VERSIONS[api][0] <= self.version <= VERSIONS[api][1] else None

    @property
    def is_answered(self) -> bool:
        """Return whether a broker answers it. A Produce with acks 0 gets no response; neither does a request without a header."""
        if self.api_key is None:
            return False
        return self.wire is None or self.wire.api is not Api.PRODUCE or self.wire.body.get("acks") != 0

    @property
    def tells_tokens(self) -> bool:
        """Return whether frames without headers follow it: SaslHandshake v0 (KIP-43), which v1 ended (KIP-152)."""
        return self.api_key == Api.SASL_HANDSHAKE and self.version == 0


def passing_of(payload: bytes) -> ForwardedFrame:
    """Return a request as a `ForwardedFrame`. An unreadable request is forwarded too."""
    if len(payload) < _HEADER.size:
        why = f"a request of {len(payload)} bytes is shorter than its header"
        return ForwardedFrame(payload=payload, api_key=None, version=0, correlation=0, wire=None, why=why)
    api_key, version, correlation = _HEADER.unpack_from(payload)
    wire, why = None, ""
    try:
        wire = read_request(payload)
    except WireError as error:
        why = str(error)
    return ForwardedFrame(payload=payload, api_key=api_key, version=version, correlation=correlation, wire=wire, why=why)


def correlation_of(payload: bytes) -> int | None:
    """Return the correlation id of a response. Return None where it is too short to hold one."""
    return int(_CORRELATION.unpack_from(payload)[0]) if len(payload) >= _CORRELATION.size else None


def answer_of(asked: ForwardedFrame, payload: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return the body of the response to `asked`. Return None and the reason where it cannot be read."""
    if asked.api is None:
        return None, asked.why
    try:
        return read_response(asked.api, asked.version, payload)[1], ""
    except WireError as error:
        return None, str(error)
