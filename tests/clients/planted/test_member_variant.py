"""What a variant says of itself."""

from __future__ import annotations

from groupproof.clients.member.policy import Policy
from groupproof.clients.planted.member_variant import Variant


def test_a_variant_is_legal_unless_it_breaks_something() -> None:
    legal = Variant(name="patient", says="Waits.", policy=Policy(retry_factor=2.0))
    bug = Variant(name="rude", says="Does not leave.", policy=Policy(leaves=0), breaks=("CLIENT-73",))

    assert legal.is_legal
    assert not bug.is_legal
