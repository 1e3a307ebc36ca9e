"""A trace as a picture's data: one lane for the group, one for each member, bars for faults, instants for marks and frames. Pure.

A member's state is inferred from its own frames and called as Kafka's clients call it; what it owns is what its application was told.
Edges are instants of the trace, so that what happens within one millisecond still has an order. `timeline_svg.py` draws it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from groupproof.harness.judging.checkers.group_tracker import GroupTracker
from groupproof.harness.judging.checkers.ownership_tracker import TOLD_BY
from groupproof.protocol.trace import Observation, Partitions, Trace
from groupproof.protocol.vocabulary import Api, GroupState, MemberState, TopicPartition, error_named

__all__ = ["GROUP_FRAMES", "Bar", "Instant", "Lane", "Span", "Tick", "Timeline", "listed", "timeline_of"]

GROUP_FRAMES = frozenset(
    api.title for api in (Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT, Api.OFFSET_FETCH)
)
LANES_MAX = 40
"""More members than a picture can show; the first of them stand for the others."""

_BAR_ENDS = frozenset({"released", "healed", "failed"})
_LASTING = frozenset({"hold", "silence", "lasts"})
_TOLD = frozenset({"partitions_assigned", "partitions_revoked", "partitions_lost", "error", "shutdown_complete"})


class Instant(NamedTuple):
    """A place in the trace's order, and its time in milliseconds from the run's start."""

    seq: int
    ms: float


@dataclass(slots=True, kw_only=True)
class Span:
    """A stretch of the trace in one state; `end` is None while it lasts. `note` is leader where a member leads its generation."""

    start: Instant
    end: Instant | None = None
    state: str
    label: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A frame, event, command or mark; `error` is the name of the code that an answer carried."""

    at: Instant
    kind: str
    name: str
    error: str | None = None
    detail: str = ""


@dataclass(slots=True, kw_only=True)
class Bar:
    """A fault from its delivery to its end; one that only strikes ends where it starts."""

    start: Instant
    end: Instant | None
    name: str
    action: str
    client: str | None = None


@dataclass(slots=True, kw_only=True)
class Lane:
    """One member: its states, what it owned, its frames, and the times when it was paused or frozen."""

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
    """Return the picture of a trace; members appear in the order in which they first do, `LANES_MAX` at most."""
    timeline = Timeline(end=_instant(trace[-1]) if trace else Instant(0, 0.0))
    tracks: dict[str, _Track] = {}
    group = GroupTracker()
    unsent = {seen.exchange_id for seen in trace if seen.who == "link" and seen.body.get("name") == "unsent"}
    for seen in trace:
        if seen.kind == "response" and seen.exchange_id in unsent:
            continue
        _follow_group(timeline, seen)
        _follow_fault(timeline, seen)
        _follow_mark(timeline, seen)
        group.follow(seen)
        if seen.client is not None and _is_of_a_member(seen):
            tracks.setdefault(seen.client, _Track(seen.client)).follow(seen, group)
    timeline.lanes = [track.lane for track in tracks.values()][:LANES_MAX]
    return timeline


def _instant(seen: Observation) -> Instant:
    return Instant(seen.seq, seen.at_ms)


def _is_of_a_member(seen: Observation) -> bool:
    return seen.who == "kit" or seen.who in TOLD_BY or (seen.api in GROUP_FRAMES and seen.kind in ("request", "response"))


def _follow_group(timeline: Timeline, seen: Observation) -> None:
    """Follow the group's transitions; were there several groups, they would share the lane."""
    if seen.kind != "transition" or seen.state_after is None:
        return
    _end(timeline.group, seen)
    is_named = seen.generation is not None and seen.generation > 0 and seen.state_after != GroupState.EMPTY.value
    label = f"generation {seen.generation}" if is_named else ""
    timeline.group.append(Span(start=_instant(seen), state=seen.state_after, label=label))


def _follow_fault(timeline: Timeline, seen: Observation) -> None:
    if seen.kind != "fault" or seen.fault is None:
        return
    if seen.detail == "delivered":
        action = str(seen.body.get("action", ""))
        end = None if action in _LASTING else _instant(seen)
        timeline.bars.append(Bar(start=_instant(seen), end=end, name=seen.fault, action=action, client=seen.client))
    elif seen.detail in _BAR_ENDS:
        for bar in timeline.bars:
            if bar.name == seen.fault and bar.end is None:
                bar.end = _instant(seen)


