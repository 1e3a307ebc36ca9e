"""The result of a replay: its steps, the branches that the trace left open, and the divergence at which it ended. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groupproof.coordinator.machine.coordinator import Transition
    from groupproof.coordinator.machine.machine_outputs import GroupProgress
    from groupproof.harness.judging.oracle.answer_diff import Difference
    from groupproof.harness.judging.oracle.exchanges import Exchange
    from groupproof.harness.judging.oracle.open_answers import OpenAnswer
    from groupproof.protocol.vocabulary import Level

__all__ = ["Branch", "Deviation", "Divergence", "Journal", "ReplayResult", "Step", "Turns"]

Turns = Mapping[tuple[str, int, int], int]
"""The way to take at a branch, by the branch's key; 0, the first way, where the key is absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A question that the trace leaves open, with the number of `ways` to answer it."""

    key: tuple[str, int, int]
    ways: int


@dataclass(slots=True, kw_only=True)
class Step:
    """The machine's processing of one request: begun at `at_ms` in the state `before`, by `rule`; answered `expected` at `due_ms`.

    `before` is None where there was no group. `after` is the group with the request parked. `answer_rule` is the rule that answers a parked request.
    `idle` are differences that no client reads. `instead` says why another answer is as correct as the expected one.
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


@dataclass(slots=True)
class Journal:
    """The records of a replay."""

    steps: dict[int, Step] = field(default_factory=dict)
    forks: list[Branch] = field(default_factory=list)
    transitions: list[tuple[int, Transition]] = field(default_factory=list)
    matched: int = 0
    created_ms: int | None = None
    late_topics: Exchange | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """The first answer that differs from the machine's. `kind` is other, unparked, early, late, slow, missing, closed or lost. After lost the machine
    cannot follow the broker any more; `why` is the reason."""

    kind: str
    step: Step
    differences: tuple[Difference, ...] = ()
    matched: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """A choice of a broker that differs from Kafka's.

    By its `level` it breaks the requirement (MUST), does not follow advice (SHOULD), or is legal (INFO). `seq` is the answer that shows it.
    """

    requirement: str
    expected: str
    observed: str
    seq: int
    level: Level


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """The result of a replay: without `divergence` the machine explains the whole history.

    `names` are the clients of the member ids, `deviations` the choices other than Kafka's. `late_topics` is the first request for which the
    coordinator should have known a topic. `turns` are the ways that were taken at branches.
    """

    steps: tuple[Step, ...]
    forks: tuple[Branch, ...]
    transitions: tuple[tuple[int, Transition], ...]
    names: Mapping[str, str]
    divergence: Divergence | None = None
    deviations: tuple[Deviation, ...] = ()
    late_topics: Exchange | None = None
    turns: Turns = field(default_factory=dict)

    def goes_beyond(self, other: ReplayResult) -> bool:
        """Return whether this replay explains the answer at which `other` ended, and more."""
        if self.divergence is None or other.divergence is None:
            return self.divergence is None
        return self.divergence.matched > other.divergence.matched and self.divergence.step.exchange is not other.divergence.step.exchange
