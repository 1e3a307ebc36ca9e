from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import trio

from groupproof.harness.running.fuzzing.shrink import shrink

Letters = str


def without_one(letters: Letters) -> Iterator[Letters]:
    return (letters[:index] + letters[index + 1 :] for index in range(len(letters)))


def lowered(letters: Letters) -> Iterator[Letters]:
    return (letters[:index] + letter.lower() + letters[index + 1 :] for index, letter in enumerate(letters) if letter.isupper())


def size_of(letters: Letters) -> tuple[int, ...]:
    return (len(letters), sum(letter.isupper() for letter in letters))


def common(letters: Letters, found: Sequence[Letters]) -> Iterator[Letters]:
    yield "".join(letter for letter in letters if all(letter in other for other in found))


class Attempts:
    """Shows the failure wherever every letter that is needed is there, however it is written."""

    def __init__(self, needed: str) -> None:
        self.needed = needed
        self.rounds: list[list[Letters]] = []

    async def __call__(self, candidates: Sequence[Letters]) -> list[bool]:
        self.rounds.append(list(candidates))
        return [set(self.needed) <= set(candidate.lower()) for candidate in candidates]


@pytest.mark.parametrize("needed", ["c", "bd", "abcdef"])
def test_what_is_left_is_all_that_is_needed_and_as_plain_as_it_can_be(needed: str) -> None:
    async def main() -> str:
        return await shrink("ABCDEF", [without_one, lowered], Attempts(needed), size_of)

    assert trio.run(main) == needed


def test_what_can_be_left_out_by_itself_is_left_out_at_once() -> None:
    one_by_one, at_once = Attempts("c"), Attempts("c")
    kept: list[Letters] = []

    async def main() -> tuple[str, str]:
        return (
            await shrink("abcdef", [without_one], one_by_one, size_of),
            await shrink("abcdef", [without_one], at_once, size_of, together=common, keep=kept.append),
        )

    assert trio.run(main) == ("c", "c")
    assert (len(at_once.rounds), len(one_by_one.rounds), kept) == (3, 6, ["c"])


def test_what_shows_nothing_smaller_stays_as_it_is() -> None:
    async def main() -> str:
        return await shrink("a", [without_one], Attempts("a"), size_of)

    assert trio.run(main) == "a"
