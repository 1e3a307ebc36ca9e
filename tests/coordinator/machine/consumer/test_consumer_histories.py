from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.coordinator.machine.consumer.consumer_histories import BrokenInvariant, History
from tests.coordinator.machine.consumer.dialect_at_hand import profile_of
from tests.coordinator.machine.consumer.measured_answers import RELEASES

from groupproof.coordinator.machine.consumer import consumer_effects
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember, MemberProgress
from groupproof.coordinator.machine.consumer.reconciliation import Reconciler, Step

SEEDS = range(12)
STEPS = 200


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.requirement("CGI-03", "CGI-04", "CGI-05", "CGI-06", "CGI-10", "CGR-35")
def test_no_invariant_is_broken_in_a_drawn_history(release: str, seed: int) -> None:
    history = History(profile_of(release), seed)
    history.run(STEPS)

    assert history.heartbeats > 0


def test_the_histories_have_groups_that_live() -> None:
    histories = [History("kafka-4.4", seed) for seed in SEEDS]
    for history in histories:
        history.run(STEPS)

    assert min(history.heartbeats for history in histories) > STEPS / 2
    assert min(history.group_epoch for history in histories) > 10
    assert sum(history.passed_on for history in histories) > 10 * len(histories)


_next = Reconciler.step


def _as_if(**changes: Any) -> Callable[[Reconciler, ConsumerMember], Step | None]:
    return lambda self, member: _next(self._replace(**changes), member)


def _frees_with_the_order(self: Reconciler, member: ConsumerMember) -> Step | None:
    step = _next(self, member)
    return None if step is None else Step(step.progress, step.epoch, step.assigned, {})


def _skips_the_order(self: Reconciler, member: ConsumerMember) -> Step | None:
    step = _next(self, member)
    if step is None or step.progress is not MemberProgress.UNREVOKED_PARTITIONS:
        return step
    return Step(MemberProgress.STABLE, self.target_epoch, step.assigned, {})


def _goes_back(self: Reconciler, member: ConsumerMember) -> Step | None:
    step = _next(self, member)
    return None if step is None or step.epoch < 3 else Step(step.progress, step.epoch - 2, step.assigned, step.pending)


def _never_waits(self: Reconciler, member: ConsumerMember) -> Step | None:
    step = _next(self, member)
    return step if step is None or step.progress is not MemberProgress.UNRELEASED_PARTITIONS else step._replace(progress=MemberProgress.STABLE)


def _keeps_owners(self: ConsumerGroup, member: ConsumerMember, before: Any, after: Any) -> None:
    self.owners.update(dict.fromkeys(after, member.member_id))


BUGS: Mapping[str, tuple[Any, str, Any]] = {
    "gives what another owns": (Reconciler, "step", _as_if(is_owned=lambda topic_id, index: False)),
    "takes every heartbeat for an acknowledgement": (Reconciler, "step", _as_if(owned={})),
    "frees partitions with the order to revoke": (Reconciler, "step", _frees_with_the_order),
    "moves on without an acknowledgement": (Reconciler, "step", _skips_the_order),
    "lets an epoch go back": (Reconciler, "step", _goes_back),
    "forgets that a member waits": (Reconciler, "step", _never_waits),
    "keeps the partitions of a member that has gone": (ConsumerGroup, "_own", _keeps_owners),
    "does not look at topics that changed": (ConsumerGroup, "is_subscribed_to", lambda self, topic: False),
    "counts a leave for nothing": (ConsumerGroup, "look_at", lambda self, image: False),
    "never computes a target again": (consumer_effects, "waits_for_target", lambda engine, group, now_ms: group.assigned_ms is not None),
}


def _run_all() -> None:
    for seed in SEEDS:
        History("kafka-4.4", seed).run(STEPS)


@pytest.mark.parametrize("bug", BUGS)
def test_each_planted_bug_breaks_an_invariant(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, name, planted = BUGS[bug]
    monkeypatch.setattr(place, name, planted)

    with pytest.raises(AssertionError):
        _run_all()


def test_what_is_broken_is_said_with_its_requirement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reconciler, "step", _as_if(is_owned=lambda topic_id, index: False))

    with pytest.raises(BrokenInvariant, match=r"\(CGI-10\)"):
        _run_all()
