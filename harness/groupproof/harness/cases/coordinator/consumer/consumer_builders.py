"""Builds the coordinator cases of KIP-848's protocol: their settings, and the states in which many of them start.

Each set of settings needs one more broker, so there are few: `QUICK` computes targets at once. `SMALL` also has short sessions and
at most three members in a group. `PACED` has the default pause between targets (KIP-1263).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from groupproof.harness.cases.coordinator.coordinator_case_builders import APART_MS, PROMPT, Steps, case, passing
from groupproof.harness.model import script_builders as classic
from groupproof.harness.model.case import Case, script_of
from groupproof.harness.model.consumer_script_builders import acknowledge, beat, join, leave
from groupproof.harness.model.script import Ask, ScriptStep, topics_in
from groupproof.harness.model.verdicts import Level
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.group_configs import PROTOCOLS

__all__ = [
    "ASSIGNMENT_PAUSE", "CLASSIC_ALONE", "GONE_BY", "HALF", "PACED", "QUICK", "SESSION_MS", "SIZE_MAX", "SMALL", "STATES", "TOPICS_KNOWN", "GroupInState", "after_half", "consumer_case", "hand_over",
    "mixed", "ordered", "pair", "shared", "shared_with_classic", "with_topics_known",
]  # fmt: skip

SESSION_MS: Final = 3_000
SIZE_MAX: Final = 3

QUICK: Final[Mapping[str, Any]] = {**PROMPT, "group.consumer.assignment.interval.ms": 0}
SMALL: Final[Mapping[str, Any]] = {
    **QUICK, "group.consumer.min.session.timeout.ms": 1_000, "group.consumer.session.timeout.ms": SESSION_MS,
    "group.consumer.min.heartbeat.interval.ms": 500, "group.consumer.heartbeat.interval.ms": 1_000, "group.consumer.max.size": SIZE_MAX,
}  # fmt: skip
PACED: Final[Mapping[str, Any]] = PROMPT
CLASSIC_ALONE: Final[Mapping[str, Any]] = {**PROMPT, PROTOCOLS: CLASSIC.name}

ASSIGNMENT_PAUSE: Final = passing(1_000 + APART_MS)
"""Longer than the brokers' default pause between two targets."""

HALF: Final = passing(SESSION_MS * 6 // 10)
"""More than half a session: two of them are more than one, with time to spare on either side."""

TOPICS_KNOWN: Final = passing(1_500)
"""Time for a group's coordinator to get a new topic's metadata, or to match a regular expression with the topics."""

GONE_BY: Final = passing(SESSION_MS + 2 * APART_MS)
"""Longer than a session."""


def after_half(step: ScriptStep) -> tuple[ScriptStep, ...]:
    """Let half a session pass before the step."""
    return (HALF, step)


def with_topics_known(step: ScriptStep) -> tuple[ScriptStep, ...]:
    """Give the group's coordinator time to get the step's topic, or to match its regular expression."""
    return (step, TOPICS_KNOWN)


_PARTITIONS: Final = {"t": 4, "u": 3}


def consumer_case(
    id: str,
    title: str,
    requirements: Iterable[str],
    *steps: Steps,
    settings: Mapping[str, Any] = QUICK,
    topics: Mapping[str, int] | None = None,
    brokers: int = 1,
    level: Level | None = None,
) -> Case:
    """Return a case of the dialect. Without `topics`, `t` has four partitions, and `u` three if a request names it."""
    made = case(id, title, requirements, *steps, settings=settings, brokers=brokers, topics=topics, dialect=CONSUMER, level=level)
    script = script_of(made)
    named = {"t", *(topic for step in script.steps if isinstance(step, Ask) for topic in topics_in(step.fields))}
    return made if topics else replace(made, plan=replace(script, topics={topic: count for topic, count in _PARTITIONS.items() if topic in named}))


# States to start from --------------------------------------------------------------------------------------------------------------


def pair(first: str = "a", second: str = "b", **overrides: Any) -> tuple[ScriptStep, ...]:
    """Bring a new group to Reconciling: the first member has all of t, the second has joined, and the first has not been informed."""
    return (join(first, **overrides), join(second, **overrides))


def ordered(first: str = "a", second: str = "b", **overrides: Any) -> tuple[ScriptStep, ...]:
    """Bring a new group to where the first member has to revoke the second's partitions."""
    return (*pair(first, second, **overrides), beat(first, **_versions_of(overrides)))


def _versions_of(overrides: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: value for name, value in overrides.items() if name == "version"}


def hand_over(first: str = "a", second: str = "b", **overrides: Any) -> tuple[ScriptStep, ...]:
    """Bring a new group to where the first member has revoked the second's partitions, and the second does not know yet."""
    return (*ordered(first, second, **overrides), acknowledge(first))


def shared(first: str = "a", second: str = "b", **overrides: Any) -> tuple[ScriptStep, ...]:
    """Bring a new group to Stable with two members that share t."""
    return (*hand_over(first, second, **overrides), beat(second))


def mixed(consumer: str = "a", classic_member: str = "k", **overrides: Any) -> tuple[ScriptStep, ...]:
    """Bring a new group to where a consumer has all of t, and a member of the classic protocol waits for its half."""
    return (join(consumer), *classic.joined(classic_member, wait=True, **overrides), classic.sync(classic_member, code=0))


def shared_with_classic(consumer: str = "a", classic_member: str = "k", **overrides: Any) -> tuple[ScriptStep, ...]:
    """Bring a new group to Stable with a consumer and a member of the classic protocol, which have partitions 0 and 1, and 2 and 3, of t."""
    back = (classic.join(classic_member, wait=True, **overrides), classic.sync(classic_member, code=0))
    return (*mixed(consumer, classic_member, **overrides), beat(consumer), acknowledge(consumer), *back)


@dataclass(frozen=True, slots=True)
class GroupInState:
    """A group for a request: its description, the steps that make it, with `a` as one of its members."""

    words: str
    steps: tuple[ScriptStep, ...]


STATES: Final[Mapping[str, GroupInState]] = {
    "empty": GroupInState("is Empty", (join("a"), leave("a"))),
    "assigning": GroupInState("is Assigning", (*shared(), leave("b"))),
    "reconciling": GroupInState("is Reconciling", ordered()),
    "stable": GroupInState("is Stable", shared()),
}
"""One group in each state; all but the Empty one have the member `a`."""
