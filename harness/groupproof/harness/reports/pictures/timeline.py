"""A trace as data for a picture: one lane for the group, one for each member, bars for faults, instants for marks and frames. Pure.

A member's state is inferred from its own frames, with the names of Kafka's clients. It owns what its application got. Edges are instants of the
trace, so that events within one millisecond keep their order. `timeline_svg.py` draws it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker, Membership
from groupproof.harness.judging.checkers.tracking.ownership_tracker import REPORTERS
from groupproof.harness.reports.texts.counter_words import EPOCH, GENERATION, counter_of
from groupproof.protocol.trace import Observation, Partitions, Trace
from groupproof.protocol.vocabulary import Api, GroupState, MemberState, TopicPartition, error_named

__all__ = ["GROUP_FRAMES", "RECONCILING", "Bar", "Instant", "Lane", "Span", "Tick", "Timeline", "listed", "timeline_of"]

GROUP_FRAMES = frozenset(
    api.title
    for api in (
        Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT, Api.OFFSET_FETCH, Api.CONSUMER_GROUP_HEARTBEAT,
    )
)  # fmt: skip
RECONCILING: Final = "RECONCILING"
"""The state of a member with an epoch that has not reached its target, as in Kafka's `MemberState` of KIP-848."""

LANES_MAX = 40
"""The maximum number of lanes in a picture. Of more members, the first ones are drawn."""

_BAR_ENDS = frozenset({"released", "healed", "failed"})
_LASTING = frozenset({"hold", "silence", "lasts"})
_CALLBACKS = frozenset({"partitions_assigned", "partitions_revoked", "partitions_lost", "error", "shutdown_complete"})


class Instant(NamedTuple):
    """A position in the trace's order, and its time in milliseconds from the run's start."""

    seq: int
    ms: float


@dataclass(slots=True, kw_only=True)
class Span:
    """A stretch of the trace in one state. `end` is None while it lasts. `note` is leader where a member leads its generation."""

    start: Instant
    end: Instant | None = None
    state: str
    label: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A frame, event, command or mark. `error` is the name of an answer's error code."""

    at: Instant
    kind: str
    name: str
    error: str | None = None
    detail: str = ""


@dataclass(slots=True, kw_only=True)
class Bar:
    """A fault from its delivery to its end. A momentary fault ends where it starts."""

    start: Instant
    end: Instant | None
    name: str
    action: str
    client: str | None = None


@dataclass(slots=True, kw_only=True)
class Lane:
    """One member: its states, its partitions, its frames, and the times when it was paused or frozen."""

    name: str
    states: list[Span] = field(default_factory=list)
    owned: list[Span] = field(default_factory=list)
    ticks: list[Tick] = field(default_factory=list)
    held: list[Span] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Timeline:
    end: Instant
    group: list[Span] = field(default_factory=list)
    lanes: list[Lane] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    marks: list[Tick] = field(default_factory=list)


def timeline_of(trace: Trace) -> Timeline:
    """Return the timeline of a trace. Members are in the order of their first appearance, at most `LANES_MAX`."""
    timeline = Timeline(end=_instant(trace[-1]) if trace else Instant(0, 0.0))
    tracks: dict[str, _Track] = {}
    group = GroupTracker()
    unsent = {obs.exchange_id for obs in trace if obs.who == "link" and obs.body.get("name") == "unsent"}
    for observation in trace:
        if observation.kind == "response" and observation.exchange_id in unsent:
            continue
        _follow_group(timeline, observation)
        _follow_fault(timeline, observation)
        _follow_mark(timeline, observation)
        group.follow(observation)
        if observation.client is not None and _is_of_a_member(observation):
            tracks.setdefault(observation.client, _Track(observation.client)).follow(observation, group)
    timeline.lanes = [track.lane for track in tracks.values()][:LANES_MAX]
    return timeline


def _instant(obs: Observation) -> Instant:
    return Instant(obs.seq, obs.at_ms)


def _is_of_a_member(obs: Observation) -> bool:
    return obs.who == "kit" or obs.who in REPORTERS or (obs.api in GROUP_FRAMES and obs.kind in ("request", "response"))


def _follow_group(timeline: Timeline, obs: Observation) -> None:
    """Follow the group's transitions. Several groups would share the lane."""
    if obs.kind != "transition" or obs.state_after is None:
        return
    _end(timeline.group, obs)
    is_named = obs.generation is not None and obs.generation > 0 and obs.state_after != GroupState.EMPTY.value
    label = f"{counter_of(obs)} {obs.generation}" if is_named else ""
    timeline.group.append(Span(start=_instant(obs), state=obs.state_after, label=label))


def _follow_fault(timeline: Timeline, obs: Observation) -> None:
    if obs.kind != "fault" or obs.fault is None:
        return
    if obs.detail == "delivered":
        action = str(obs.body.get("action", ""))
        end = None if action in _LASTING else _instant(obs)
        timeline.bars.append(Bar(start=_instant(obs), end=end, name=obs.fault, action=action, client=obs.client))
    elif obs.detail in _BAR_ENDS:
        for bar in timeline.bars:
            if bar.name == obs.fault and bar.end is None:
                bar.end = _instant(obs)


