from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from tests.harness.subjects.brokers.scripted_broker import ScriptedBroker

from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.subjects.networks.client_properties import Credentials, Security
from groupproof.harness.subjects.networks.secure_connection import Connector, tls_context
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import WireRequest

PLAIN = Credentials(mechanism="PLAIN", username="alice", password="secret")
SCRAM = Credentials(mechanism="SCRAM-SHA-256", username="alice", password="secret")


def _secured(credentials: Credentials, answer: Any) -> list[WireRequest]:
    """Return what was asked; raise what the connector raises."""
    asked: list[WireRequest] = []
    raised: list[Exception] = []

    async def main() -> None:
        async with ScriptedBroker.up(answer) as broker:
            try:
                stream = await broker.connect("h", 9093)
                await Connector.of(Security(credentials=credentials)).secured(stream, "h", 9093)
            except BrokenEnvironment as error:
                raised.append(error)
            asked.extend(broker.asked)

    trio.run(main)
    if raised:
        raise raised[0]
    return asked


def test_plain_is_one_message_after_the_handshake() -> None:
    asked = _secured(PLAIN, lambda _: {"error_code": 0})

    assert [request.api for request in asked] == [Api.SASL_HANDSHAKE, Api.SASL_AUTHENTICATE]
    assert asked[0].body["mechanism"] == "PLAIN"
    assert asked[1].body["auth_bytes"] == b"\0alice\0secret"


def test_a_mechanism_that_the_broker_lacks_is_reported_with_those_it_has() -> None:
    with pytest.raises(BrokenEnvironment, match="h:9093 does not take PLAIN, it takes SCRAM-SHA-256"):
        _secured(PLAIN, lambda _: {"error_code": 33, "mechanisms": ("SCRAM-SHA-256",)})


def test_a_wrong_password_is_reported_without_it() -> None:
    def answer(request: WireRequest) -> dict[str, Any]:
        return {"error_code": 0} if request.api is Api.SASL_HANDSHAKE else {"error_code": 58, "error_message": "no such user"}

    with pytest.raises(BrokenEnvironment, match=r"^h:9093 refuses 'alice' by PLAIN: no such user$"):
        _secured(PLAIN, answer)


def test_a_server_without_scram_is_reported() -> None:
    with pytest.raises(BrokenEnvironment, match="can't authenticate by SCRAM-SHA-256: the server's first answer is none"):
        _secured(SCRAM, lambda request: {"error_code": 0, "auth_bytes": b"hello"} if request.api is Api.SASL_AUTHENTICATE else {"error_code": 0})


def test_a_broker_that_ends_the_connection_is_reported_with_a_guess() -> None:
    with pytest.raises(BrokenEnvironment, match=r"no SASL with h:9093: the broker closed the connection; is security\.protocol right"):
        _secured(PLAIN, lambda _: None)


def test_without_tls_there_is_no_context() -> None:
    assert tls_context(Security()) is None


def test_a_context_follows_the_setting_for_the_check_of_names() -> None:
    context = tls_context(Security(uses_tls=True, checks_name=False))

    assert context is not None
    assert not context.check_hostname


def test_files_that_are_no_pem_are_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("nothing")
    for security in (Security(uses_tls=True, ca=str(tmp_path / "ca.pem")), Security(uses_tls=True, certificate=str(tmp_path / "none.pem"))):
        with pytest.raises(WrongUsage, match="certificates or keys can't be read as PEM"):
            tls_context(security)


def test_a_port_that_speaks_no_tls_is_reported() -> None:
    async def main() -> None:
        async with ScriptedBroker.up(lambda _: None) as broker:
            # What the broker reads of the client's hello is no frame of an API it knows: it closes.
            stream = await broker.connect("h", 9092)
            with pytest.raises(BrokenEnvironment, match=r"no TLS with h:9092: .*see ssl\.\* in --properties"):
                await Connector.of(Security(uses_tls=True)).secured(_Closing(stream), "h", 9092)

    trio.run(main)


class _Closing(trio.abc.Stream):
    """A stream whose peer takes anything and closes."""

    def __init__(self, inner: trio.abc.Stream) -> None:
        self._inner = inner

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await trio.lowlevel.checkpoint()

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await trio.lowlevel.checkpoint()
        return b""

    async def aclose(self) -> None:
        await self._inner.aclose()
