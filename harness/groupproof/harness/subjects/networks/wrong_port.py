"""Recognises a server that is no broker, and a port that may need TLS, by what it does with a request of Kafka's protocol. Pure."""

from __future__ import annotations

from typing import Final

import trio

__all__ = ["other_server", "tls_hint"]

_TLS_ALERT: Final = b"\x15\x03"
"""The first bytes of a TLS alert (RFC 8446): a server's answer to bytes that are no TLS."""

_HTTP: Final = (b"HTTP/", b"<")
_NEEDS_TLS: Final = "a port with TLS needs --properties FILE with security.protocol=SSL or SASL_SSL"


def other_server(first_bytes: bytes) -> str:
    """Return which other server answers so, "" for bytes that name none."""
    if first_bytes.startswith(_TLS_ALERT):
        return f"it answers with a TLS alert; {_NEEDS_TLS}"
    text = first_bytes.split(b"\n")[0].strip()
    if not text or not all(0x20 <= byte < 0x7F for byte in text):
        return ""
    kind = "looks like an HTTP server" if first_bytes.startswith(_HTTP) else "speaks another protocol"
    return f"it {kind}: its answer begins with {text.decode()!r}"


def tls_hint(error: Exception) -> str:
    """Return what to try where a server ends a connection without TLS instead of answering, "" for another error."""
    return f"; {_NEEDS_TLS}" if isinstance(error, trio.BrokenResourceError | trio.ClosedResourceError | EOFError) else ""
