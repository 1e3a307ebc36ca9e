"""The interface of the engine that effects use: a protocol, so that effects and variants do not import the engine."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from groupproof.coordinator.machine.any_group import AnyGroup
    from groupproof.coordinator.machine.choices import Choices
    from groupproof.coordinator.machine.coordinator_settings import Settings
    from groupproof.coordinator.machine.event import Event
    from groupproof.coordinator.machine.offsets import Offsets
    from groupproof.coordinator.machine.storage import PartitionState
    from groupproof.coordinator.machine.timers import Timers
    from groupproof.coordinator.machine.topics_image import MayDescribe, TopicsImage
    from groupproof.protocol.rules.cells import EventKind
    from groupproof.protocol.rules.classic.classic_terms import Row
    from groupproof.protocol.rules.profiles import Profile
    from groupproof.protocol.vocabulary import ErrorCode
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["EffectContext"]


class EffectContext(Protocol):
    """The groups, timers and partitions of one broker, and the ways to answer, to create a group and to apply another event."""

    profile: Profile
    settings: Settings
    groups: dict[str, AnyGroup]
    fields: Mapping[str, int]
    timers: Timers
    choices: Choices
    topics: TopicsImage
    may_describe: MayDescribe | None
    group_configs: dict[str, dict[str, int]]
    append_error: ErrorCode

    def apply(self, event: Event) -> Row:
        """Apply the row of an event whose group has been looked up."""
        ...

    def consequence(self, kind: EventKind, cause: Event) -> Row:
        """Apply an event that follows from another one, to the same group."""
        ...

    def reply(self, token: Hashable, message: GroupResponse) -> None: ...

    def create(self, event: Event) -> None:
        """Add a new group of the request's dialect and record its creation."""
        ...

    def put(self, event: Event, group: AnyGroup, reason: str) -> None:
        """Replace the event's group with `group`, under the same id, and record the creation."""
        ...

    def partition(self, group_id: str) -> PartitionState:
        """Return the partition of `__consumer_offsets` that holds the group."""
        ...

    def offsets(self, group_id: str) -> Offsets: ...
