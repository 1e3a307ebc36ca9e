from __future__ import annotations

import pytest
import trio

from groupproof.harness.subjects.networks.wrong_port import other_server, tls_hint
from groupproof.protocol.wire.message_codec import Framer, FramingError, WireError

TLS = "a port with TLS needs --properties FILE with security.protocol=SSL or SASL_SSL"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", "it looks like an HTTP server: its answer begins with 'HTTP/1.1 400 Bad'"),
        (b"<!DOCTYPE HTML>\n<html>", "it looks like an HTTP server: its answer begins with '<!DOCTYPE HTML>'"),
        (b"-ERR unknown command", "it speaks another protocol: its answer begins with '-ERR unknown com'"),
        (bytes.fromhex("15030300020246"), f"it answers with a TLS alert; {TLS}"),
        (b"\xff\xfe\xfd\xfc of no protocol", ""),
    ],
)
def test_a_server_is_recognised_by_the_first_bytes_that_are_no_frame(answer: bytes, text: str) -> None:
    with pytest.raises(FramingError) as raised:
        Framer().feed(answer)

    assert other_server(raised.value.first_bytes) == text


def test_only_a_connection_that_ends_without_an_answer_may_need_tls() -> None:
    assert tls_hint(trio.BrokenResourceError("reset")) == tls_hint(EOFError()) == f"; {TLS}"
    assert [tls_hint(error) for error in (OSError("refused"), trio.TooSlowError(), WireError("no answer"))] == ["", "", ""]
