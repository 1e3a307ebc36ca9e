from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.coordinator.machine.consumer.dialect_at_hand import dialect_is_there, profile_of
from tests.coordinator.machine.consumer.measured_answers import RELEASES, Observed, measured
from tests.coordinator.machine.consumer.measured_scripts import answers_of, scripts

from groupproof.coordinator.machine.consumer.consumer_members import ConsumerMember, MemberProgress
from groupproof.coordinator.machine.consumer.reconciliation import Reconciler, Step

_NOT_PLAYED = {
    "the broker's authorizer, before its coordinator (test_permitted_requests.py)": {"V44", "V45", "V46", "V47", "V48", "V49", "V50"},
    "a request version that the broker refuses before its coordinator": {"V38"},
    "the broker's own look at the topics named, before its coordinator": {"O10", "O11", "O19", "O20", "O21", "O35", "O36"},
    "the topic ids of the cluster, which decide whose share has which topic": {"A4u", "A7u"},
    "another number of members in two of the releases": {"C71"},
}
"""What the steps depend on that no script here has. C71 is played with both numbers in `test_mixed_groups.py`."""


def _differences(release: str) -> Iterator[str]:
    answers = measured()
    for step, observed in answers_of(profile_of(release)):
        if difference := observed.differs(answers[step][release]):
            yield f"{step}: {difference}"


@pytest.mark.parametrize("release", RELEASES)
def test_each_measured_step_is_answered_as_the_broker_answered_it(release: str) -> None:
    assert list(_differences(release)) == []


def test_the_scripts_play_what_was_measured_but_for_what_no_coordinator_alone_answers() -> None:
    played = {step for step, _ in scripts()} - {"-", "group", "wait"}

    assert played | set().union(*_NOT_PLAYED.values()) == measured().keys()
    assert played.isdisjoint(set().union(*_NOT_PLAYED.values()))


def test_a_step_of_the_member_that_frees_too_early_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Reconciler.step

    def hasty(self: Reconciler, member: ConsumerMember) -> Step | None:
        step = honest(self, member)
        if step is None or step.progress is not MemberProgress.UNREVOKED_PARTITIONS:
            return step
        return Step(MemberProgress.STABLE, self.target_epoch, step.assigned, {})

    monkeypatch.setattr(Reconciler, "step", hasty)

    assert [found for found in _differences("4.4.0") if found.startswith("M17")]


@pytest.mark.parametrize(
    ("observed", "answer"),
    [
        (Observed(code=110), "0 e asg null"),
        (Observed(code=0, epoch=1), "0 e asg null"),
        (Observed(code=0, epoch=0), "0 e+1 asg null"),
        (Observed(code=0, epoch=0, assignment={}, tells_assignment=True), "0 e asg null"),
        (Observed(code=0, epoch=0, assignment={"t": (0,)}, tells_assignment=True), "0 e asg t[0,1] u[2]"),
        (Observed(code=0, state="Stable"), "0 state Reconciling"),
        (Observed(bumps=2), "0 bumps 1"),
        (Observed(targets={"A": {"t": (0,)}}), "state Stable {A: [[t, [0, 1]]]}"),
        (Observed(code=0, offsets=[["t", [[0, 6, 0]]]]), "0 [[t, [[0, 5, 0]]]]"),
        (Observed(code=0, listed="[]"), "0 [[consumer, Stable, consumer]]"),
        (Observed(code=0, epoch=-2), "0 epoch -1"),
        (Observed(code=23, count=1), "23 nmem 0"),
        (Observed(up="-1"), "up 1"),
        (Observed(up="False", code=0), "0 up True leader self"),
        (Observed(code=0, leader="other"), "0 leader self"),
        (Observed(types=[[False, 0], [True, 1]]), "types [[false, 1], [true, 1]]"),
    ],
)
def test_an_answer_that_is_another_differs(observed: Observed, answer: str) -> None:
    assert observed.differs(answer)


def test_the_dialect_can_be_registered_twice_over() -> None:
    with dialect_is_there():
        assert list(_differences("4.1.1")) == []
