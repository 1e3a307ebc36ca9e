"""SCRAM for a client (RFC 5802, RFC 7677), and PLAIN's one message (RFC 4616). Pure: the caller supplies the nonce."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final

__all__ = ["Scram", "ScramError", "plain_message"]

_HASHES: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_CHANNEL: Final = "n,,"
_ITERATIONS_MAX: Final = 1_000_000


class ScramError(Exception):
    """The server refuses, or does not know the password. `str()` says which."""


def plain_message(username: str, password: str) -> bytes:
    return f"\0{username}\0{password}".encode()


class Scram:
    """One exchange: send `first`, then `final` of the server's first answer, then `check` its last."""

    def __init__(self, mechanism: str, username: str, password: str, nonce: str) -> None:
        self._hash = _HASHES[mechanism]
        self._password, self._nonce = password, nonce
        self._bare = f"n={username.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
        self._expected = b""

    def first(self) -> bytes:
        return f"{_CHANNEL}{self._bare}".encode()

    def final(self, answer: bytes) -> bytes:
        """Return the proof. Raise `ScramError` for an answer that does not fit this exchange."""
        fields = _fields(answer)
        nonce, salt, iterations = fields.get("r", ""), fields.get("s", ""), fields.get("i", "")
        if not nonce.startswith(self._nonce) or nonce == self._nonce or not iterations.isdigit() or not 0 < int(iterations) <= _ITERATIONS_MAX:
            raise ScramError(f"the server's first answer is none: {answer[:80]!r}")
        without_proof = f"c={base64.b64encode(_CHANNEL.encode()).decode()},r={nonce}"
        signed = b",".join([self._bare.encode(), answer, without_proof.encode()])
        salted = hashlib.pbkdf2_hmac(self._hash, self._password.encode(), base64.b64decode(salt), int(iterations))
        client = self._hmac(salted, b"Client Key")
        signature = self._hmac(hashlib.new(self._hash, client).digest(), signed)
        self._expected = self._hmac(self._hmac(salted, b"Server Key"), signed)
        proof = bytes(one ^ other for one, other in zip(client, signature, strict=True))
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def check(self, answer: bytes) -> None:
        """Raise `ScramError` unless the server knows the password too."""
        fields = _fields(answer)
        if "e" in fields:
            raise ScramError(f"the server says {fields['e']}")
        if not hmac.compare_digest(fields.get("v", "").encode(), base64.b64encode(self._expected)):
            raise ScramError("the server's signature is wrong: it does not know this user's password")

    def _hmac(self, key: bytes, message: bytes) -> bytes:
        return hmac.new(key, message, self._hash).digest()


def _fields(message: bytes) -> dict[str, str]:
    return dict(part.split("=", 1) for part in message.decode("utf-8", "replace").split(",") if "=" in part)
