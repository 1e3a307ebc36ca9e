"""The changes between releases that another broker may have alone, and those that fix a bug of Kafka. Their deltas name them (`Delta.part`).

A broker that is judged by an old release may have the fix of a later one. It then does what Kafka's developers decided to be right.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from groupproof.protocol.rules.classic.admin_releases import ADMIN_DELTAS
from groupproof.protocol.rules.classic.releases import DELTAS, OPTIONAL, RELEASES, line_of

__all__ = ["NAMED_CHANGES", "NamedChange", "changes_beside"]

_NAMED: Final = tuple(delta for delta in (*DELTAS, *ADMIN_DELTAS) if delta.part)

NAMED_CHANGES: Final = frozenset(delta.part for delta in _NAMED)
"""The names of the changes."""


class NamedChange(NamedTuple):
    """A change that a release lacks, or has, other than `release`. `mends` is the requirement that is kept only since, if the release lacks a fix.

    `is_of_effects`: no answer shows it at once, but a later one may.
    """

    part: str
    release: str
    mends: str
    is_of_effects: bool


def changes_beside(profile: str) -> Iterator[NamedChange]:
    """Yield each named change that another release has the other way round than the release of `profile`: the nearest one."""
    release, line = RELEASES[profile], line_of(profile)
    names = [name for name in RELEASES if name not in OPTIONAL]
    for delta in {delta.part: delta for delta in reversed(_NAMED)}.values():
        is_missing = delta.is_before(release, line)
        sides = [name for name in names if (RELEASES[name] >= delta.since) is is_missing]
        if sides:
            yield NamedChange(delta.part, sides[0] if is_missing else sides[-1], delta.mends if is_missing else "", bool(delta.effects))
