"""Consumer groups whose targets or epochs differ from Apache Kafka's: within KIP-848 (`LEGAL_TARGETS`), and against it (`BUGS_OF_TARGETS`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from groupproof.coordinator.assignors.group_spec import share_of
from groupproof.coordinator.assignors.range_assignor import range_in_order
from groupproof.coordinator.machine.choices import RandomChoices
from groupproof.coordinator.machine.variant import Variant

if TYPE_CHECKING:
    from groupproof.coordinator.assignors.group_spec import TargetAssignment, TopicIdPartition
    from groupproof.coordinator.machine.choices import Choices, RandomBits, TargetQuestion
    from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
    from groupproof.coordinator.machine.machine_outputs import Arrival

__all__ = ["BUGS_OF_TARGETS", "LEGAL_TARGETS"]

Dealer = Callable[["TargetQuestion"], "TargetAssignment"]

# Targets ---------------------------------------------------------------------------------------------------------------------------


def _others(uniform: Dealer | None = None, range: Dealer | None = None) -> Callable[[RandomBits], Choices]:
    """Return choices in which these functions replace the assignors."""
    dealers = {name: dealer for name, dealer in (("uniform", uniform), ("range", range)) if dealer is not None}

    class Dealing(RandomChoices):
        def target(self, question: TargetQuestion) -> TargetAssignment:
            dealer = dealers.get(question.assignor)
            return question.kafkas if dealer is None else dealer(question)

    return Dealing


def _partitions(share: Mapping[str, Iterable[int]]) -> list[TopicIdPartition]:
    return [(topic, index) for topic, indexes in share.items() for index in sorted(indexes)]


def _shares(owners: Mapping[str, Iterable[TopicIdPartition]]) -> TargetAssignment:
    return {member: share_of(partitions) for member, partitions in owners.items()}


def _from_the_end(question: TargetQuestion) -> TargetAssignment:
    """Give each member as many partitions as Kafka does. A member with too many keeps its last ones; the rest is distributed from the end."""
    sizes = {member: len(_partitions(share)) for member, share in question.kafkas.items()}
    all_partitions = [partition for share in question.kafkas.values() for partition in _partitions(share)]
    free = set(all_partitions)
    dealt: dict[str, list[TopicIdPartition]] = {}
    for member, spec in question.spec.members.items():
        own = [partition for partition in _partitions(spec.assigned) if partition in free and partition[0] in spec.subscribed_topic_ids]
        dealt[member] = own[max(0, len(own) - sizes[member]) :]
        free -= set(dealt[member])
    for partition in sorted(free, reverse=True):
        takers = [member for member in reversed(dealt) if partition[0] in question.spec.members[member].subscribed_topic_ids]
        roomy = [member for member in takers if len(dealt[member]) < sizes[member]]
        if not roomy:
            return question.kafkas
        dealt[roomy[0]].append(partition)
    return _shares(dealt)


def _ranges_backwards(question: TargetQuestion) -> TargetAssignment:
    """Cut ranges as Kafka does, for the members in another order. Static members stay first, by their instance ids (CGA-22)."""
    specs = question.spec.members
    static = sorted((member for member, spec in specs.items() if spec.instance_id is not None), key=lambda member: specs[member].instance_id or "")
    order = [*static, *sorted((member for member in specs if specs[member].instance_id is None), reverse=True)]
    target = range_in_order(question.spec, question.topics, order)
    return _shares({member: _partitions(target[member]) for member in specs})


def _with(change: Callable[[dict[str, list[TopicIdPartition]], TargetQuestion], None]) -> Dealer:
    """Return a dealer that changes Kafka's target."""

    def dealt(question: TargetQuestion) -> TargetAssignment:
        owners = {member: _partitions(share) for member, share in question.kafkas.items()}
        change(owners, question)
        return _shares(owners)

    return dealt


def _leave_one_out(owners: dict[str, list[TopicIdPartition]], _: TargetQuestion) -> None:
    if (most := max(owners.values(), key=len, default=[])) and len(owners) > 1:
        most.pop()


def _give_one_twice(owners: dict[str, list[TopicIdPartition]], _: TargetQuestion) -> None:
    (first, *_others) = owners.values()
    for other in _others:
        other += [partition for partition in first[:1] if partition not in other]


def _favour_the_first(owners: dict[str, list[TopicIdPartition]], question: TargetQuestion) -> None:
    """Give one member a partition more, and another one less, than is even."""
    first = min(owners)
    for member, own in owners.items():
        if member != first and own and own[0][0] in question.spec.members[first].subscribed_topic_ids:
            owners[first].append(own.pop())


