"""Connections to brokers with TLS or SASL. The result is a stream that is ready for the caller's first frame."""

from __future__ import annotations

import secrets
import ssl
from dataclasses import dataclass
from typing import Final

import trio

from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.subjects.networks.client_properties import Credentials, Security
from groupproof.harness.subjects.networks.request_connection import GONE, Asker, NoCommonVersion
from groupproof.harness.subjects.networks.scram import Scram, ScramError, plain_message
from groupproof.protocol.vocabulary import Api

__all__ = ["Connector", "tls_context"]

_CONNECT_S: Final = 15.0


def tls_context(security: Security) -> ssl.SSLContext | None:
    """Return the TLS context, or None without TLS. Raise `WrongUsage` for files that cannot be read as PEM."""
    if not security.uses_tls:
        return None
    try:
        context = ssl.create_default_context(cafile=security.ca, cadata=security.ca_text)
        context.check_hostname = security.checks_name
        if security.certificate is not None:
            context.load_cert_chain(security.certificate, security.key, security.key_password)
    except (OSError, ValueError) as error:
        raise WrongUsage(f"--properties: certificates or keys can't be read as PEM: {error}") from error
    return context


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """Opens connections by one `Security`."""

    context: ssl.SSLContext | None
    credentials: Credentials | None

    @classmethod
    def of(cls, security: Security) -> Connector:
        return cls(context=tls_context(security), credentials=security.credentials)

    async def connect(self, host: str, port: int) -> trio.abc.Stream:
        """Raise `OSError` where nothing listens, `TooSlowError` where nothing answers, and `BrokenEnvironment` where TLS or SASL fails."""
        try:
            with trio.fail_after(_CONNECT_S):
                return await self.secured(await trio.open_tcp_stream(host, port), host, port)
        except trio.TooSlowError as slow:
            raise trio.TooSlowError(str(slow) or f"no connection to {host}:{port} within {_CONNECT_S:g} s") from slow

    async def secured(self, stream: trio.abc.Stream, host: str, port: int) -> trio.abc.Stream:
        """Return `stream` after TLS and SASL. It is closed where they fail."""
        try:
            if self.context is not None:
                stream = await self._encrypted(stream, host, port)
            if self.credentials is not None:
                await _authenticate(stream, self.credentials, f"{host}:{port}")
        except BaseException:
            await trio.aclose_forcefully(stream)
            raise
        return stream

    async def _encrypted(self, stream: trio.abc.Stream, host: str, port: int) -> trio.abc.Stream:
        assert self.context is not None
        encrypted = trio.SSLStream(stream, self.context, server_hostname=host, https_compatible=True)
        try:
            await encrypted.do_handshake()
        except trio.BrokenResourceError as error:
            cause = error.__cause__
            why = getattr(cause, "verify_message", None) or getattr(cause, "reason", None) or cause or "the connection ended"
            raise BrokenEnvironment(f"no TLS with {host}:{port}: {why}; see ssl.* in --properties") from error
        return encrypted


async def _authenticate(stream: trio.abc.Stream, credentials: Credentials, where: str) -> None:
    asker = Asker(stream)
    try:
        await asker.greet()
        answer = await asker.ask(Api.SASL_HANDSHAKE, {"mechanism": credentials.mechanism}, version=1)
        if answer["error_code"]:
            raise BrokenEnvironment(f"{where} does not take {credentials.mechanism}, it takes {', '.join(answer['mechanisms']) or 'nothing'}")
        await _prove(asker, credentials, where)
    except (*GONE, NoCommonVersion) as error:
        raise BrokenEnvironment(f"no SASL with {where}: {str(error) or type(error).__name__}; is security.protocol right for this port?") from error
    except ScramError as error:
        raise BrokenEnvironment(f"{where} and {credentials.username!r} can't authenticate by {credentials.mechanism}: {error}") from error


async def _prove(asker: Asker, credentials: Credentials, where: str) -> None:
    async def say(message: bytes) -> bytes:
        answer = await asker.ask(Api.SASL_AUTHENTICATE, {"auth_bytes": message})
        if answer["error_code"]:
            raise BrokenEnvironment(
                f"{where} refuses {credentials.username!r} by {credentials.mechanism}: {answer['error_message'] or answer['error_code']}"
            )
        return bytes(answer["auth_bytes"])

    if credentials.mechanism == "PLAIN":
        await say(plain_message(credentials.username, credentials.password))
        return
    scram = Scram(credentials.mechanism, credentials.username, credentials.password, secrets.token_urlsafe(24))
    final = scram.final(await say(scram.first()))
    scram.check(await say(final))
