from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.coordinator.machine.consumer.consumer_histories import BrokenInvariant
from tests.coordinator.machine.consumer.dialect_at_hand import profile_of
from tests.coordinator.machine.consumer.measured_answers import RELEASES
from tests.coordinator.machine.consumer.mixed_histories import MixedHistory

from groupproof.coordinator.machine.bound_tables import bound_tables
from groupproof.coordinator.machine.consumer import migration
from groupproof.coordinator.machine.consumer.classic_blobs import share_in_bytes
from groupproof.coordinator.machine.consumer.consumer_effects import CONSUMER_EFFECTS
from groupproof.coordinator.machine.consumer.consumer_event import group_of
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_guards import CONSUMER_GUARDS
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEffect, ConsumerGuard

SEEDS = range(8)
STEPS = 200


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.requirement("CGI-04", "CGI-10", "CGG-11", "CGG-12", "CGG-13", "CGG-52", "CGG-57", "CGR-35")
def test_no_invariant_is_broken_by_members_of_both_protocols(release: str, seed: int) -> None:
    history = MixedHistory(profile_of(release), seed)
    history.run(STEPS)

    assert history.syncs + history.heartbeats > 0


@pytest.mark.slow
def test_the_histories_turn_groups_both_ways_and_pass_partitions_on() -> None:
    histories = [MixedHistory("kafka-4.4", seed) for seed in SEEDS]
    for history in histories:
        history.run(STEPS)

    assert sum(history.conversions["upgraded"] for history in histories) > len(SEEDS)
    assert sum(history.conversions["downgraded"] for history in histories) > len(SEEDS)
    assert sum(history.passed_on for history in histories) > 10 * len(SEEDS)
    assert sum(history.syncs for history in histories) > 5 * len(SEEDS)
    assert max(history.committed for history in histories) > 0


def _with(effects: Mapping[Any, Any] | None = None, guards: Mapping[Any, Any] | None = None) -> Callable[[pytest.MonkeyPatch], None]:
    def plant(monkeypatch: pytest.MonkeyPatch) -> None:
        for effect, function in (effects or {}).items():
            monkeypatch.setitem(CONSUMER_EFFECTS, effect, function)
        for guard, function in (guards or {}).items():
            monkeypatch.setitem(CONSUMER_GUARDS, guard, function)

    return plant


def _after(effect: ConsumerEffect, more: Callable[[Any, Any], None]) -> Callable[[pytest.MonkeyPatch], None]:
    honest = CONSUMER_EFFECTS[effect]

    def both(engine: Any, event: Any) -> None:
        honest(engine, event)
        more(engine, event)

    return _with({effect: both})


def _in_place(place: Any, name: str, function: Any) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda monkeypatch: monkeypatch.setattr(place, name, function)


_honest_group, _honest_convert = migration._consumer_group_of, migration._convert


def _forgets_shares(self: ConsumerGroup, member: Any, share: Any) -> None:
    self.target[member.member_id] = {}
    self.note_progress(member)


def _begins_anew(classic: Any, topics: Any, now_ms: int, **options: int) -> ConsumerGroup:
    generation, classic.generation = classic.generation, 1
    try:
        return _honest_group(classic, topics, now_ms, **options)
    finally:
        classic.generation = generation


def _loses_a_member(classic: Any, topics: Any, now_ms: int, **options: int) -> ConsumerGroup:
    for member_id in [*classic.members.by_id][1:]:
        classic.members.remove(member_id)
    return _honest_group(classic, topics, now_ms, **options)


def _converts_but_one(engine: Any, event: Any, members: Any, generation: int) -> None:
    _honest_convert(engine, event, [*members][:1], generation)


def _converts_to_generation_1(engine: Any, event: Any, members: Any, generation: int) -> None:
    _honest_convert(engine, event, members, 1)


def _owns_nothing(engine: Any, event: Any) -> None:
    event.owned = {}


def _says_nothing(engine: Any, event: Any) -> None:
    event.owned = None


def _writes_the_target(engine: Any, event: Any) -> None:
    group, member = group_of(event), group_of(event).members[event.member_id]
    assert member.classic is not None
    event.assignment = {member.member_id: share_in_bytes(group.target.get(member.member_id, {}), engine.topics, member.classic.protocol.metadata)}


def _forgets_offsets(engine: Any, event: Any) -> None:
    engine.partition(event.group_id).offsets.pop(event.group_id, None)


def _keeps_partitions(self: ConsumerGroup, member: Any) -> None:
    owners = dict(self.owners)
    _honest_remove(self, member)
    if member.classic is not None:
        self.owners.update(owners)


_honest_remove = ConsumerGroup.remove


def _nothing(engine: Any, event: Any) -> None:
    pass


BUGS: Mapping[str, Callable[[pytest.MonkeyPatch], None]] = {
    "an upgraded member has lost its partitions": _in_place(ConsumerGroup, "give", _forgets_shares),
    "an upgraded group begins at epoch 1": _in_place(migration, "_consumer_group_of", _begins_anew),
    "an upgrade keeps one member": _in_place(migration, "_consumer_group_of", _loses_a_member),
    "an upgrade forgets the offsets": _after(ConsumerEffect.UPGRADE, _forgets_offsets),
    "an upgrade does not answer what is parked": _in_place(migration, "_abort_parked", _nothing),
    "a downgrade keeps one member": _in_place(migration, "_convert", _converts_but_one),
    "a downgraded group begins at generation 1": _in_place(migration, "_convert", _converts_to_generation_1),
    "a downgrade forgets the offsets": _after(ConsumerEffect.DOWNGRADE, _forgets_offsets),
    "the last member of the consumer protocol goes, and nothing follows": _with(guards={ConsumerGuard.DOWNGRADES: lambda event: False}),
    "a JoinGroup acknowledges whatever it owns": _after(ConsumerEffect.TAKE_UP_CLASSIC, _owns_nothing),
    "a JoinGroup acknowledges nothing": _after(ConsumerEffect.TAKE_UP_CLASSIC, _says_nothing),
    "a SyncGroup gives what another member has still": _with({ConsumerEffect.NOTE_SHARE: _writes_the_target}),
    "a Heartbeat never sends a member back to JoinGroup": _with(guards={ConsumerGuard.MUST_REJOIN: lambda event: False}),
    "a Heartbeat does not see that what a member waits for is free": _in_place(ConsumerGroup, "is_waiting", lambda self, member: True),
    "a classic member that has gone keeps its partitions": _in_place(ConsumerGroup, "remove", _keeps_partitions),
    "a classic member's Heartbeat does not keep its session": _with({ConsumerEffect.REFRESH_CLASSIC_SESSION: _nothing}),
    "a member's time to sync runs on": _with({ConsumerEffect.END_RESYNC: _nothing}),
}


def _run_all() -> None:
    bound_tables.cache_clear()
    for seed in SEEDS:
        MixedHistory("kafka-4.4", seed).run(STEPS)


@pytest.mark.parametrize("bug", BUGS)
def test_each_planted_bug_breaks_an_invariant(bug: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    request.addfinalizer(bound_tables.cache_clear)
    BUGS[bug](monkeypatch)

    with pytest.raises(AssertionError):
        _run_all()


def test_what_is_broken_is_said_with_its_requirement(monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS["an upgraded group begins at epoch 1"](monkeypatch)

    with pytest.raises(BrokenInvariant, match=r"\(CG[A-Z]-\d+\)"):
        _run_all()
