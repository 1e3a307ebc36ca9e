"""Java's hash of a string."""

from __future__ import annotations

import pytest

from groupproof.protocol.java_hash import java_hash


@pytest.mark.parametrize(
    ("text", "code"),
    [("", 0), ("g", 103), ("[t,1]", 87_540_063), ("polygenelubricants", -(2**31)), ("\N{GRINNING FACE}", 1_772_899), ("my-group", -1_906_497_762)],
)
def test_strings_hash_as_in_java(text: str, code: int) -> None:
    assert java_hash(text) == code
