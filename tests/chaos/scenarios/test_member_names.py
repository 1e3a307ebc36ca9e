from __future__ import annotations

import pytest

from groupproof.chaos.scenarios.member_names import WORDS, Cast

CAST = Cast.of(5, joiners=2, twin=True)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("all", "m0 m1 m2 m3 m4"),
        ("leader", "m0"),
        ("followers", "m1 m2 m3 m4"),
        ("one", "m1"),
        ("others", "m0 m2 m3 m4"),
        ("half", "m3 m4"),
        ("rest", "m0 m1 m2"),
        ("minority", "m3 m4"),
        ("majority", "m0 m1 m2"),
        ("joiner", "j0"),
        ("joiners", "j0 j1"),
        ("twin", "t0"),
        ("others + joiner", "m0 m2 m3 m4 j0"),
        ("leader+all", "m0 m1 m2 m3 m4"),
    ],
)
def test_a_word_means_members_by_what_they_are(words: str, names: str) -> None:
    assert CAST.named(words) == tuple(names.split())


@pytest.mark.parametrize("members", [2, 3, 4, 5, 8])
def test_what_is_split_is_whole_together_and_no_part_of_it_is_empty(members: int) -> None:
    cast = Cast.of(members)
    for part, other in (("half", "rest"), ("minority", "majority"), ("one", "others"), ("leader", "followers")):
        assert sorted((*cast.named(part), *cast.named(other))) == sorted(cast.members)
        assert cast.named(part)
        assert cast.named(other)
    assert len(cast.named("minority")) < members / 2 or members == 2


def test_the_only_client_is_the_one() -> None:
    assert Cast.of(1).named("one") == Cast.of(1).named("leader") == ("m0",)


def test_nobody_comes_later_unless_that_is_said() -> None:
    assert Cast.of(3).named("joiners+twin") == ()
    with pytest.raises(KeyError):
        Cast.of(3).named("everyone")
    assert "everyone" not in WORDS
