"""Members are looked at again where something has changed, and every law finds then what it would find by looking at all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.harness.simulation.runs import calm, ran, short
from tests.harness.simulation.test_consumer_simulation import COORDINATORS

from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_members import MemberProgress
from groupproof.harness.simulation.invariants.checked_members import CheckedMembers, CheckedTarget
from groupproof.harness.simulation.invariants.epoch_group_invariants import EpochGroupInvariants
from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.simulation_registry import simulation_of
from groupproof.protocol.rules import profile

Broken = tuple[str, str, str]


def _group() -> ConsumerGroup:
    group = ran(calm(dialect="consumer"), 12_000).invariants.group()
    assert isinstance(group, ConsumerGroup)
    return group


def _look(members: CheckedMembers, group: ConsumerGroup) -> tuple[list[str], list[str]]:
    """Return the ids of the members that are looked at, and of those that have what another has."""
    changed = members.changed(group)
    return [member.member_id for member in changed], [member.member_id for member in changed if list(members.take(member))]


def test_a_member_is_looked_at_once_and_again_when_it_has_changed() -> None:
    group, members = _group(), CheckedMembers()
    ids = list(group.members)
    assert _look(members, group) == (ids, [])
    assert _look(members, group) == ([], [])
    assert members.was_stable

    group.members[ids[1]].progress = MemberProgress.UNRELEASED_PARTITIONS
    assert _look(members, group) == ([ids[1]], [])
    group.target[ids[2]] = {}
    assert _look(members, group) == ([ids[2]], [])
    group.generation += 1
    assert _look(members, group) == ([], [])
    assert not members.was_stable, "what holds in a Stable group is asked of all of them"


def test_with_another_target_those_are_looked_at_that_have_reached_it_and_with_another_topic_or_group_everyone() -> None:
    group, members = _group(), CheckedMembers()
    ids = list(group.members)
    _look(members, group)

    group.generation = group.assignment_epoch = group.generation + 1
    assert _look(members, group) == ([], []), "they are behind it, as they were before"
    group.members[ids[0]].epoch = group.generation
    assert _look(members, group) == ([ids[0]], [])
    group.assignment_epoch -= 1
    assert _look(members, group) == (ids, []), "it has gone back: they have its epoch, or are ahead"
    group.topics = {}
    assert _look(members, group) == (ids, [])
    assert _look(members, group.copied()) == (ids, [])


def test_of_a_target_what_two_are_to_have_and_what_nobody_is_to_have_is_found_whoever_has_another_share() -> None:
    group, last_target = _group(), CheckedTarget()
    first, second = list(group.members)[:2]
    target = dict(group.target)
    lacking = frozenset((topic_id, index) for topic_id, indexes in target[first].items() for index in indexes)
    assert (list(last_target.take(target)), last_target.missing(group.topics)) == ([], frozenset())

    target[first], target[second] = target[second], target[first]
    assert (list(last_target.take(target)), last_target.missing(group.topics)) == ([], frozenset())
    target[second] = target[first]
    assert {(member_id, other) for _, member_id, other in last_target.take(target)} == {(second, first)}
    assert last_target.missing(group.topics) == lacking
    del target[first]
    target[second] = dict(target[second])
    assert (list(last_target.take(target)), last_target.missing(group.topics)) == ([], lacking)


def test_what_two_have_is_found_whichever_of_them_has_changed_and_no_more_when_one_has_gone() -> None:
    group, members = _group(), CheckedMembers()
    ids = list(group.members)
    _look(members, group)
    first, second = (group.members[member_id] for member_id in ids[:2])

    first.assigned, second.assigned = second.assigned, first.assigned
    assert _look(members, group) == (ids[:2], []), "each has what the other had"
    second.assigned = first.assigned
    assert _look(members, group) == ([ids[1]], [ids[1]])
    del group.members[ids[0]]
    second.assigned = dict(first.assigned)
    second.progress = MemberProgress.UNRELEASED_PARTITIONS
    assert _look(members, group) == ([ids[1]], [])


class Compared(EpochGroupInvariants):
    """Each look is made a second time, with nothing seen before."""

    def __init__(self, release: tuple[int, ...], looks: list[tuple[list[Broken], list[Broken]]]) -> None:
        super().__init__(release)
        self.looks = looks

    def _broken(self, group: ConsumerGroup) -> Iterator[Broken]:
        memory = self._checked_members, self._checked_target, self._target_epoch
        self._checked_members, self._checked_target = CheckedMembers(), CheckedTarget()
        whole = [*super()._broken(group)]
        self._checked_members, self._checked_target, self._target_epoch = memory
        self.looks.append((whole, [*super()._broken(group)]))
        yield from self.looks[-1][1]


@pytest.mark.parametrize(("name", "seed"), [(None, 1), *((name, seed) for name, (seed, _) in COORDINATORS.items())])
def test_invariants_find_from_changes_what_they_find_in_a_full_check(name: str | None, seed: int) -> None:
    looks: list[tuple[list[Broken], list[Broken]]] = []
    simulation = short(seed, dialect="consumer", members=3, classic_members=0, duration_ms=90_000, coordinator_variant=name)
    part = simulation_of(simulation.profile, "consumer")
    Run(simulation, part=replace(part, invariants=lambda asked, heap: Compared(profile(asked.profile).release, looks))).go()

    assert looks
    for whole, quick in looks:
        assert [requirement for requirement, *_ in quick[:1]] == [requirement for requirement, *_ in whole[:1]]
