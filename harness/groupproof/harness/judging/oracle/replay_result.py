"""What a walk through a group's history leaves: its steps, the questions that the trace left open, and where it went no further. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groupproof.coordinator.machine.coordinator import Transition
    from groupproof.coordinator.machine.machine_outputs import GroupProgress
    from groupproof.harness.judging.oracle.answer_diff import Difference
    from groupproof.harness.judging.oracle.exchanges import Exchange
    from groupproof.harness.judging.oracle.open_answers import OpenAnswer

__all__ = ["Branch", "Deviation", "Divergence", "ReplayResult", "Step", "Turns"]

Turns = Mapping[tuple[str, int, int], int]
"""Which way to take at a fork, by its key; 0, the first, where it is not named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A question that the trace leaves open, with so many `ways` to answer it."""

    key: tuple[str, int, int]
    ways: int


@dataclass(slots=True, kw_only=True)
class Step:
    """What the machine does with one request: taken up at `at_ms` in the state of `before`, by `rule`; answered `expected` at `due_ms`.

    `before` is None where there was no group, `after` the group with the request parked. The `answer_rule` is the one that answers a parked request.
    `idle` is what differs and nobody reads, `instead` why another answer is as right as the expected one.
    """

    exchange: Exchange
    at_ms: int
    before: GroupProgress | None
    rule: str = ""
    requirement: str = ""
    after: GroupProgress | None = None
    due_ms: int | None = None
    expected: Mapping[str, Any] | None = None
    answer_rule: str = ""
    answer_requirement: str = ""
    idle: tuple[Difference, ...] = ()
    instead: OpenAnswer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """The first answer that is not the machine's: `kind` is other, unparked, early, late, slow, missing or closed; or lost, after which the machine
    cannot follow the broker any more, for the reason `why`."""

    kind: str
    step: Step
    differences: tuple[Difference, ...] = ()
    matched: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """A choice of a broker that is not Kafka's: not `is_legal` if it breaks the requirement, and not `is_strict` if that advises otherwise. The answer of `seq` shows it."""

    requirement: str
    expected: str
    observed: str
    seq: int
    is_legal: bool
    is_strict: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """A walk's end: without `divergence` the machine did all that was seen. `names` are the clients of the member ids, `deviations` the choices that Kafka would have made otherwise."""

    steps: tuple[Step, ...]
    forks: tuple[Branch, ...]
    transitions: tuple[tuple[int, Transition], ...]
    names: Mapping[str, str]
    divergence: Divergence | None = None
    deviations: tuple[Deviation, ...] = ()
