"""Causes are words that people and programs can rely on."""

from __future__ import annotations

from groupproof.harness.judging.diagnosis.causes import SORTED, Branch, Cause, Certainty, Kind


def test_causes_are_sorted_by_branch_and_kind() -> None:
    assert SORTED[Cause.POLL_INTERVAL].branch is Branch.CLIENTS
    assert SORTED[Cause.POLL_INTERVAL].kind is Kind.LOST
    assert SORTED[Cause.RETURNED].kind is Kind.NEW
    assert {SORTED[cause].branch for cause in Cause} == set(Branch)


def test_names_are_plain_words_with_hyphens() -> None:
    assert all(cause.value.replace("-", "").isalpha() and cause.value.islower() for cause in Cause)
    assert {certainty.value for certainty in Certainty} == {"told", "seen", "inferred"}
