from __future__ import annotations

import pytest

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.subjects.networks.client_properties import Credentials, Security, parse_properties, security_of

JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="a \\"b\\" = c";'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1\nb: 2\nc 3\n", {"a": "1", "b": "2", "c": "3"}),
        ("# no\n! no\n\n  a = 1 \n", {"a": "1 "}),
        ("a=one \\\n    two\nb=3", {"a": "one two", "b": "3"}),
        ("a=one\\\\\nb=2", {"a": "one\\", "b": "2"}),
        ("a\\ b\\=c=x\\ty\\u0041", {"a b=c": "x\tyA"}),
        ("a=1\na=2", {"a": "2"}),
        ("a", {"a": ""}),
        ("a=b=c\\", {"a": "b=c"}),
        ("", {}),
    ],
)
def test_a_properties_file_is_read_as_java_reads_it(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


def test_without_a_protocol_there_is_no_security() -> None:
    assert security_of({"group.id": "g", "bootstrap.servers": "h:1"}) == Security()


def test_scram_over_tls() -> None:
    properties = {
        "security.protocol": "sasl_ssl", "sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": JAAS, "ssl.truststore.location": "/ca.pem",
        "ssl.truststore.type": "PEM",
    }  # fmt: skip

    credentials = Credentials(mechanism="SCRAM-SHA-512", username="alice", password='a "b" = c')
    assert security_of(properties) == Security(uses_tls=True, ca="/ca.pem", credentials=credentials)
    assert "a " not in repr(credentials)


def test_a_clients_certificate_and_no_check_of_the_name() -> None:
    properties = {
        "security.protocol": "SSL",
        "ssl.keystore.location": "/me.pem",
        "ssl.key.password": "x",
        "ssl.endpoint.identification.algorithm": "",
    }

    assert security_of(properties) == Security(uses_tls=True, certificate="/me.pem", key_password="x", checks_name=False)


def test_a_ca_in_the_file_itself() -> None:
    assert security_of({"security.protocol": "SSL", "ssl.truststore.certificates": "-----BEGIN"}).ca_text == "-----BEGIN"


def test_credentials_without_a_protocol_that_uses_them_are_not_used() -> None:
    assert security_of({"sasl.mechanism": "PLAIN", "sasl.jaas.config": JAAS}) == Security()


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"security.protocol": "TLS"}, "security.protocol 'TLS' is none of PLAINTEXT, SSL"),
        ({"security.protocl": "SSL"}, r"security\.protocl is not known here; did you mean security\.protocol\?"),
        ({"ssl.provider": "x"}, r"ssl\.provider is not known here; known are"),
        ({"security.protocol": "SASL_SSL"}, "sasl.mechanism GSSAPI is none of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "no username and no password"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": "M required username=a;"}, "has no password"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/x", "ssl.truststore.type": "JKS"}, "truststore of type JKS can't be read"),
        ({"security.protocol": "SSL", "ssl.keystore.key": "x"}, "write key and certificates to a PEM file"),
    ],
)
def test_what_cannot_be_done_says_what_to_write(properties: dict[str, str], message: str) -> None:
    with pytest.raises(WrongUsage, match=message):
        security_of(properties)
