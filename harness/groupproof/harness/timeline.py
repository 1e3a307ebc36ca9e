"""A trace as a picture's data: one lane for the group, one for each member, bars for faults, instants for marks and frames. Pure.

A member's state is inferred from its own frames, as Kafka names the states of a client; what it owns is what its application was told.
`report/timeline_svg.py` draws it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from groupproof.protocol.trace import Observation, Partitions, Trace
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState, MemberState, error_named

__all__ = ["Bar", "Lane", "Span", "Tick", "Timeline", "timeline_of", "times_of"]

_OUT = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.ILLEGAL_GENERATION})
_FRAMES = frozenset(
    api.title for api in (Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.OFFSET_COMMIT, Api.OFFSET_FETCH)
)
_BAR_ENDS = frozenset({"released", "healed", "failed"})


@dataclass(slots=True, kw_only=True)
class Span:
    """A stretch of time in one state; times in ms from the run's start. `seq` is the observation that began it."""

    start: float
    end: float
    state: str
    label: str = ""
    seq: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A frame or an event at an instant; `error` is the name of the code that an answer carried."""

    at: float
    kind: str  # request, answer, event
    name: str
    error: str | None = None
    seq: int = 0
    detail: str = ""


@dataclass(slots=True, kw_only=True)
class Bar:
    """A fault from its delivery to its end; one that only strikes has no length."""

    start: float
    end: float
    name: str
    action: str
    client: str | None = None
    seq: int = 0


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
    end: float
    group: list[Span] = field(default_factory=list)
    lanes: list[Lane] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    marks: list[Tick] = field(default_factory=list)


def timeline_of(trace: Trace) -> Timeline:
    """Return the picture of a trace; members appear in the order in which they first do."""
    end = max((seen.at_ms for seen in trace), default=0.0)
    timeline = Timeline(end=end)
    tracks: dict[str, _Track] = {}
    group = _Group(timeline)
    for seen in trace:
        group.follow(seen)
        _follow_fault(timeline, seen)
        _follow_mark(timeline, seen)
        if seen.client is not None and _is_of_a_member(seen):
            tracks.setdefault(seen.client, _Track(seen.client)).follow(seen)
    group.close(end)
    timeline.lanes = [track.closed(end) for track in tracks.values()]
    for bar in timeline.bars:
        bar.end = end if bar.end < 0 else bar.end
    return timeline


def _is_of_a_member(seen: Observation) -> bool:
    return seen.who in ("kit", "shim") or (seen.api in _FRAMES and seen.kind in ("request", "response"))


def _follow_mark(timeline: Timeline, seen: Observation) -> None:
    if seen.who != "kit":
        return
    name = seen.body.get("name")
    if name == "mark":
        timeline.marks.append(Tick(at=seen.at_ms, kind="mark", name=str(seen.body["mark"]), seq=seen.seq))
    elif name == "end":
        timeline.marks.append(Tick(at=seen.at_ms, kind="end", name="closing", seq=seen.seq))
    elif name == "timeout":
        timeline.marks.append(Tick(at=seen.at_ms, kind="timeout", name="time out", seq=seen.seq, detail=str(seen.body.get("waiting", ""))))
    elif name == "lag":
        timeline.marks.append(Tick(at=seen.at_ms, kind="lag", name=f"lag {seen.body['lag_ms']:.0f} ms", seq=seen.seq))


def _follow_fault(timeline: Timeline, seen: Observation) -> None:
    if seen.kind != "fault" or seen.fault is None:
        return
    if seen.detail == "delivered":
        action = str(seen.body.get("action", ""))
        lasts = action in ("hold", "silence")
        end = -1.0 if lasts else seen.at_ms
        timeline.bars.append(Bar(start=seen.at_ms, end=end, name=seen.fault, action=action, client=seen.client, seq=seen.seq))
    elif seen.detail in _BAR_ENDS:
        for bar in timeline.bars:
            if bar.name == seen.fault and bar.end < 0:
                bar.end = seen.at_ms


class _Group:
    """Follows the transitions of the group; of several groups, all share the lane."""

    def __init__(self, timeline: Timeline) -> None:
        self._spans = timeline.group

    def follow(self, seen: Observation) -> None:
        if seen.kind != "transition" or seen.state_after is None:
            return
        self.close(seen.at_ms)
        generation = "" if seen.generation is None or seen.generation < 0 else f"generation {seen.generation}"
        label = generation if seen.state_after != GroupState.EMPTY.value else ""
        self._spans.append(Span(start=seen.at_ms, end=-1.0, state=seen.state_after, label=label, seq=seen.seq))

    def close(self, at: float) -> None:
        if self._spans and self._spans[-1].end < 0:
            self._spans[-1].end = at


class _Track:
    """Follows one member through its own frames and events."""

    def __init__(self, name: str) -> None:
        self._lane = Lane(name=name)
        self._owned: set[tuple[str, int]] = set()
        self._generation = -1

    def follow(self, seen: Observation) -> None:
        if seen.who == "kit":
            self._follow_kit(seen)
        elif seen.who == "shim":
            self._follow_event(seen)
        elif seen.kind == "request":
            self._follow_request(seen)
        else:
            self._follow_answer(seen)

    def closed(self, end: float) -> Lane:
        for spans in (self._lane.states, self._lane.owned, self._lane.held):
            _end(spans, end)
        self._lane.states = _joined(self._lane.states)
        return self._lane

    def _enter(self, state: str, seen: Observation, label: str = "") -> None:
        states = self._lane.states
        if states and states[-1].end < 0 and (states[-1].state, states[-1].label) == (state, label):
            return
        _end(states, seen.at_ms)
        states.append(Span(start=seen.at_ms, end=-1.0, state=state, label=label, seq=seen.seq))

    def _leave(self, seen: Observation) -> None:
        _end(self._lane.states, seen.at_ms)
        self._own(set(), seen)

    def _own(self, owned: set[tuple[str, int]], seen: Observation) -> None:
        self._owned = owned
        _end(self._lane.owned, seen.at_ms)
        if owned:
            self._lane.owned.append(Span(start=seen.at_ms, end=-1.0, state="owned", label=_listed(tuple(owned)), seq=seen.seq))

    def _tick(self, seen: Observation, kind: str, name: str, error: str | None = None, detail: str = "") -> None:
        self._lane.ticks.append(Tick(at=seen.at_ms, kind=kind, name=name, error=error, seq=seen.seq, detail=detail))

    def _follow_kit(self, seen: Observation) -> None:
        name = seen.body.get("name")
        if name == "command":
            self._tick(seen, "command", str(seen.body["command"]))
            self._follow_command(str(seen.body["command"]), seen)
        elif name in ("kill", "exit", "overdue"):
            if self._lane.states and self._lane.states[-1].end < 0:
                self._tick(seen, "end", "killed" if name != "exit" else str(seen.body.get("how", "ended")))
            self._leave(seen)
        elif name == "freeze":
            self._lane.held.append(Span(start=seen.at_ms, end=-1.0, state="frozen", seq=seen.seq))
        elif name == "thaw":
            _end(self._lane.held, seen.at_ms)

    def _follow_command(self, command: str, seen: Observation) -> None:
        if command == "subscribe":
            self._enter(MemberState.UNJOINED.value, seen)
        elif command == "pause":
            self._lane.held.append(Span(start=seen.at_ms, end=-1.0, state="paused", seq=seen.seq))
        elif command == "resume":
            _end(self._lane.held, seen.at_ms)

    def _follow_event(self, seen: Observation) -> None:
        name = seen.body.get("name")
        if name == "partitions_assigned":
            self._own(self._owned | set(seen.partitions), seen)
        elif name in ("partitions_revoked", "partitions_lost"):
            self._own(self._owned - set(seen.partitions), seen)
        elif name == "shutdown_complete":
            self._leave(seen)
        if name in ("partitions_assigned", "partitions_revoked", "partitions_lost", "error", "shutdown_complete"):
            self._tick(seen, "event", str(name), detail=_listed(seen.partitions) or str(seen.body.get("error", "")))

    def _follow_request(self, seen: Observation) -> None:
        self._tick(seen, "request", str(seen.api))
        if seen.api == Api.JOIN_GROUP.title:
            self._enter(MemberState.PREPARING_REBALANCE.value, seen)
        elif seen.api == Api.LEAVE_GROUP.title:
            self._enter(MemberState.UNJOINED.value, seen)

    def _follow_answer(self, seen: Observation) -> None:
        failed = bool(seen.error)
        self._tick(seen, "answer", str(seen.api), error_named(seen.error or 0) if failed else None)
        if failed:
            if seen.error in _OUT or seen.api in (Api.JOIN_GROUP.title, Api.SYNC_GROUP.title):
                self._enter(MemberState.UNJOINED.value, seen)
        elif seen.api == Api.JOIN_GROUP.title:
            self._generation = -1 if seen.generation is None else seen.generation
            self._enter(MemberState.COMPLETING_REBALANCE.value, seen)
        elif seen.api == Api.SYNC_GROUP.title:
            self._enter(MemberState.STABLE.value, seen, f"generation {self._generation}")


def _end(spans: list[Span], at: float) -> None:
    if spans and spans[-1].end < 0:
        spans[-1].end = at


def _joined(spans: list[Span]) -> list[Span]:
    """Leave out spans without length, which a state passed through within one instant leaves."""
    return [span for span in spans if span.end > span.start]


def _listed(partitions: Partitions) -> str:
    """Return partitions as people write them: t-0, t-1."""
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        by_topic.setdefault(topic, []).append(partition)
    return ", ".join(_numbers(topic, numbers) for topic, numbers in by_topic.items())


def _numbers(topic: str, numbers: list[int]) -> str:
    if len(numbers) > 3 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{topic}-{numbers[0]}…{numbers[-1]}"
    return ", ".join(f"{topic}-{number}" for number in numbers)


def times_of(timeline: Timeline) -> Iterator[float]:
    """Yield the instants at which something changes, by which a picture's scale is made."""
    for span in timeline.group:
        yield span.start
    for lane in timeline.lanes:
        yield from (edge for spans in (lane.states, lane.owned, lane.held) for span in spans for edge in (span.start, span.end))
        yield from (tick.at for tick in lane.ticks if tick.error or tick.name not in ("Heartbeat",))
    for bar in timeline.bars:
        yield from (bar.start, bar.end)
    yield from (mark.at for mark in timeline.marks)
