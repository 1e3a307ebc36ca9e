"""The elements of any dialect's table: its words, its rows, and the names of its rules.

A dialect has its own enums of words, each a subclass of one here. The value of an event is its name; that of any other word is the sentence in
documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from groupproof.protocol.vocabulary import ErrorCode

__all__ = [
    "NO_GROUP",
    "AnswerName",
    "Cell",
    "Cells",
    "EffectName",
    "EventKind",
    "GuardName",
    "Place",
    "Row",
    "State",
    "cell_name",
    "rule_name",
    "state_name",
]

State = StrEnum | None
NO_GROUP: Final[State] = None


class EventKind(StrEnum):
    """An event for a group: a member's request, an expired timer, or the consequence of another event."""


class GuardName(Enum):
    """A condition on the event and its group. The machine has one pure function for it."""

    _value_: str


class AnswerName(Enum):
    """An answer with more than an error code. The machine has one function for it."""

    _value_: str


class EffectName(Enum):
    """A change of the group. The machine has one function for it."""

    _value_: str


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a cell: when `guard` holds, give `answer`, apply `effects`, move to `then` (None: stay), apply `after`.

    `answer` is an error code, a form, or None where there is no answer now (the request is parked, or the event is a timer). `because` is the reason
    of a rebalance that the row begins (JOIN-59). `note` names the source where the requirement's sentence is not the whole rule.
    """

    name: str
    guard: GuardName
    answer: ErrorCode | AnswerName | None
    requirement: str
    effects: tuple[EffectName, ...] = field(default=(), kw_only=True)
    then: StrEnum | None = field(default=None, kw_only=True)
    after: tuple[EffectName, ...] = field(default=(), kw_only=True)
    because: str = field(default="", kw_only=True)
    note: str = field(default="", kw_only=True)


Cell = tuple[Row, ...]
Cells = Mapping[EventKind, Mapping[State, Cell]]
Place = tuple[EventKind, State]


def state_name(state: State) -> str:
    """Return Kafka's name of `state`, or `none` where there is no group."""
    return "none" if state is None else state.value


def rule_name(event: EventKind, state: State, row: Row, prefix: str = "") -> str:
    """Return the stable name of a row, such as `JoinGroup/Stable/leader-rejoins`. The dialect's `prefix` precedes a group's state."""
    return f"{cell_name(event, state, prefix)}/{row.name}"


def cell_name(event: EventKind, state: State, prefix: str = "") -> str:
    """Return the name of a cell, such as `JoinGroup/Stable`. The names of its rows begin with it."""
    return f"{event.value}/{'' if state is None else prefix}{state_name(state)}"
