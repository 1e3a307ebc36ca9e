from __future__ import annotations

import pytest

from groupproof.coordinator.machine.consumer.regexes import is_valid, matching


@pytest.mark.parametrize("regex", ["(", "[a-", "(?=x)y", r"(a)\1", "a**"])
def test_what_re2_lacks_is_refused(regex: str) -> None:
    assert not is_valid(regex)


@pytest.mark.parametrize("regex", ["t.*", r"\d+", "(?i)orders", "a|b", r"\p{L}+"])
def test_what_re2_knows_is_taken(regex: str) -> None:
    assert is_valid(regex)


def test_a_name_is_matched_from_end_to_end() -> None:
    assert matching("rx.*", ["rx1", "xrx", "rx"]) == {"rx1", "rx"}
    assert matching("a|ab", ["ab"]) == {"ab"}