def _give_unsubscribed(owners: dict[str, list[TopicIdPartition]], question: TargetQuestion) -> None:
    """Give a member a partition of a topic that it does not subscribe to, instead of a subscriber."""
    specs = question.spec.members
    for own in owners.values():
        strangers = [member for member, spec in specs.items() if own and own[-1][0] not in spec.subscribed_topic_ids]
        if strangers:
            owners[strangers[0]].append(own.pop())
            return


def _tear_ranges(owners: dict[str, list[TopicIdPartition]], _: TargetQuestion) -> None:
    """Let two members exchange one partition each, so that neither has a range."""
    several = [own for own in owners.values() if len(own) > 1]
    if len(several) > 1:
        several[0][0], several[1][-1] = several[1][-1], several[0][0]


def _forget_who_had_what(question: TargetQuestion) -> TargetAssignment:
    """Distribute partitions one by one, regardless of their previous owners."""
    members = sorted(question.spec.members)
    owners: dict[str, list[TopicIdPartition]] = {member: [] for member in members}
    for partition in sorted(partition for share in question.kafkas.values() for partition in _partitions(share)):
        takers = [member for member in members if partition[0] in question.spec.members[member].subscribed_topic_ids]
        owners[min(takers, key=lambda member: len(owners[member]))].append(partition)
    return _shares(owners)


# Epochs ----------------------------------------------------------------------------------------------------------------------------


class _ByTwo(RandomChoices):
    def group_epoch(self, group: ConsumerGroup, arrival: Arrival | None) -> int:
        return group.generation + 2


class _ByTen(RandomChoices):
    def group_epoch(self, group: ConsumerGroup, arrival: Arrival | None) -> int:
        return group.generation + 10


class _TargetsLater(RandomChoices):
    """Computes each target with the next heartbeat; the first of a group at once, and one that was due before (CGR-26)."""

    def computes_target(self, group: ConsumerGroup, arrival: Arrival | None, *, is_usual: bool) -> bool:
        was_due = group.generation > group.assignment_epoch + 1
        return is_usual and (was_due or not group.assignment_epoch)


class _SharedEpochs(_TargetsLater):
    """Does not bump the group epoch for a change while a target is due anyway."""

    def group_epoch(self, group: ConsumerGroup, arrival: Arrival | None) -> int:
        return group.generation + (group.generation == group.assignment_epoch)


class _TargetsAtOnce(RandomChoices):
    def computes_target(self, group: ConsumerGroup, arrival: Arrival | None, *, is_usual: bool) -> bool:
        return True


LEGAL_TARGETS: Final[tuple[Variant, ...]] = (
    Variant(name="uniform-from-the-end", says="uniform takes the first partitions from who has too many, and deals from the end.", choices=_others(uniform=_from_the_end)),
    Variant(name="range-backwards", says="range cuts its ranges for the members from the last id to the first.", choices=_others(range=_ranges_backwards)),
    Variant(name="epochs-by-two", says="Each change counts two epochs.", choices=_ByTwo),
    Variant(name="epochs-by-ten", says="Each change counts ten epochs.", choices=_ByTen),
    Variant(name="targets-later", says="A target is computed with the heartbeat after the one that asks for it.", choices=_TargetsLater),
    Variant(name="shared-epochs", says="Changes before a target is computed share one epoch.", choices=_SharedEpochs),
    Variant(name="targets-at-once", says="A target is computed as a member goes, and not with the next heartbeat.", choices=_TargetsAtOnce),
)  # fmt: skip

BUGS_OF_TARGETS: Final[tuple[Variant, ...]] = (
    Variant(name="one-partition-nobodys", says="A target leaves one partition to nobody.", breaks=("CGA-04",), choices=_others(_with(_leave_one_out), _with(_leave_one_out))),
    Variant(name="one-partition-twice", says="A target gives one partition to several members.", breaks=("CGI-11",), choices=_others(_with(_give_one_twice), _with(_give_one_twice))),
    Variant(name="topics-of-others", says="A target gives a member a partition of a topic that it does not subscribe to.", breaks=("CGA-05",),
            choices=_others(_with(_give_unsubscribed), _with(_give_unsubscribed))),
    Variant(name="uniform-uneven", says="uniform gives one member more than its part.", breaks=("CGA-10",), choices=_others(uniform=_with(_favour_the_first))),
    Variant(name="uniform-forgets", says="uniform assigns everything again each time, whoever had a partition.", breaks=("CGA-11",), choices=_others(uniform=_forget_who_had_what)),
    Variant(name="range-torn", says="range gives members partitions that are no range.", breaks=("CGA-15",), choices=_others(range=_with(_tear_ranges))),
)  # fmt: skip
