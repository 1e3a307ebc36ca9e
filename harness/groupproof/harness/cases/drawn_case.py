"""Makes a case from a random plan: all faults are healed at its end, and universal checkers judge it. Pure; replay needs no Hypothesis.

The healing: every fault is healed and every application polls again. Then the group gets time to settle, and is checked once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from groupproof.harness.judging.case_checkers.after_errors import (
    HEEDS_MS,
    SETTLES_MS,
    ends_up_a_member,
    ids_are_given_up_for_a_reason,
    refusals_are_respected,
    refused_ids_are_dropped,
)
from groupproof.harness.judging.case_checkers.convergence import settles
from groupproof.harness.judging.checkers.claim import tolerated_ms
from groupproof.harness.model.case import Case
from groupproof.harness.model.case_dialect import case_id, dialect_asked
from groupproof.harness.model.plan import (
    Arm,
    Await,
    BreakBroker,
    Command,
    Freeze,
    GroupSettled,
    Grow,
    Heal,
    Kill,
    Mark,
    Mend,
    Plan,
    Start,
    Step,
    Thaw,
    plan_to_json,
)
from groupproof.harness.model.plan_builders import answered, command, heal, mark, mend, passing, stable, thaw
from groupproof.harness.model.verdicts import Level
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.dialect import Dialect
from groupproof.protocol.vocabulary import Api

__all__ = ["AREA", "drawn_case", "head_of", "staying", "with_healing"]

AREA: Final = "fuzz"
"""The first part of a drawn case's id; the second is the dialect of its plan."""

_HEALING: Final = "healing"
_HEALED: Final = "healed"
_CALM: Final = "calm"
_SETTLES: Final = "CGI-13"
_BEAT_MS: Final = 4_000
_CALM_MS: Final = HEEDS_MS + 500


def drawn_case(name: str, plan: Plan) -> Case:
    """Return the plan as a case; `name` is its id, or the id's last part."""
    if _is_of_epochs(plan):
        return _case_of_epochs(name, plan)
    kinds = {member.name: member.kind for member in plan.members}
    judged = [name for name in staying(plan.steps) if kinds[name] == "subject"]
    return Case(
        id=_id_of(name, CLASSIC),
        title="A drawn plan.",
        requirements=("CLIENT-30", "CLIENT-10", "CLIENT-11"),
        level=Level.MUST,
        plan=plan,
        judges=(
            ids_are_given_up_for_a_reason,
            refused_ids_are_dropped,
            refusals_are_respected(_HEALED),
            *(ends_up_a_member(name, after=_HEALED) for name in judged),
        ),
        needs=frozenset({CLASSIC.name}),
        isolated=any(isinstance(step, Kill | Freeze | Thaw) for step in plan.steps),
        origin={"kind": "drawn", "plan": plan_to_json(plan)},
    )


def _case_of_epochs(name: str, plan: Plan) -> Case:
    """Return a plan of KIP-848's protocol as a case: at the end its group has settled (CGI-13)."""
    return Case(
        id=_id_of(name, CONSUMER),
        title="A drawn plan.",
        requirements=(_SETTLES, "CGT-18", "CGT-22", "CGT-24"),
        level=Level.MUST,
        plan=plan,
        judges=(settles(tuple(staying(plan.steps)), _topics_at_the_end(plan), after=_HEALED, within_ms=SETTLES_MS, requirement=_SETTLES),),
        needs=frozenset({CONSUMER.name}),
        isolated=any(isinstance(step, Kill | Freeze | Thaw) for step in plan.steps),
        origin={"kind": "drawn", "plan": plan_to_json(plan)},
    )


def _id_of(name: str, dialect: Dialect) -> str:
    prefix = case_id(AREA, dialect, "")
    return name if name.startswith(prefix) else f"{prefix}{name}"


def _is_of_epochs(plan: Plan) -> bool:
    return any(dialect_asked(member.settings) == CONSUMER.name for member in plan.members)


def _topics_at_the_end(plan: Plan) -> dict[str, int]:
    return {**plan.topics, **{step.topic: step.partitions for step in plan.steps if isinstance(step, Grow)}}


def staying(steps: Sequence[Step]) -> list[str]:
    """Return the started members that were neither closed nor killed since, in the order of their first start."""
    here: dict[str, bool] = {}
    for step in steps:
        if isinstance(step, Start):
            here[step.member] = True
        elif isinstance(step, Kill) or (isinstance(step, Command) and step.command == "close"):
            here[step.member] = False
    return [name for name, is_here in here.items() if is_here]


def head_of(plan: Plan) -> Plan:
    """Return the plan without its healing."""
    at = next((index for index, step in enumerate(plan.steps) if isinstance(step, Mark) and step.name == _HEALING), len(plan.steps))
    return replace(plan, steps=plan.steps[:at])


def with_healing(head: Plan) -> Plan:
    """Return the plan with its healing, and the time to settle."""
    settling = _settling_of_epochs(head) if _is_of_epochs(head) else _settling(head.steps)
    return replace(head, steps=(*head.steps, *_healing(head.steps), *settling))


def _healing(steps: Sequence[Step]) -> Iterator[Step]:
    names = staying(steps)
    yield mark(_HEALING)
    healed = {step.fault for step in steps if isinstance(step, Heal)}
    yield from (heal(step.fault.name) for step in steps if isinstance(step, Arm) and step.fault.name not in healed)
    mended = {step.name for step in steps if isinstance(step, Mend)}
    yield from (mend(step.name) for step in steps if isinstance(step, BreakBroker) and step.name not in mended)
    yield from (thaw(name) for name in names if _is_frozen(steps, name))
    yield from (command(name, "resume", wait=False) for name in names if _is_paused(steps, name))
    yield mark(_HEALED)


def _settling_of_epochs(plan: Plan) -> Iterator[Step]:
    settled = GroupSettled(members=tuple(staying(plan.steps)), topics=_topics_at_the_end(plan), after=_HEALED)
    yield Await(until=settled, within_ms=round(tolerated_ms(SETTLES_MS)) + _CALM_MS, go_on=True)
    yield passing(_CALM_MS)


def _settling(steps: Sequence[Step]) -> Iterator[Step]:
    names = staying(steps)
    yield stable(*names, within_ms=SETTLES_MS, go_on=True)
    # A member that vanished without a LeaveGroup remains for a session: the group looks stable until then.
    yield from (answered(name, Api.HEARTBEAT, after=_HEALED, within_ms=SETTLES_MS, go_on=True) for name in names)
    yield passing(_CALM_MS)
    yield mark(_CALM)
    yield stable(*names, within_ms=SETTLES_MS // 2, go_on=True)
    yield from (answered(name, Api.HEARTBEAT, after=_CALM, within_ms=_BEAT_MS, go_on=True) for name in names)


def _is_frozen(steps: Sequence[Step], name: str) -> bool:
    done = [step for step in steps if isinstance(step, Freeze | Thaw | Start) and step.member == name]
    return isinstance(done[-1], Freeze)


def _is_paused(steps: Sequence[Step], name: str) -> bool:
    done = [step for step in steps if isinstance(step, Command | Start) and step.member == name]
    asked = ["start" if isinstance(step, Start) else step.command for step in done]
    return [name for name in asked if name in ("start", "pause", "resume")][-1] == "pause"
