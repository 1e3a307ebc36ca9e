"""What is held of a group that the kit does not drive, in one dialect: the part that a dialect brings for live groups, taps and fleets. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from groupproof.harness.judging.checkers.checker import Checker
from groupproof.harness.model.dialect_parts import DialectPart
from groupproof.protocol.trace import Trace

__all__ = ["DialectCheckers", "FieldDifference"]


class FieldDifference(Protocol):
    """A field of an answer that is not as expected."""

    @property
    def field(self) -> str: ...

    @property
    def expected(self) -> Any: ...

    @property
    def observed(self) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DialectCheckers(DialectPart):
    """The checkers of a dialect's groups.

    `members` are made anew for each group, and for each case of the dialect: what is illegal or unsafe whatever a member is about. `invariants` makes the checker
    of what holds of the group. The requirements are those that were looked at where nothing was broken. `blind_spots` look at all that is seen of a group
    and say why its coordinator can't be judged, "" where it can. `unmet` looks at what is known of the brokers besides. `holds_of_coordinators` is what holds
    of the coordinator whoever else is in the group, and `is_of_strangers` tells whether an answer may differ by the fields of these paths because
    somebody is in the group who did not come through the tap.
    """

    members: tuple[Callable[[], Checker], ...]
    invariants: Callable[[], Checker]
    member_requirements: tuple[str, ...]
    invariant_requirements: tuple[str, ...]
    blind_spots: tuple[Callable[[Trace], str], ...] = ()
    unmet: Callable[[Trace, Mapping[str, Any]], str] = lambda _story, _upstream: ""
    holds_of_coordinators: tuple[Callable[[], Checker], ...] = ()
    is_of_strangers: Callable[[Sequence[FieldDifference]], bool] = lambda _differences: False
