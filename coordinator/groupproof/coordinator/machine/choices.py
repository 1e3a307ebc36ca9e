"""What the protocol leaves to a coordinator: the ids it gives, who follows a leader, which of two protocols with equal votes is chosen, when exactly a pause ends,
whether an answer waits for the topics of a regular expression, and of a consumer group who is to have what, how its epochs are counted, and when a target is computed.

The machine asks for each of them; `RandomChoices` decides as this reference does. The harness decides as a recorded broker did, so that the
machine can be stepped beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groupproof.coordinator.assignors.group_spec import GroupSpec, TargetAssignment, TopicSpec
    from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
    from groupproof.coordinator.machine.machine_outputs import Arrival

__all__ = ["Choices", "RandomBits", "RandomChoices", "TargetQuestion"]


class RandomBits(Protocol):
    """The one thing the machine asks of a `random.Random`."""

    def getrandbits(self, k: int, /) -> int: ...


class TargetQuestion(NamedTuple):
    """Who is to have what in a consumer group, whose epoch is that of the target: `assignor` is asked for its members as `spec` has them, and their `topics`.

    `kafkas` is what Kafka's assignor of that name says.
    """

    group: ConsumerGroup
    assignor: str
    spec: GroupSpec
    topics: Mapping[str, TopicSpec]
    kafkas: TargetAssignment


class Choices(Protocol):
    """Decides what no rule does."""

    def member_id(self, prefix: str, arrival: Arrival) -> str:
        """Return an id that was never given before, for the JoinGroup of `arrival`; `prefix` is its client id, or its instance id."""
        ...

    def leader(self, group_id: str, candidates: Sequence[str]) -> str:
        """Return who of `candidates` leads; there is at least one, and they are in the order of their joining."""
        ...

    def protocol(self, group_id: str, tied: Sequence[str]) -> str:
        """Return which of the protocols with most votes is chosen; there is at least one, and they are in the order of their first votes."""
        ...

    def assignor(self, tied: Sequence[str], occasion: int) -> str:
        """Return which of the server-side assignors with most votes is used, or described; there are at least two. Each occasion is a choice of its own."""
        ...

    def is_over(self, due_ms: int, now_ms: int) -> bool:
        """Tell whether a pause that ends at `due_ms` is over for a request of `now_ms`, where no timer says so: each clock has its own answer near the end."""
        ...

    def resolves_at_once(self, arrival: Arrival) -> bool:
        """Tell whether a heartbeat with a new regular expression is answered with the topics that it matches already (CGX-19)."""
        ...

    def target(self, question: TargetQuestion) -> TargetAssignment:
        """Return the target of every member: KIP-848 leaves it to the broker's own assignors, within CGA-04 and CGA-05."""
        ...

    def group_epoch(self, group: ConsumerGroup, arrival: Arrival | None) -> int:
        """Return the group epoch after a change, for a request or, without one, for a timer: it grows (CGI-04), or stays where its target is still to be computed, so that two changes share one."""
        ...

    def computes_target(self, group: ConsumerGroup, arrival: Arrival | None, *, is_usual: bool) -> bool:
        """Tell whether the target is computed with the change that asks for it, or with the next heartbeat of any member (CGR-26); `is_usual` is what the release does."""
        ...


class RandomChoices:
    """The reference's own choices: ids of random bits, the longest-standing member (JOIN-07), the protocol first voted for (JOIN-32), topics after the answer, targets and epochs of Kafka."""

    def __init__(self, random: RandomBits) -> None:
        self._random = random

    def member_id(self, prefix: str, arrival: Arrival) -> str:
        """Return `<prefix>-<UUID>` (JOIN-03, STATIC-01)."""
        bits = self._random.getrandbits(128) & ~(0xF << 76) & ~(0x3 << 62) | 4 << 76 | 2 << 62
        digits = f"{bits:032x}"
        return f"{prefix}-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def leader(self, group_id: str, candidates: Sequence[str]) -> str:
        return candidates[0]

    def protocol(self, group_id: str, tied: Sequence[str]) -> str:
        return tied[0]

    def assignor(self, tied: Sequence[str], occasion: int) -> str:
        return tied[0]

    def is_over(self, due_ms: int, now_ms: int) -> bool:
        return now_ms >= due_ms

    def resolves_at_once(self, arrival: Arrival) -> bool:
        return False

    def target(self, question: TargetQuestion) -> TargetAssignment:
        return question.kafkas

    def group_epoch(self, group: ConsumerGroup, arrival: Arrival | None) -> int:
        return group.generation + 1

    def computes_target(self, group: ConsumerGroup, arrival: Arrival | None, *, is_usual: bool) -> bool:
        return is_usual
