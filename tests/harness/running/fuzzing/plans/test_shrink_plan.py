from __future__ import annotations

from collections.abc import Callable, Sequence

import trio
from tests.harness.running.fuzzing.finding import busy_plan, finding, step_seen, triggered

from groupproof.harness.cases.drawn_case import head_of, with_healing
from groupproof.harness.model.plan import (
    Arm,
    Await,
    BreakBroker,
    Command,
    Freeze,
    Heal,
    Kill,
    Mark,
    Matches,
    Mend,
    Pass,
    Plan,
    Stable,
    Start,
    Step,
    Thaw,
)
from groupproof.harness.model.plan_builders import answers, breaks, freeze, kill, mend, move, passing, plan, requested, start, subject, thaw
from groupproof.harness.model.verdicts import Proof
from groupproof.harness.running.fuzzing.plans.shrink_plan import count_of_faults, faults_of, relevant, shrink_plan, size_of, smaller_plans
from groupproof.protocol.vocabulary import Api

TIERS = range(3)


def small(shows: Callable[[Plan], bool]) -> tuple[Plan, int]:
    """Return what is left of the busy plan, and how many rounds it took."""
    rounds = 0

    async def attempt(plans: Sequence[Plan]) -> list[bool]:
        nonlocal rounds
        rounds += 1
        return [shows(item) for item in plans]

    return trio.run(shrink_plan, busy_plan(), attempt), rounds


def has_fault(name: str) -> Callable[[Plan], bool]:
    return lambda item: name in {fault.name for fault in faults_of(item)}


def test_what_does_not_matter_is_left_out_to_the_last_step() -> None:
    left, rounds = small(lambda item: has_fault("f3")(item) and any(isinstance(step, Command) and step.command == "commit" for step in item.steps))
    steps = head_of(left).steps

    assert [type(step) for step in steps] == [Start, Arm, Command]
    assert [member.name for member in left.members] == ["m0"]
    assert (left.members[0].settings, left.topics, left.coordinator) == ({}, {"t": 1}, {})
    assert rounds < 20


def test_a_failure_that_needs_everything_keeps_everything() -> None:
    whole = busy_plan()

    assert small(lambda item: False)[0] == whole


def test_times_are_shortened_and_faults_put_plainer() -> None:
    left, _ = small(lambda item: has_fault("f1")(item) and has_fault("f2")(item) and any(isinstance(step, Pass) for step in head_of(item).steps))
    (hold, answer) = sorted(faults_of(left), key=lambda fault: fault.name)

    assert hold.action.ms == 200  # type: ignore[union-attr] # f1 is a hold
    assert (answer.selector.nth, answer.selector.count) == (1, 1)
    assert [step.ms for step in head_of(left).steps if isinstance(step, Pass)] == [200]


def test_a_wait_goes_with_the_fault_that_it_comes_after() -> None:
    fault = answers("f1", Api.HEARTBEAT, 27, client="m0", count=None)
    waiting = with_healing(plan(subject(), *start("m0"), fault, requested("m0", Api.JOIN_GROUP, after="f1", go_on=True), passing(300)))
    without = [item for item in smaller_plans(waiting, 0) if not faults_of(item)]

    assert without
    assert [step for item in without for step in head_of(item).steps if isinstance(step, Await)] == []


def test_every_lesser_plan_is_smaller_whole_and_healed() -> None:
    whole = busy_plan()
    for item in (made for tier in TIERS for made in smaller_plans(whole, tier)):
        started = {step.member for step in item.steps if isinstance(step, Start)}
        armed = {fault.name for fault in faults_of(item)}
        assert size_of(item) < size_of(whole)
        assert {member.name for member in item.members} == started
        assert started
        assert {step.fault for step in item.steps if isinstance(step, Heal)} == armed
        assert [step.name for step in item.steps if isinstance(step, Mark)] == ["healing", "healed", "calm"]
        for step in item.steps:
            if isinstance(step, Await) and isinstance(step.until, Stable):
                assert set(step.until.members) <= started
            elif isinstance(step, Await) and isinstance(step.until, Matches) and step.until.fault:
                assert step.until.fault in armed


def test_no_plan_is_left_without_anybody_under_test() -> None:
    one = with_healing(plan(subject("m0"), start("m0"), topics={"t": 1}, coordinator={}))

    assert [item for tier in TIERS for item in smaller_plans(one, tier) if not item.members] == []


def test_what_came_after_the_proof_and_what_had_no_effect_is_irrelevant() -> None:
    whole = busy_plan()
    trace = [step_seen(0, 0), step_seen(1, 2), triggered(2, "f1"), step_seen(3, 5), triggered(4, "f2"), step_seen(5, 9), triggered(6, "f3")]

    before = relevant(whole, trace, finding(seq=4))
    ever = relevant(whole, trace, finding(seq=4, proof=Proof.LIVENESS))

    assert [fault.name for fault in faults_of(before)] == ["f1"]
    assert len(head_of(before).steps) < 6
    assert [fault.name for fault in faults_of(ever)] == ["f1", "f2", "f3"]
    assert relevant(whole, [], finding(seq=0)) == whole


def rough_plan() -> Plan:
    """A broker broken and mended, a member frozen and thawed, killed and started again."""
    befalls: list[Step] = [breaks("b", "kill"), mend("b"), freeze("m0"), passing(800), thaw("m0"), kill("m1"), *start("m1"), move()]
    return with_healing(plan(subject("m0"), subject("m1"), *start("m0", "m1"), *befalls))


def test_what_befalls_members_and_brokers_counts_as_faults() -> None:
    assert count_of_faults(rough_plan()) == size_of(rough_plan())[0] == 4
    assert count_of_faults(busy_plan()) == 3


def test_no_lesser_plan_mends_thaws_or_starts_again_what_needs_it_not() -> None:
    for item in (made for tier in TIERS for made in smaller_plans(rough_plan(), tier)):
        up: set[str] = set()
        undone: list[Step] = []
        for step in item.steps:
            if isinstance(step, Start):
                assert step.member not in up
                up.add(step.member)
            elif isinstance(step, Kill):
                up.remove(step.member)
            elif isinstance(step, BreakBroker | Freeze):
                undone.append(step)
            elif isinstance(step, Mend | Thaw):
                assert undone
                undone.pop()
        assert not undone
