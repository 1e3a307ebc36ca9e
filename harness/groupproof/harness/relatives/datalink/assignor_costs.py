"""What each assignor and hand-over costs on the same churn: task-seconds lost for each thing that happens, against DataLink's present policy. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from groupproof.clients.relatives.datalink.worker_settings import HAND_OVERS, HandOver
from groupproof.harness.relatives.datalink.churn import drawn
from groupproof.harness.relatives.datalink.simulated_group import Outcome, WorkerRun, run

__all__ = ["CHURN", "POLICIES", "PRESENT", "Policy", "PolicyCost", "measured"]

CHURN: Final = ("leave", "kill", "add", "delete", "force", "update")
"""What befalls a group that is looked after: no network that is cut, no Manager that ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """An assignor with a hand-over."""

    assignor: str
    hand_over: HandOver


PRESENT: Final = Policy(assignor="round-robin", hand_over="stop-everything")
"""What DataLink does (WTASK-01, WTASK-04)."""

POLICIES: Final = tuple(
    Policy(assignor=assignor, hand_over=hand_over) for assignor in ("round-robin", "resources", "sticky") for hand_over in HAND_OVERS
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCost:
    """What one policy came to over all seeds; `factor` is how many times less is lost than by the present policy."""

    policy: Policy
    runs: int
    events: int
    generations: int
    lost_s_per_event: float
    moves_per_event: float
    starts_per_event: float
    factor: float
    violations: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "assignor": self.policy.assignor, "hand_over": self.policy.hand_over, "runs": self.runs, "events": self.events, "generations": self.generations,
            "lost_task_seconds_per_event": round(self.lost_s_per_event, 3), "moves_per_event": round(self.moves_per_event, 3),
            "starts_per_event": round(self.starts_per_event, 3), "factor": round(self.factor, 3), "violations": list(self.violations),
        }  # fmt: skip


def measured(course: WorkerRun, seeds: Sequence[int], *, events: int, every_ms: int, policies: Sequence[Policy] = POLICIES) -> list[PolicyCost]:
    """Run the same churn by each policy, the present one among them or not; the first is what the others are compared with if it is not."""
    outcomes = {policy: [_run(course, policy, seed, events, every_ms) for seed in seeds] for policy in policies}
    present = outcomes.get(PRESENT) or outcomes[policies[0]]
    base = _lost_s(present)
    return [_measured(policy, runs, base) for policy, runs in outcomes.items()]


def _run(course: WorkerRun, policy: Policy, seed: int, events: int, every_ms: int) -> Outcome:
    happens = drawn(seed, kinds=CHURN, events=events, every_ms=every_ms, workers=course.workers)
    return run(replace(course, seed=seed, assignor=policy.assignor, hand_over=policy.hand_over, events=happens))


def _lost_s(runs: Sequence[Outcome]) -> float:
    """Return the task-seconds lost for each event."""
    return sum(outcome.lost_ms for outcome in runs) / 1_000 / max(sum(len(outcome.course.events) for outcome in runs), 1)


def _measured(policy: Policy, runs: Sequence[Outcome], base_s: float) -> PolicyCost:
    events = sum(len(outcome.course.events) for outcome in runs)
    lost_s = _lost_s(runs)
    starts = sum(outcome.starts - outcome.course.tasks for outcome in runs)
    return PolicyCost(
        policy=policy, runs=len(runs), events=events, generations=sum(outcome.generations for outcome in runs), lost_s_per_event=lost_s,
        moves_per_event=sum(outcome.moves for outcome in runs) / max(events, 1), starts_per_event=starts / max(events, 1),
        factor=base_s / lost_s if lost_s else float("inf"), violations=tuple(violation for outcome in runs for violation in outcome.violations),
    )  # fmt: skip
