"""The choices that the protocol leaves to a coordinator.

They are: member ids, the next leader, a protocol among those with equal votes, the numbers of a classic group's generations, the exact end of a
pause, whether an answer waits for the topics of a regular expression, and for a consumer group its targets, its epochs, and when a target is
computed.

The machine asks for each choice. `RandomChoices` decides as this reference does. The harness decides as a recorded broker did, so that the
machine can run beside the recording.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groupproof.coordinator.assignors.group_spec import GroupSpec, TargetAssignment, TopicSpec
    from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
    from groupproof.coordinator.machine.machine_outputs import Arrival
    from groupproof.coordinator.machine.members import Members

__all__ = ["Choices", "JoinedGroup", "RandomBits", "RandomChoices", "TargetQuestion"]


class RandomBits(Protocol):
    """The only method of `random.Random` that the machine uses."""

    def getrandbits(self, k: int, /) -> int: ...


class TargetQuestion(NamedTuple):
    """The question for a consumer group's target at its epoch: `assignor` distributes `topics` to the members of `spec`.

    `kafkas` is the answer of Kafka's assignor of that name.
    """

    group: ConsumerGroup
    assignor: str
    spec: GroupSpec
    topics: Mapping[str, TopicSpec]
    kafkas: TargetAssignment


class JoinedGroup(Protocol):
    """A classic group whose join phase ends; its `subscriptions` are those of the generation before, None without any."""

    generation: int

    @property
    def subscriptions(self) -> object: ...

    @property
    def members(self) -> Members: ...


class Choices(Protocol):
    """Decides what no rule decides.

    With `counts_by_one` each generation is one more than the one before (INV-04, DJOIN-08, DJOIN-09), and `generation` is not asked.
    """

    counts_by_one: bool

    def member_id(self, prefix: str, arrival: Arrival) -> str:
        """Return a new member id for the JoinGroup of `arrival`; `prefix` is its client id or its instance id."""
        ...

    def leader(self, group_id: str, candidates: Sequence[str]) -> str:
        """Return the leader among `candidates`: at least one, in joining order."""
        ...

    def protocol(self, group_id: str, tied: Sequence[str], possible: Sequence[str] = ()) -> str:
        """Return the protocol among those with most votes: at least one, in the order of their first votes.

        Without agreement any of `possible` is legal, of which Kafka chooses one that is tied (JOIN-32).
        """
        ...

    def generation(self, group: JoinedGroup) -> int:
        """Return the number of the generation that begins, as the join phase ends or as the last member goes.

        It grows with each completed rebalance. No KIP says where it starts and by how much, or whether a group that becomes Empty counts one.
        """
        ...

    def assignor(self, tied: Sequence[str], occasion: int) -> str:
        """Return the server-side assignor to use or to describe among those with most votes: at least two. Each occasion is a choice of its own."""
        ...

    def is_over(self, due_ms: int, now_ms: int) -> bool:
        """Return whether a pause until `due_ms` is over for a request at `now_ms`, where no timer decides it: near the end clocks differ."""
        ...

    def resolves_at_once(self, arrival: Arrival) -> bool:
        """Return whether the answer to a heartbeat with a new regular expression already contains its topics (CGX-19)."""
        ...

    def target(self, question: TargetQuestion) -> TargetAssignment:
        """Return the target of every member: KIP-848 leaves it to the broker's own assignors, within CGA-04 and CGA-05."""
        ...

    def group_epoch(self, group: ConsumerGroup, arrival: Arrival | None) -> int:
        """Return the group epoch after a change by a request, or by a timer if there is none.

        It grows (CGI-04), or stays while its target is not computed yet, so that two changes share one.
        """
        ...

    def computes_target(self, group: ConsumerGroup, arrival: Arrival | None, *, is_usual: bool) -> bool:
        """Return whether the target is computed with the change that needs it, or with the next heartbeat of any member (CGR-26); `is_usual` is
        the release's behaviour."""
        ...


class RandomChoices:
    """The reference's choices: random member ids, the longest-standing member as leader (JOIN-07), the protocol voted for first (JOIN-32), no
    wait for topics, Kafka's generations, targets and epochs."""

    counts_by_one = True

    def __init__(self, random: RandomBits) -> None:
        self._random = random

    def member_id(self, prefix: str, arrival: Arrival) -> str:
        """Return `<prefix>-<UUID>` (JOIN-03, STATIC-01)."""
        bits = self._random.getrandbits(128) & ~(0xF << 76) & ~(0x3 << 62) | 4 << 76 | 2 << 62
        digits = f"{bits:032x}"
        return f"{prefix}-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def leader(self, group_id: str, candidates: Sequence[str]) -> str:
        return candidates[0]

    def protocol(self, group_id: str, tied: Sequence[str], possible: Sequence[str] = ()) -> str:
        return tied[0]

    def generation(self, group: JoinedGroup) -> int:
        return group.generation + 1

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
