"""Shrinks a failing plan while the same failure shows. Pure but for `attempt`.

It leaves out faults, members, steps and settings, and shortens times, many attempts side by side.

Plans run in real time and take seconds each, so a round first tries each omission alone, side by side, and then the successful ones together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from groupproof.harness.cases.drawn_case import head_of, staying, with_healing
from groupproof.harness.model.plan import (
    Arm,
    Await,
    BreakBroker,
    Command,
    Freeze,
    Heal,
    Kill,
    Matches,
    Member,
    Mend,
    MoveCoordinator,
    Pass,
    Plan,
    Release,
    Stable,
    Start,
    Step,
    Thaw,
)  # fmt: skip
from groupproof.harness.model.verdicts import Finding, Proof
from groupproof.harness.running.fuzzing.shrink import Attempt, shrink
from groupproof.protocol.faults import Fault, Hold, Selector
from groupproof.protocol.trace import Trace

__all__ = ["count_of_faults", "faults_of", "relevant", "shrink_plan", "size_of", "smaller_plans"]

_SHORTEST_MS: Final = 200


async def shrink_plan(plan: Plan, attempt: Attempt[Plan]) -> Plan:
    """Return the smallest plan found that still shows the failure: whole parts are left out first, then single steps; then the rest is simplified."""
    tiers = [partial(smaller_plans, tier=tier) for tier in range(len(_TIERS))]
    return await shrink(plan, tiers, attempt, size_of, together=_together)


def relevant(plan: Plan, trace: Trace, finding: Finding) -> Plan:
    """Return the plan without parts that cannot have caused a finding: faults that acted on nothing before it, and steps after its proof."""
    until = len(trace) if finding.seq is None or finding.proof is not Proof.SAFETY else finding.seq
    begun = [obs.body["index"] for obs in trace[:until] if obs.who == "kit" and obs.body.get("name") == "step"]
    triggered = {obs.fault for obs in trace[:until] if obs.kind == "fault" and obs.detail == "triggered"}
    steps = head_of(plan).steps[: max(begun, default=-1) + 1]
    made = _kept(head_of(plan), [step for step in steps if not isinstance(step, Arm) or step.fault.name in triggered])
    return with_healing(made) if _is_whole(made) else plan


def size_of(plan: Plan) -> tuple[int, ...]:
    """Return the size of a plan: faults, members, steps, time, settings, in this order of importance."""
    head = head_of(plan)
    times = [step.ms for step in head.steps if isinstance(step, Pass)] + [
        fault.action.ms or 0 for fault in faults_of(plan) if isinstance(fault.action, Hold)
    ]
    settings = sum(len(member.settings) for member in plan.members) + len(plan.coordinator) + sum(plan.topics.values())
    counts = sum(fault.selector.nth + (fault.selector.count or 1) for fault in faults_of(plan))
    return (count_of_faults(plan), len(plan.members), len(head.steps), sum(times), settings, counts)


def faults_of(plan: Plan) -> list[Fault]:
    return [step.fault for step in plan.steps if isinstance(step, Arm)]


def count_of_faults(plan: Plan) -> int:
    """Return the number of faults in a plan: on frames, and kills, freezes, broken brokers and moved coordinators."""
    return sum(isinstance(step, Arm | Kill | Freeze | BreakBroker | MoveCoordinator) for step in plan.steps)


def smaller_plans(plan: Plan, tier: int) -> Iterator[Plan]:
    """Yield the smaller plans of a tier; each once, each with at least one subject that stays."""
    head = head_of(plan)
    lines = {repr(head)}
    for made in _TIERS[tier](head):
        if repr(made) not in lines and _is_whole(made) and size_of(made) < size_of(head):
            lines.add(repr(made))
            yield with_healing(made)


def _is_whole(head: Plan) -> bool:
    subjects = {member.name for member in head.members if member.kind == "subject"}
    return bool(subjects & set(staying(head.steps)))


# Omissions.


def _without_parts(head: Plan) -> Iterator[Plan]:
    """Yield the plan without each member, each fault, and each half, quarter and eighth of its steps."""
    for member in head.members:
        yield _kept(head, [step for step in head.steps if _member_of(step) != member.name])
    for fault in faults_of(head):
        yield _kept(head, [step for step in head.steps if not isinstance(step, Arm) or step.fault != fault])
    for parts in (2, 4, 8):
        length = -(-len(head.steps) // parts)
        for start in range(0, len(head.steps), length):
            yield _kept(head, [*head.steps[:start], *head.steps[start + length :]])


def _without_steps(head: Plan) -> Iterator[Plan]:
    for index in range(len(head.steps)):
        yield _kept(head, [*head.steps[:index], *head.steps[index + 1 :]])


def _together(plan: Plan, found: Sequence[Plan]) -> Iterator[Plan]:
    """Yield the plan without all parts that could be left out alone, and without half of them."""
    head = head_of(plan)
    for few in (found, found[: (len(found) + 1) // 2], found[:2]):
        common = [step for step in head.steps if all(step in head_of(plan).steps for plan in few)]
        made = _kept(head, common)
        if len(few) > 1 and _is_whole(made):
            yield with_healing(made)


def _kept(head: Plan, steps: Iterable[Step]) -> Plan:
    """Return the plan with these steps, without steps that refer to missing parts and without members that never start."""
    left = list(_consistent(list(steps)))
    started = {step.member for step in left if isinstance(step, Start)}
    return replace(head, members=tuple(member for member in head.members if member.name in started), steps=tuple(left))


def _consistent(steps: Sequence[Step]) -> Iterator[Step]:
    starting = {step.member for step in steps if isinstance(step, Start)}
    armed = {step.fault.name for step in steps if isinstance(step, Arm) and step.fault.selector.client in (None, *starting)}
    broken = {step.name for step in steps if isinstance(step, BreakBroker)}
    started: list[str] = []
    up: set[str] = set()
    frozen: set[str] = set()
    for step in steps:
        who = _member_of(step)
        if _is_idle(step, armed, broken) or (who is not None and not _is_fit(step, who, up, frozen)):
            continue
        if isinstance(step, Start):
            started += [] if who in started else [step.member]
        left = _waiting(step, armed, started) if isinstance(step, Await) else step
        if left is not None:
            yield left


def _is_idle(step: Step, armed: set[str], broken: set[str]) -> bool:
    """Return whether a step refers to a missing fault."""
    if isinstance(step, Arm):
        return step.fault.name not in armed
    return (isinstance(step, Heal | Release) and step.fault not in armed) or (isinstance(step, Mend) and step.name not in broken)


def _is_fit(step: Step, who: str, up: set[str], frozen: set[str]) -> bool:
    """Return whether the step makes sense for the member, and note its effect. Only a stopped member can start; only a frozen one can be thawed."""
    if isinstance(step, Start):
        is_fit = who not in up
        up.add(who)
        return is_fit
    if who not in up or (isinstance(step, Thaw) and who not in frozen):
        return False
    if isinstance(step, Kill) or (isinstance(step, Command) and step.command == "close"):
        up.discard(who)
    if isinstance(step, Freeze):
        frozen.add(who)
    elif isinstance(step, Thaw | Kill):
        frozen.discard(who)
    return True


def _member_of(step: Step) -> str | None:
    """Return the member of a step; None if the step has no single member."""
    if isinstance(step, Await) and isinstance(step.until, Matches):
        return step.until.client
    if isinstance(step, Arm):
        return None
    return getattr(step, "member", None)


def _waiting(step: Await, armed: set[str], started: Sequence[str]) -> Await | None:
    """Return the wait without missing faults and members; None if nothing remains."""
    until = step.until
    if isinstance(until, Matches):
        return None if {until.fault, until.after} - {None, *armed} else step  # a drawn plan waits for nothing after a mark
    members = tuple(name for name in until.members if name in started) if isinstance(until, Stable) else ()
    return replace(step, until=replace(until, members=members)) if members else None


# Simplifications.


def _simplified(head: Plan) -> Iterator[Plan]:
    """Yield the plan with one thing simplified, and with default settings except for the assignors."""
    plain = tuple(
        replace(member, settings={name: value for name, value in member.settings.items() if name == "assignors"}) for member in head.members
    )
    yield replace(head, members=plain, coordinator={}, topics={"t": 2})
    for index, step in enumerate(head.steps):
        for plainer in _simplified_step(step):
            yield replace(head, steps=(*head.steps[:index], plainer, *head.steps[index + 1 :]))
    for name in sorted({name for member in head.members for name in member.settings}):
        yield replace(head, members=tuple(_without_setting(member, name) for member in head.members))
    for name in head.coordinator:
        yield replace(head, coordinator={other: value for other, value in head.coordinator.items() if other != name})
    for topic, partitions in head.topics.items():
        yield replace(head, topics={**head.topics, topic: 1} if partitions > 1 else head.topics)
        yield replace(head, topics={other: count for other, count in head.topics.items() if other != topic or topic == "t"})


def _without_setting(member: Member, name: str) -> Member:
    return replace(member, settings={other: value for other, value in member.settings.items() if other != name})


def _simplified_step(step: Step) -> Iterator[Step]:
    if isinstance(step, Pass) and step.ms > _SHORTEST_MS:
        yield replace(step, ms=max(_SHORTEST_MS, step.ms // 2))
    elif isinstance(step, Arm):
        yield from (replace(step, fault=fault) for fault in _simplified_faults(step.fault))


def _simplified_faults(fault: Fault) -> Iterator[Fault]:
    selector, action = fault.selector, fault.action
    if isinstance(action, Hold) and (action.ms or 0) > _SHORTEST_MS:
        yield replace(fault, action=Hold(ms=max(_SHORTEST_MS, (action.ms or 0) // 2)))
    plain: dict[str, Any] = {"count": 1, "nth": 1, "state": None}
    for name, value in plain.items():
        if getattr(selector, name) != value:
            yield replace(fault, selector=_with(selector, name, value))


def _with(selector: Selector, name: str, value: Any) -> Selector:
    return replace(selector, **{name: value})


_TIERS: Final[tuple[Callable[[Plan], Iterator[Plan]], ...]] = (_without_parts, _without_steps, _simplified)
