"""The functions behind the words of a dialect: what the engine calls when a row of its table is applied. The other half of a `Dialect`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from groupproof.protocol.rules.cells import AnswerName, EffectName, EventKind, GuardName
from groupproof.protocol.rules.dialect import Dialect
from groupproof.protocol.vocabulary import ErrorCode

if TYPE_CHECKING:
    from groupproof.coordinator.machine.choices import Choices
    from groupproof.coordinator.machine.event import Input
    from groupproof.coordinator.machine.group_batches import Batch
    from groupproof.coordinator.machine.outputs import GroupView, Standing

__all__ = ["AnyGroup", "DialectFunctions"]


class AnyGroup(Protocol):
    """A group of any dialect, as the engine and the coordinator know it. `generation` is its counter: where the dialect has epochs, the group epoch."""

    dialect: ClassVar[Dialect]
    group_id: str
    state: StrEnum
    generation: int
    protocol_type: str | None

    def move_to(self, state: StrEnum, now_ms: int) -> None:
        """Move along the dialect's valid transitions; raise `IllegalTransition` for any other."""
        ...

    def adopted(self, choices: Choices) -> None:
        """Take note who makes the choices that the protocol leaves open."""
        ...

    def check(self) -> None:
        """Assert what always holds of a group of the dialect."""
        ...

    def member_ids(self) -> tuple[str, ...]:
        """Return the ids of the members in the order of their joining."""
        ...

    def parked(self) -> list[Hashable]:
        """Return the tokens of the requests that wait for their answer."""
        ...

    def standing(self) -> Standing: ...

    def view(self) -> GroupView: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DialectFunctions:
    """What the words of `dialect` do: one function for each guard, answer and effect, and no other.

    `group` makes a group of the dialect out of its id and the time, `event` an event of its kinds; `fill` puts into the event what a request says of
    its sender. `requests` are the kinds of the messages that are about one group, `batches` those that are about several. `error_answer` says an error
    code in the shape of a request's answer. `gate` are the guards that hold only where the coordinator cannot look at the group; `quiet` the kinds that
    are not recorded where their row does nothing.
    """

    dialect: Dialect
    guards: Mapping[GuardName, Callable[[Any], bool]]
    answers: Mapping[AnswerName, Callable[[Any], Any]]
    effects: Mapping[EffectName, Callable[[Any, Any], None]]
    group: Callable[[str, int], AnyGroup]
    event: type[Input]
    fill: Callable[[Any, Any], None]
    error_answer: Callable[[Any, ErrorCode, Mapping[str, int]], Any]
    requests: Mapping[type[Any], EventKind]
    batches: Mapping[type[Any], Batch] = field(default_factory=dict)
    gate: frozenset[GuardName] = frozenset()
    quiet: frozenset[EventKind] = frozenset()
