"""Runs an incident, with or without its remedy, and evaluates its trace and its offsets topic. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from groupproof.clients.member.policy import REFERENCE
from groupproof.coordinator.broker.topics import topic_id_of
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.diagnosis.group_diagnosis import rebalances_of
from groupproof.harness.judging.diagnosis.rebalances import Rebalance
from groupproof.harness.judging.topic_history.group_health import HOUR_MS, GroupHealth, health_of
from groupproof.harness.judging.topic_history.topic_history import TopicHistory
from groupproof.harness.simulation.rehearsal.exercises import Exercise
from groupproof.harness.simulation.rehearsal.incidents import Incident
from groupproof.harness.simulation.rehearsal.rehearsal_run import rehearse, warm_up_ms
from groupproof.harness.simulation.rehearsal.rehearsed_settings import settings_of
from groupproof.harness.simulation.rehearsal.work_meter import Cost
from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.settings import GROUP, TOPIC
from groupproof.harness.simulation.stored_epochs import StoredEpochs
from groupproof.harness.simulation.stored_records import Stored, topic_of
from groupproof.protocol.trace import Observation, Recorder, Trace

__all__ = ["IncidentRun", "run_incident"]

_PATIENCE_MS: Final = 60_000


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentRun:
    """The result of an incident: its cost, its rebalances as in `trace explain`, and its group as in `watch`."""

    incident: Incident
    cost: Cost
    rebalances: tuple[Rebalance, ...]
    health: GroupHealth
    uncommitted_ms: int

    @property
    def figures(self) -> dict[str, int]:
        stalled = len(self.health.stalled)
        reread = {"reread": self.cost.reread, "stalled": stalled, "uncommitted_ms": self.uncommitted_ms, "longest_ms": self.longest_ms}
        return {**self.cost.to_json(), **reread}

    @property
    def longest_ms(self) -> int:
        """The duration of the longest completed rebalance."""
        return round(max((rebalance.lasted_ms or 0 for rebalance in self.rebalances), default=0))

    @property
    def occurs(self) -> bool:
        return self.figures[self.incident.figure] >= self.incident.at_least

    @property
    def causes(self) -> Counter[Cause]:
        return Counter(rebalance.cause for rebalance in self.rebalances)

    @property
    def cause(self) -> Cause | None:
        """The most frequent cause of its rebalances. Of equally frequent ones it is the first."""
        return max(self.causes, key=self.causes.__getitem__, default=None)


def run_incident(incident: Incident, seed: int = 1, *, with_remedy: bool = False) -> IncidentRun:
    """Run the incident. With its remedy it does not occur."""
    remedy = incident.remedy if with_remedy else None
    settings = settings_of({**incident.settings, **(remedy.settings if remedy else {})}, incident.profile)
    steps = remedy.steps if remedy is not None and remedy.steps is not None else incident.steps
    exercise = Exercise(
        name=incident.name, says=incident.modelled, steps=lambda _: list(steps), newcomers=lambda _: incident.newcomers, patience_ms=_PATIENCE_MS
    )
    is_mended = remedy is not None and remedy.is_mended
    kept: list[Recorder] = []
    epochs: dict[int, list[Stored]] = {}

    def make(clock: Callable[[], int]) -> Recorder:
        kept.append(Recorder(clock, run=incident.name, seed=seed, clock="virtual"))
        return kept[0]

    cost = rehearse(
        settings, exercise, seed, make, policy_of=lambda name: REFERENCE if is_mended else incident.policy_of(name) or REFERENCE,
        prepare=lambda run: _store_epochs(run, kept[0], epochs),
    )  # fmt: skip
    began_ms, trace = warm_up_ms(settings), kept[0].trace
    found = tuple(rebalance for rebalance in rebalances_of(trace) if rebalance.started_ms >= began_ms)
    return IncidentRun(
        incident=incident, cost=cost, rebalances=found, health=_health(trace, epochs if settings.is_consumer else None), uncommitted_ms=_uncommitted_ms(trace, began_ms)
    )  # fmt: skip


def _store_epochs(run: Run, recorder: Recorder, epochs: dict[int, list[Stored]]) -> None:
    """Store the changes of a consumer group with the observation that caused them."""
    stored = StoredEpochs(GROUP)

    def follow(obs: Observation) -> None:
        machine = run.targets.brokers.leading
        group = machine.group(GROUP) if machine is not None else None
        if isinstance(group, ConsumerGroup) and (records := list(stored.follow(group, round(obs.at_ms)))):
            epochs[obs.seq] = records

    recorder.listen(follow)


def _health(trace: Trace, epochs: Mapping[int, Sequence[Stored]] | None) -> GroupHealth:
    history = TopicHistory()
    history.name_topics({topic_id_of(TOPIC): TOPIC})
    history.follow_all(topic_of(trace, epochs))
    group, now_ms = history.groups[GROUP], round(trace[-1].at_ms)
    for obs in (obs for obs in trace if obs.kind == "transition" and obs.at_ms >= group.rebalances[-1].at_ms):
        group.report_state(obs.state_after, round(obs.at_ms))
    return health_of(group, now_ms, window_ms=HOUR_MS)


def _uncommitted_ms(trace: Trace, began_ms: int) -> int:
    """Return the longest time without a commit of the group, in ms."""
    times = [began_ms, *(obs.at_ms for obs in trace if _is_commit(obs) and obs.at_ms >= began_ms), trace[-1].at_ms]
    return round(max(later - earlier for earlier, later in pairwise(times)))


def _is_commit(obs: Observation) -> bool:
    return obs.kind == "response" and obs.api == "OffsetCommit" and not obs.error
