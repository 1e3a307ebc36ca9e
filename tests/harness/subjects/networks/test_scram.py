from __future__ import annotations

import pytest

from groupproof.harness.subjects.networks.scram import Scram, ScramError, plain_message

# RFC 7677, section 3.
NONCE = "rOprNGfwEbeRWgbNEkqO"
FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
PROOF = b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
SIGNATURE = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def _exchange() -> Scram:
    return Scram("SCRAM-SHA-256", "user", "pencil", NONCE)


def test_the_exchange_is_that_of_the_rfc() -> None:
    scram = _exchange()

    assert scram.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert scram.final(FIRST) == PROOF
    scram.check(SIGNATURE)


def test_a_name_is_escaped() -> None:
    assert Scram("SCRAM-SHA-512", "a=b,c", "x", "n").first() == b"n,,n=a=3Db=2Cc,r=n"


@pytest.mark.parametrize(
    "answer", [b"", b"r=other,s=AAAA,i=1", FIRST.replace(b"4096", b"0"), FIRST.replace(b"4096", b"99999999"), b"r=" + NONCE.encode()]
)
def test_a_first_answer_that_is_none_is_refused(answer: bytes) -> None:
    with pytest.raises(ScramError, match="the server's first answer is none"):
        _exchange().final(answer)


def test_a_server_that_does_not_know_the_password_is_found_out() -> None:
    scram = _exchange()
    scram.final(FIRST)
    with pytest.raises(ScramError, match="does not know this user's password"):
        scram.check(SIGNATURE.replace(b"6rri", b"7rri"))


def test_a_server_that_says_no_is_quoted() -> None:
    with pytest.raises(ScramError, match="the server says invalid-proof"):
        _exchange().check(b"e=invalid-proof")


def test_plain_is_one_message() -> None:
    assert plain_message("alice", "pass") == b"\0alice\0pass"
