"""Which topic id belongs to which name: what records say, and what is left over."""

from __future__ import annotations

import pytest

from groupproof.coordinator.machine.recorded_topics import matched_ids

T, U, V = "id-t", "id-u", "id-v"


def names(*topics: str) -> frozenset[str]:
    return frozenset(topics)


@pytest.mark.parametrize(
    ("pairs", "recorded", "found"),
    [
        ([(T, names("t"))], {}, {T: "t"}),
        ([(T, names("t", "u")), (T, names("t"))], {}, {T: "t"}),
        ([(T, names("t", "u")), (U, names("t", "u"))], {}, {}),
        ([(T, names("t", "u")), (U, names("t", "u"))], {T: "t"}, {T: "t", U: "u"}),
        ([(V, names("t", "u", "v")), (U, names("t", "u")), (T, names("t"))], {}, {T: "t", U: "u", V: "v"}),
        ([(T, names())], {}, {}),
        ([], {T: "t"}, {T: "t"}),
    ],
)
def test_an_id_is_that_of_the_only_name_that_is_left(
    pairs: list[tuple[str, frozenset[str]]], recorded: dict[str, str], found: dict[str, str]
) -> None:
    assert matched_ids(pairs, recorded) == found
