"""A group of any dialect: what the engine and the coordinator ask of it."""

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

    def standing(self) -> GroupProgress: ...

    def view(self) -> GroupView: ...


class SubscribedGroup(AnyGroup, Protocol):
    """A group whose members subscribe to topics: classic, or of consumers. `since_ms` is when it came into its state."""

    since_ms: int

    def is_subscribed_to(self, topic: str) -> bool: ...
