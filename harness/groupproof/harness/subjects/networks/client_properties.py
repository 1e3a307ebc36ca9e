"""Kafka's client-properties format, as far as it describes how to reach a broker: TLS with PEM, and SASL by PLAIN or SCRAM. Pure.

Sources: `java.util.Properties` (comments, escapes, continued lines), Kafka's `SecurityConfig`, `SslConfigs` (KIP-651: PEM) and `SaslConfigs`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from groupproof.harness.model.errors import WrongUsage

__all__ = ["Credentials", "Security", "parse_properties", "security_of"]

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_OWN_PROPERTIES: Final = (
    "sasl.jaas.config", "sasl.mechanism", "security.protocol", "ssl.ca.location", "ssl.certificate.location", "ssl.endpoint.identification.algorithm",
    "ssl.key.location", "ssl.key.password", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.location", "ssl.keystore.type",
    "ssl.truststore.certificates", "ssl.truststore.location", "ssl.truststore.type",
)  # fmt: skip
# Prefixes of security properties. An unknown one must not be ignored silently.
_OURS: Final = ("sasl.", "security.", "ssl.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A user with a password, and the mechanism."""

    mechanism: str
    username: str
    password: str

    def __repr__(self) -> str:
        return f"Credentials({self.mechanism}, {self.username!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """How a connection is made. `ca` and `certificate` are PEM files; `ca_text` is the text of one. Without `ca` and `ca_text` the system's CAs are
    trusted."""

    uses_tls: bool = False
    ca: str | None = None
    ca_text: str | None = None
    certificate: str | None = None
    key: str | None = None
    key_password: str | None = None
    checks_name: bool = True
    credentials: Credentials | None = None


def parse_properties(text: str) -> dict[str, str]:
    """Return the properties of a Java properties file. The last of a repeated name wins."""
    return dict(_split(line) for line in _logical_lines(text))


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines without comments. Lines that end in an odd number of backslashes are joined with the next."""
    pending = ""
    for line in text.splitlines():
        stripped = line.lstrip(" \t\f")
        if not pending and (not stripped or stripped[0] in "#!"):
            continue
        pending += stripped
        if (len(pending) - len(pending.rstrip("\\"))) % 2:
            pending = pending[:-1]
            continue
        yield pending
        pending = ""
    if pending:
        yield pending


def _split(line: str) -> tuple[str, str]:
    found = re.match(r"((?:\\.|[^\\=:\s])*)[ \t\f]*[=:]?[ \t\f]*(.*)", line, re.DOTALL)
    assert found is not None
    return _unescaped(found[1]), _unescaped(found[2])


def _unescaped(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else _ESCAPES.get(found[2], found[2])

    return re.sub(r"\\(?:u([0-9A-Fa-f]{4})|(.))", one, text, flags=re.DOTALL)


def security_of(properties: Mapping[str, str]) -> Security:
    """Return how to connect. Raise `WrongUsage` for what the kit cannot do, or an unknown name of a security property.

    Properties that do not concern security (group.id, acks, …) are ignored.
    """
    for name in properties:
        if name.startswith(_OURS) and name not in _OWN_PROPERTIES:
            near = difflib.get_close_matches(name, _OWN_PROPERTIES, n=1, cutoff=0.8)
            hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(_OWN_PROPERTIES)}"
            raise WrongUsage(f"--properties: {name} is not known here{hint}")
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in _PROTOCOLS:
        raise WrongUsage(f"--properties: security.protocol {protocol!r} is none of {', '.join(_PROTOCOLS)}")
    credentials = _credentials(properties) if protocol.startswith("SASL") else None
    return _tls(properties, credentials) if protocol.endswith("SSL") else Security(credentials=credentials)


def _tls(properties: Mapping[str, str], credentials: Credentials | None) -> Security:
    for store in ("truststore", "keystore"):
        kind = properties.get(f"ssl.{store}.type", "PEM")
        if f"ssl.{store}.location" in properties and kind.upper() != "PEM":
            raise WrongUsage(f"--properties: a {store} of type {kind} can't be read here: convert it to PEM, and say ssl.{store}.type=PEM")
    if "ssl.keystore.key" in properties or "ssl.keystore.certificate.chain" in properties:
        raise WrongUsage(
            "--properties: a key in the file itself can't be used here: write key and certificates to a PEM file for ssl.keystore.location"
        )
    keystore = properties.get("ssl.keystore.location")
    return Security(
        uses_tls=True,
        ca=properties.get("ssl.truststore.location") or properties.get("ssl.ca.location"),
        ca_text=properties.get("ssl.truststore.certificates"),
        certificate=keystore or properties.get("ssl.certificate.location"),
        key=None if keystore else properties.get("ssl.key.location"),
        key_password=properties.get("ssl.key.password"),
        checks_name=properties.get("ssl.endpoint.identification.algorithm", "https") != "",
        credentials=credentials,
    )


def _credentials(properties: Mapping[str, str]) -> Credentials:
    mechanism = properties.get("sasl.mechanism", "GSSAPI").upper()
    if mechanism not in _MECHANISMS:
        raise WrongUsage(f"--properties: sasl.mechanism {mechanism} is none of {', '.join(_MECHANISMS)}, which are spoken here")
    jaas = properties.get("sasl.jaas.config", "")
    options = {name: _unquoted(value) for name, value in re.findall(r'(\w+)\s*=\s*("(?:\\.|[^"\\])*"|[^\s;"]+)', jaas)}
    missing = [name for name in ("username", "password") if name not in options]
    if missing:
        raise WrongUsage(f'--properties: sasl.jaas.config has no {" and no ".join(missing)}; it reads: MODULE required username="…" password="…";')
    return Credentials(mechanism=mechanism, username=options["username"], password=options["password"])


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
