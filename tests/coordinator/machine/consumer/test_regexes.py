"""Subscriptions' expressions: what RE2/J takes, what it says of the others, and what it matches (CGH-22, CGH-23, CGX-18)."""

from __future__ import annotations

import pytest
from tests.coordinator.regex_vectors import NAMES, RegexVector, regex_vectors

from groupproof.coordinator.machine.consumer.regexes import invalid_message, matching, regex_problem

VECTORS = regex_vectors()
VECTORS_MIN = 1_000


def test_the_vectors_are_many_and_of_every_kind() -> None:
    reasons = {vector.wrong_1_8 for vector in VECTORS}

    assert len(VECTORS) >= VECTORS_MIN
    assert len(reasons) >= 10
    assert any(vector.matches for vector in VECTORS)


@pytest.mark.parametrize("has_named_groups", [False, True], ids=["RE2/J 1.7", "RE2/J 1.8"])
def test_what_is_wrong_is_what_re2j_says(has_named_groups: bool) -> None:
    def wrong(vector: RegexVector) -> str | None:
        return vector.wrong_1_8 if has_named_groups else vector.wrong_1_7

    found = {vector.regex: (regex_problem(vector.regex, has_named_groups=has_named_groups), wrong(vector)) for vector in VECTORS}
    assert {regex: pair for regex, pair in found.items() if pair[0] != pair[1]} == {}


def test_a_valid_expression_matches_the_names_that_it_matches_in_re2j() -> None:
    valid = [vector for vector in VECTORS if vector.wrong_1_8 is None]

    assert [vector.regex for vector in valid if matching(vector.regex, NAMES) != vector.matches] == []


@pytest.mark.parametrize("regex", ["(", "[a-", "(?=x)y", r"(a)\1", "a**", r"\C"])
def test_what_re2_lacks_is_refused(regex: str) -> None:
    assert regex_problem(regex) is not None


def test_a_group_may_have_a_name_as_in_perl_since_4_1() -> None:
    assert regex_problem("(?<n>a)") is None
    assert regex_problem("(?<n>a)", has_named_groups=False) == "invalid or unsupported Perl syntax"


def test_a_name_is_matched_from_end_to_end() -> None:
    assert matching("rx.*", ["rx1", "xrx", "rx"]) == {"rx1", "rx"}
    assert matching("a|ab", ["ab"]) == {"ab"}


def test_the_message_names_the_expression_and_the_reason() -> None:
    assert invalid_message("(", regex_problem("(") or "") == "SubscribedTopicRegex `(` is not a valid regular expression: missing closing )."
