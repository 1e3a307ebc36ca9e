"""What is held of a group that the kit does not drive, in one dialect: the part that a dialect brings for live groups, taps and fleets. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from groupproof.harness.judging.checkers.checker import Checker
from groupproof.harness.model.dialect_parts import DialectPart
from groupproof.protocol.trace import Trace

__all__ = ["DialectCheckers"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DialectCheckers(DialectPart):
    """The checkers of a dialect's groups.

    `members` are made anew for each group, and for each case of the dialect: what is illegal or unsafe whatever a member is about. `invariants` makes the checker
    of what holds of the group. The requirements are those that were looked at where nothing was broken. `blind_spots` look at all that is seen of a group
    and say why its coordinator can't be judged, "" where it can.
    """

    members: tuple[Callable[[], Checker], ...]
    invariants: Callable[[], Checker]
    member_requirements: tuple[str, ...]
    invariant_requirements: tuple[str, ...]
    blind_spots: tuple[Callable[[Trace], str], ...] = ()
