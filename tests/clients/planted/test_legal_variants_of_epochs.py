"""The legal variants of `consumer` members: each is a deviation that a released client has, or that the requirements leave open."""

from __future__ import annotations

from groupproof.clients.member.policy import REFERENCE
from groupproof.clients.planted.legal_variants_of_epochs import LEGAL_EPOCHS


def test_each_deviates_and_names_who_does_so() -> None:
    assert len({variant.name for variant in LEGAL_EPOCHS}) == len(LEGAL_EPOCHS) >= 20
    for variant in LEGAL_EPOCHS:
        assert variant.is_legal
        assert variant.source, variant.name
        assert variant.policy != REFERENCE, variant.name
