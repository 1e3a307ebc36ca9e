"""The words by which a scenario names its members, for any number of members. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["WORDS", "Cast"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """The members of a scenario: `members` start first, the leader before the others; joiners and the twin come later."""

    members: tuple[str, ...]
    joiners: tuple[str, ...] = ()
    twin: str | None = None

    @classmethod
    def of(cls, members: int, *, joiners: int = 0, twin: bool = False) -> Cast:
        named = tuple(f"m{number}" for number in range(members))
        return cls(members=named, joiners=tuple(f"j{number}" for number in range(joiners)), twin="t0" if twin else None)

    @property
    def everybody(self) -> tuple[str, ...]:
        return (*self.members, *self.joiners, *(() if self.twin is None else (self.twin,)))

    def named(self, words: str) -> tuple[str, ...]:
        """Return the members that `words` names, several joined by `+`; raise `KeyError` for an unknown word."""
        names = [name for word in words.split("+") for name in WORDS[word.strip()](self)]
        return tuple(dict.fromkeys(names))


def _one(cast: Cast) -> tuple[str, ...]:
    return cast.members[1:2] or cast.members[:1]


def _without(some: Callable[[Cast], tuple[str, ...]]) -> Callable[[Cast], tuple[str, ...]]:
    return lambda cast: tuple(name for name in cast.members if name not in some(cast))


def _half(cast: Cast) -> tuple[str, ...]:
    return cast.members[-(len(cast.members) // 2) :] if len(cast.members) > 1 else cast.members


def _minority(cast: Cast) -> tuple[str, ...]:
    return cast.members[-max(1, (len(cast.members) - 1) // 2) :]


WORDS: Final[Mapping[str, Callable[[Cast], tuple[str, ...]]]] = {
    "all": lambda cast: cast.members,
    "leader": lambda cast: cast.members[:1],
    "followers": lambda cast: cast.members[1:],
    "one": _one,
    "others": _without(_one),
    "half": _half,
    "rest": _without(_half),
    "minority": _minority,
    "majority": _without(_minority),
    "joiner": lambda cast: cast.joiners[:1],
    "joiners": lambda cast: cast.joiners,
    "twin": lambda cast: () if cast.twin is None else (cast.twin,),
}
"""Each word with its members. The member that starts first leads; `one` is the first follower, or the only member."""