def _follow_mark(timeline: Timeline, seen: Observation) -> None:
    if seen.kind == "event" and seen.body.get("name") == "moved":
        timeline.marks.append(Tick(at=_instant(seen), kind="moved", name="coordinator moves"))
    if seen.who != "kit" or seen.client is not None:
        return
    name = seen.body.get("name")
    if name == "mark":
        timeline.marks.append(Tick(at=_instant(seen), kind="mark", name=str(seen.body["mark"])))
    elif name == "end":
        timeline.marks.append(Tick(at=_instant(seen), kind="end", name="closing"))
    elif name == "timeout":
        timeline.marks.append(Tick(at=_instant(seen), kind="timeout", name="time out", detail=str(seen.body.get("waiting", ""))))
    elif name == "lag":
        timeline.marks.append(Tick(at=_instant(seen), kind="lag", name=f"lag {seen.body['lag_ms']:.0f} ms"))


def _end(spans: list[Span], seen: Observation) -> None:
    if spans and spans[-1].end is None:
        spans[-1].end = _instant(seen)


class _Track:
    """One member's lane, by what the tracker knows of it and by its own frames and events."""

    def __init__(self, name: str) -> None:
        self.lane = Lane(name=name)

    def follow(self, seen: Observation, group: GroupTracker) -> None:
        if seen.who == "kit":
            self._follow_kit(seen)
        elif seen.who in TOLD_BY:
            self._follow_event(seen, frozenset(group.hands.now.get(self.lane.name, ())))
        elif seen.kind == "request":
            self._tick(seen, "request", str(seen.api))
        else:
            self._tick(seen, "answer", str(seen.api), error_named(seen.error) if seen.error else None)
        if (mine := group.members.get(self.lane.name)) is not None and seen.kind in ("request", "response"):
            is_stable = mine.state is MemberState.STABLE
            label = f"generation {mine.generation}" if is_stable else ""
            self._enter(mine.state.value, seen, label, "leader" if is_stable and mine.is_leader else "")

    def _enter(self, state: str, seen: Observation, label: str = "", note: str = "") -> None:
        states = self.lane.states
        if states and states[-1].end is None and (states[-1].state, states[-1].label) == (state, label):
            return
        _end(states, seen)
        states.append(Span(start=_instant(seen), state=state, label=label, note=note))

    def _leave(self, seen: Observation) -> None:
        _end(self.lane.states, seen)
        self._own(frozenset(), seen)

    def _own(self, owned: frozenset[TopicPartition], seen: Observation) -> None:
        _end(self.lane.owned, seen)
        if owned:
            self.lane.owned.append(Span(start=_instant(seen), state="owned", label=listed(tuple(owned))))

    def _tick(self, seen: Observation, kind: str, name: str, error: str | None = None, detail: str = "") -> None:
        self.lane.ticks.append(Tick(at=_instant(seen), kind=kind, name=name, error=error, detail=detail))

    def _follow_kit(self, seen: Observation) -> None:
        name = seen.body.get("name")
        if name == "command":
            self._follow_command(str(seen.body["command"]), seen)
        elif name in ("kill", "exit", "overdue", "broken"):
            if self.lane.states and self.lane.states[-1].end is None:
                self._tick(seen, "end", "killed" if name in ("kill", "overdue") else str(seen.body.get("how", "broken")))
            self._leave(seen)
        elif name == "freeze":
            self.lane.held.append(Span(start=_instant(seen), state="frozen"))
        elif name == "thaw":
            _end(self.lane.held, seen)

    def _follow_command(self, command: str, seen: Observation) -> None:
        self._tick(seen, "command", command)
        if command == "subscribe":
            self._enter(MemberState.UNJOINED.value, seen)
        elif command == "pause":
            self.lane.held.append(Span(start=_instant(seen), state="paused"))
        elif command == "resume":
            _end(self.lane.held, seen)

    def _follow_event(self, seen: Observation, owned: frozenset[TopicPartition]) -> None:
        name = seen.body.get("name")
        if name in ("partitions_assigned", "partitions_revoked", "partitions_lost"):
            self._own(owned, seen)
        elif name == "shutdown_complete":
            self._leave(seen)
        if name in _TOLD:
            self._tick(seen, "event", str(name), detail=listed(seen.partitions) or str(seen.body.get("error", "")))


def listed(partitions: Partitions) -> str:
    """Return partitions as people write them: t-0, t-1; a long unbroken row as t-0…7."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        by_topic.setdefault(topic, []).append(partition)
    return ", ".join(_numbers(topic, numbers) for topic, numbers in by_topic.items())


def _numbers(topic: str, numbers: list[int]) -> str:
    if len(numbers) > 3 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{topic}-{numbers[0]}…{numbers[-1]}"
    return ", ".join(f"{topic}-{number}" for number in numbers)