def _follow_mark(timeline: Timeline, obs: Observation) -> None:
    if obs.kind == "event" and obs.body.get("name") == "moved":
        timeline.marks.append(Tick(at=_instant(obs), kind="moved", name="coordinator moves"))
    if obs.who != "kit" or obs.client is not None:
        return
    name = obs.body.get("name")
    if name == "mark":
        timeline.marks.append(Tick(at=_instant(obs), kind="mark", name=str(obs.body["mark"])))
    elif name == "end":
        timeline.marks.append(Tick(at=_instant(obs), kind="end", name="closing"))
    elif name == "timeout":
        timeline.marks.append(Tick(at=_instant(obs), kind="timeout", name="time out", detail=str(obs.body.get("waiting", ""))))
    elif name == "lag":
        timeline.marks.append(Tick(at=_instant(obs), kind="lag", name=f"lag {obs.body['lag_ms']:.0f} ms"))


def _end(spans: list[Span], obs: Observation) -> None:
    if spans and spans[-1].end is None:
        spans[-1].end = _instant(obs)


def _state_of(mine: Membership, obs: Observation) -> tuple[str, Observation, str, str]:
    """Return a member's new state. A member with an epoch reconciles while the partitions that it owns differ from its target."""
    if mine.member_epoch >= 0:
        has_all = mine.target is None or mine.owned == mine.target
        return (MemberState.STABLE.value if has_all else RECONCILING), obs, f"{EPOCH} {mine.member_epoch}", ""
    is_stable = mine.state is MemberState.STABLE
    return mine.state.value, obs, f"{GENERATION} {mine.generation}" if is_stable else "", "leader" if is_stable and mine.is_leader else ""


class _Track:
    """One member's lane, by the tracker and by its own frames and events."""

    def __init__(self, name: str) -> None:
        self.lane = Lane(name=name)

    def follow(self, obs: Observation, group: GroupTracker) -> None:
        if obs.who == "kit":
            self._follow_kit(obs)
        elif obs.who in REPORTERS:
            self._follow_event(obs, frozenset(group.hands.now.get(self.lane.name, ())))
        elif obs.kind == "request":
            self._tick(obs, "request", str(obs.api))
        else:
            self._tick(obs, "answer", str(obs.api), error_named(obs.error) if obs.error else None)
        if (mine := group.members.get(self.lane.name)) is not None and obs.kind in ("request", "response"):
            self._enter(*_state_of(mine, obs))

    def _enter(self, state: str, obs: Observation, label: str = "", note: str = "") -> None:
        states = self.lane.states
        if states and states[-1].end is None and (states[-1].state, states[-1].label) == (state, label):
            return
        _end(states, obs)
        states.append(Span(start=_instant(obs), state=state, label=label, note=note))

    def _leave(self, obs: Observation) -> None:
        _end(self.lane.states, obs)
        self._own(frozenset(), obs)

    def _own(self, owned: frozenset[TopicPartition], obs: Observation) -> None:
        _end(self.lane.owned, obs)
        if owned:
            self.lane.owned.append(Span(start=_instant(obs), state="owned", label=listed(tuple(owned))))

    def _tick(self, obs: Observation, kind: str, name: str, error: str | None = None, detail: str = "") -> None:
        self.lane.ticks.append(Tick(at=_instant(obs), kind=kind, name=name, error=error, detail=detail))

    def _follow_kit(self, obs: Observation) -> None:
        name = obs.body.get("name")
        if name == "command":
            self._follow_command(str(obs.body["command"]), obs)
        elif name in ("kill", "exit", "overdue", "broken"):
            if self.lane.states and self.lane.states[-1].end is None:
                self._tick(obs, "end", "killed" if name in ("kill", "overdue") else str(obs.body.get("how", "broken")))
            self._leave(obs)
        elif name == "freeze":
            self.lane.held.append(Span(start=_instant(obs), state="frozen"))
        elif name == "thaw":
            _end(self.lane.held, obs)

    def _follow_command(self, command: str, obs: Observation) -> None:
        self._tick(obs, "command", command)
        if command == "subscribe":
            self._enter(MemberState.UNJOINED.value, obs)
        elif command == "pause":
            self.lane.held.append(Span(start=_instant(obs), state="paused"))
        elif command == "resume":
            _end(self.lane.held, obs)

    def _follow_event(self, obs: Observation, owned: frozenset[TopicPartition]) -> None:
        name = obs.body.get("name")
        if name in ("partitions_assigned", "partitions_revoked", "partitions_lost"):
            self._own(owned, obs)
        elif name == "shutdown_complete":
            self._leave(obs)
        if name in _CALLBACKS:
            self._tick(obs, "event", str(name), detail=listed(obs.partitions) or str(obs.body.get("error", "")))


def listed(partitions: Partitions) -> str:
    """Return partitions in readable form: t-0, t-1; a long unbroken row as t-0…7."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        by_topic.setdefault(topic, []).append(partition)
    return ", ".join(_numbers(topic, numbers) for topic, numbers in by_topic.items())


def _numbers(topic: str, numbers: list[int]) -> str:
    if len(numbers) > 3 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{topic}-{numbers[0]}…{numbers[-1]}"
    return ", ".join(f"{topic}-{number}" for number in numbers)
