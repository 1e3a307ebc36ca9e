"""The checkers of one dialect for groups that the kit does not drive: live groups, taps and fleets. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from groupproof.harness.judging.checkers.checker import Checker
from groupproof.harness.model.dialect_parts import DialectPart
from groupproof.protocol.trace import Observation, Trace

__all__ = ["DialectCheckers", "FieldDifference", "UnexpectedAnswer"]


class FieldDifference(Protocol):
    """A field of an answer that is not as expected."""

    @property
    def field(self) -> str: ...

    @property
    def expected(self) -> Any: ...

    @property
    def observed(self) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class UnexpectedAnswer:
    """The first answer to a group that its members alone do not explain, with its error code.

    `differences` are its fields that are not as expected. `is_early`: its content is not compared, because it came while the request should wait.
    `waits_for_others`: the group should still wait for members that have not joined again. `ids` are the member ids in the answers of the trace.
    """

    request: Observation
    code: int | None
    differences: Sequence[FieldDifference] = ()
    is_early: bool = False
    waits_for_others: bool = False
    ids: Collection[str | None] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DialectCheckers(DialectPart):
    """The checkers of a dialect's groups.

    `members` are made for each group, and for each case of the dialect. They check what is illegal or unsafe in any case. `invariants` makes the
    checker of the group's invariants. The two requirement lists name what was checked where nothing was broken. `blind_spots` get all observations
    of a group and return why its coordinator cannot be judged, or "". `unmet` also gets the facts about the brokers. `holds_of_coordinators` check
    what must hold of the coordinator whatever other members the group has. `may_be_of_unobserved_member` returns whether an answer may be as it is
    because a member, an administrator or a tool reached the group without the tap.
    """

    members: tuple[Callable[[], Checker], ...]
    invariants: Callable[[], Checker]
    member_requirements: tuple[str, ...]
    invariant_requirements: tuple[str, ...]
    blind_spots: tuple[Callable[[Trace], str], ...] = ()
    unmet: Callable[[Trace, Mapping[str, Any]], str] = lambda _story, _upstream: ""
    holds_of_coordinators: tuple[Callable[[], Checker], ...] = ()
    may_be_of_unobserved_member: Callable[[UnexpectedAnswer], bool] = lambda _answer: False
