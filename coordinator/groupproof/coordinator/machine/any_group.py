"""The interface that the engine and the coordinator use for a group of any dialect."""

from __future__ import annotations

from collections.abc import Hashable
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from groupproof.coordinator.machine.choices import Choices
    from groupproof.coordinator.machine.machine_outputs import GroupProgress, GroupView
    from groupproof.protocol.rules.dialect import Dialect

__all__ = ["AnyGroup", "SubscribedGroup"]


class AnyGroup(Protocol):
    """A group of any dialect. `generation` is its counter; in a dialect with epochs it is the group epoch."""

    dialect: ClassVar[Dialect]
    group_id: str
    state: StrEnum
    generation: int
    protocol_type: str | None

    def move_to(self, state: StrEnum, now_ms: int) -> None:
        """Move to `state`; raise `IllegalTransition` where the dialect does not allow the transition."""
        ...

    def adopted(self, choices: Choices) -> None:
        """Let `choices` make the choices that the protocol leaves open."""
        ...

    def check(self) -> None:
        """Assert the dialect's invariants of a group."""
        ...

    def member_ids(self) -> tuple[str, ...]:
        """Return the ids of the members, in joining order."""
        ...

    def parked(self) -> list[Hashable]:
        """Return the tokens of the parked requests."""
        ...

    def progress(self) -> GroupProgress: ...

    def view(self) -> GroupView: ...


class SubscribedGroup(AnyGroup, Protocol):
    """A group whose members subscribe to topics: a classic or a consumer group. `since_ms` is when it entered its state."""

    since_ms: int

    def is_subscribed_to(self, topic: str) -> bool: ...
