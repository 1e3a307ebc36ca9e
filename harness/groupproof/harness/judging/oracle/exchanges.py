"""The histories of a trace, one for each group: the requests to the group, when the broker can have processed them, and the answers. Pure.

A request about several groups is split: each history has the part of its group. The broker processes the requests of one connection in order and
one at a time: it reads the next one after it has answered the last one (Kafka mutes the channel), and none behind one that is never answered.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from groupproof.coordinator.machine.topics_image import TopicImage
from groupproof.harness.judging.oracle.altered_configs import ConfigChange, config_changes
from groupproof.harness.judging.oracle.answer_diff import as_answered
from groupproof.harness.judging.oracle.named_topics import with_names
from groupproof.protocol.trace import ExchangeId, Observation, Trace
from groupproof.protocol.vocabulary import Api, api_named
from groupproof.protocol.wire.message_codec import WireError, read_request, write_request
from groupproof.protocol.wire.message_conversion import GROUP_APIS
from groupproof.protocol.wire.messages import GroupRequest
from groupproof.protocol.wire.throttle_time import throttle_ms

__all__ = ["CoordinatorMove", "Exchange", "History", "TopicChange", "histories"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request to one group, with its answer if there was one. Times are milliseconds of the trace.

    `ready_ms` is the earliest time at which the broker can have processed it. `gone_ms` is the end of the time in which an answer could be recorded.
    `is_behind`: an earlier request of the connection was never answered. `is_stray`: it was sent to a broker that does not coordinate the group.
    `is_unread`: the script did not read its connection when the answer was due.
    `settled_ms` is when the script made sure that the broker had processed it, None without this check. For `muted_ms` after `ready_ms` an earlier
    answer may have throttled its connection. Its own answer throttles for `throttle_ms`.
    """

    number: int
    request: Observation
    api: Api
    version: int
    message: GroupRequest
    ready_ms: float
    gone_ms: float
    answer: Mapping[str, Any] | None = None
    answered_ms: float | None = None
    seq: int
    closed_by: str | None = None
    is_behind: bool = False
    is_stray: bool = False
    is_unread: bool = False
    settled_ms: float | None = None
    muted_ms: float = 0.0
    throttle_ms: float = 0.0

    def may_overtake(self, earlier: Exchange) -> bool:
        """Return whether the broker can have processed it first: it was sent on another connection, and before the earlier answer was there."""
        is_answered = earlier.answer is not None and not earlier.is_unread and earlier.seq < self.request.seq
        return self.request.connection != earlier.request.connection and not is_answered

    def latest_ms(self, due_ms: float, allowance_ms: float) -> float:
        """Return until when an answer that is due at `due_ms` is in time.

        A throttling answer mutes its connection, so the broker reads the request later. Brokers before 2.0 delay that answer itself (KIP-219).
        """
        begin_ms = max(due_ms, self.ready_ms + self.muted_ms) if self.muted_ms else due_ms
        return begin_ms + allowance_ms + self.throttle_ms

    def uptakes_ms(self, *, early_ms: float, uptake_ms: float) -> list[int]:
        """Return the times at which the broker can have processed it, in milliseconds.

        They are the earliest time, the end of a long interval, the sending if the answer before was long under way, and the end of a throttle.
        """
        ways = [self.ready_ms]
        if self.settled_ms is not None and self.settled_ms - self.ready_ms >= uptake_ms:
            ways.append(self.settled_ms)
        if self.ready_ms - self.request.at_ms >= early_ms:
            ways.append(self.request.at_ms)
        if self.muted_ms >= early_ms:
            ways.append(self.ready_ms + self.muted_ms)
        return list(map(int, ways))

    @property
    def client(self) -> str:
        return self.request.client or ""

    @property
    def taken_up_ms(self) -> float:
        """Return the latest time at which it was processed: its answer had arrived, or the script had made sure of it."""
        instants = [item for item in (self.answered_ms, self.settled_ms) if item is not None and item >= self.ready_ms]
        return min(instants, default=float("inf"))

    @property
    def label(self) -> str:
        return self.request.detail or f"{self.api.title} of {self.client}"

    @property
    def code(self) -> int | None:
        """Return the answer's top error code, None without an answer."""
        return None if self.answer is None else int(self.answer.get("error_code", 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorMove:
    """A move of the group's coordinator to another broker, somewhere between two instants."""

    begun_ms: float
    done_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChange:
    """Topics were created, grown or deleted, somewhere between two instants. `images` are the changed topics by name, a deleted one without
    partitions. Answers before `begun_seq` do not know the change."""

    begun_ms: float
    done_ms: float
    images: Mapping[str, TopicImage]
    begun_seq: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All exchanges of one group, in the order of `ready_ms`. `topics` are the topics with their numbers of partitions, None where unknown.

    Where ids are known: `topic_images` are the topics at the beginning, by name; `topic_titles` are the script's names of all topics, by id.
    """

    group: str
    exchanges: tuple[Exchange, ...]
    moves: tuple[CoordinatorMove, ...]
    end_ms: float
    topics: Mapping[str, int] | None = None
    topic_images: Mapping[str, TopicImage] = field(default_factory=dict)
    topic_changes: tuple[TopicChange, ...] = ()
    topic_titles: Mapping[str, str] = field(default_factory=dict)
    config_changes: tuple[ConfigChange, ...] = ()

    def was_read(self, exchange: Exchange, *, within_ms: float) -> bool:
        """Return whether the broker must have read a request that it did not answer: it closed the connection though no group moved, or it had more
        than `within_ms`.

        A broker reads all that has arrived in each turn of its loop (SocketServer.Processor.run).
        """
        return (exchange.closed_by == "broker" and not self.moves) or self.quiet_ms(exchange) > within_ms

    def quiet_ms(self, exchange: Exchange) -> float:
        """Return how long the request waited at the broker before its connection ended or the broker began to give the group away."""
        begun_ms = (move.begun_ms for move in self.moves if move.done_ms > exchange.ready_ms)
        return min((exchange.gone_ms, *begun_ms)) - exchange.ready_ms


def histories(trace: Trace) -> list[History]:
    """Return the history of each group that a scripted member sent requests to, in the order of their first requests."""
    ends = _Ends(trace)
    asked = [obs for obs in trace if obs.kind == "request" and obs.who == "member" and obs.api is not None]
    # Nobody waits for answers after the script's end, so that their times prove nothing.
    heard = (obs for obs in trace if obs.kind == "response" and obs.who == "member" and obs.seq <= ends.last_seq)
    answers = {obs.exchange_id: obs for obs in heard}
    named = [(request, message) for request in asked if (message := _message(request, ends.topic_names)) is not None]
    groups = list(dict.fromkeys(group for _, message in named for group in _groups_of(message)))
    waits = _Waits(asked, answers, ends)
    return [_history(group, named, answers, waits, ends) for group in groups]


def _history(
    group: str,
    named: list[tuple[Observation, GroupRequest]],
    answers: Mapping[ExchangeId, Observation],
    waits: _Waits,
    ends: _Ends,
) -> History:
    made: list[Exchange] = []
    turns: list[int] = []
    for request, message in named:
        part = _part(message, group)
        if part is None:
            continue
        answer = answers.get(request.exchange_id)
        api = api_named(request.api or "")
        version, body = with_names(api, request.version or 0, {} if answer is None else answer.body, ends.topic_names)
        ready_ms, turn, is_behind = waits.of(request)
        turns.append(turn)
        made.append(Exchange(
            number=len(made), request=request, api=api, version=version, message=part, ready_ms=ready_ms, is_behind=is_behind,
            answer=None if answer is None else _answer_part(api, group, as_answered(api, version, body)),
            answered_ms=None if answer is None else answer.at_ms, seq=request.seq if answer is None else answer.seq,
            gone_ms=ends.gone_ms(request.connection), closed_by=ends.closed_by(request.connection),
            is_stray=ends.is_stray(group, request), is_unread=ends.is_unread(request, answer), settled_ms=ends.settled_ms(request),
            muted_ms=waits.muted_ms(request), throttle_ms=0.0 if answer is None else throttle_ms(answer.body),
        ))  # fmt: skip
    made.sort(key=lambda exchange: (exchange.ready_ms, turns[exchange.number]))
    return History(
        group=group, exchanges=tuple(made), moves=ends.moves(group), end_ms=ends.end_ms, topics=ends.topics, topic_images=ends.topic_images,
        topic_changes=ends.topic_changes, topic_titles=ends.topic_titles, config_changes=tuple(config_changes(group, ends.alterations)),
    )  # fmt: skip


class _Waits:
    """When the broker can begin with each request of a connection."""

    def __init__(self, asked: Iterable[Observation], answers: Mapping[ExchangeId, Observation], ends: _Ends) -> None:
        self._turns: dict[int, tuple[float, int, bool]] = {}
        self._muted_until: dict[int, float] = {}
        # A broker that throttles some answers also throttles those whose version has no field for it. The longest time of the others is assumed.
        longest_ms = max((throttle_ms(answer.body) for answer in answers.values()), default=0.0)
        muted: dict[int | None, float] = {}
        before: dict[int | None, Observation] = {}
        behind: set[int | None] = set()
        for request in asked:
            earlier = before.get(request.connection)
            answer = None if earlier is None else answers.get(earlier.exchange_id)
            if earlier is not None and answer is None:
                behind.add(request.connection)
            is_late = answer is not None and earlier is not None and not ends.is_unread(earlier, answer)
            begin = request if answer is None or not is_late else max(request, answer, key=lambda obs: obs.seq)
            self._turns[request.seq] = (begin.at_ms, begin.seq, request.connection in behind)
            if answer is not None:
                muted[request.connection] = answer.at_ms + longest_ms
            self._muted_until[request.seq] = muted.get(request.connection, 0.0)
            before[request.connection] = request

    def of(self, request: Observation) -> tuple[float, int, bool]:
        """Return the earliest time at which the broker can have processed the request, the `seq` of that time, and whether an earlier request
        was never answered."""
        return self._turns[request.seq]

    def muted_ms(self, request: Observation) -> float:
        """Return how long after that time an earlier answer may have muted the connection."""
        return max(0.0, self._muted_until[request.seq] - self._turns[request.seq][0])


class _Ends:
    """The facts of a trace beside requests and answers: ended connections, coordinator moves, topics, and the end."""

    def __init__(self, trace: Trace) -> None:
        kit = [obs for obs in trace if obs.who == "kit" and obs.kind == "event"]
        end = next((obs for obs in kit if obs.body.get("name") == "end"), trace[-1] if trace else None)
        self.end_ms = 0.0 if end is None else end.at_ms
        self.last_seq = last = 0 if end is None else end.seq
        closed = [obs for obs in trace if obs.who == "link" and obs.body.get("name") == "closed" and obs.seq <= last]
        self._closed = {obs.connection: (obs.at_ms, str(obs.body.get("by", ""))) for obs in reversed(closed)}
        ground: Mapping[str, Any] = next((obs.body for obs in kit if obs.body.get("name") == "ground"), {})
        self.topics: Mapping[str, int] | None = ground.get("topics")
        self.topic_images = _images(ground.get("topic_ids", {}))
        settled = (obs for obs in kit if obs.body.get("name") == "settled")
        self._settled = {(obs.body.get("connection"), obs.body.get("correlation")): obs.at_ms for obs in settled}
        self._steps = [obs for obs in kit if obs.body.get("name") == "step"]
        stops = [obs.seq for obs in self._steps if obs.body.get("step") == "stop_reading"]
        again = [obs.seq for obs in self._steps if obs.body.get("step") == "read_again"]
        self._unread = [(stop, next((seq for seq in again if seq > stop), len(trace))) for stop in stops]
        self._moved = [obs for obs in kit if obs.body.get("name") == "moved"]
        self.topic_changes = tuple(self._topic_change(obs) for obs in kit if obs.body.get("name") == "topics")
        images = (self.topic_images, *(change.images for change in self.topic_changes))
        titles = ground.get("topic_titles", {})
        self.topic_names = {image.topic_id: name for held in images for name, image in held.items() if image.partitions}
        self.topic_titles = {topic_id: titles.get(name, name) for topic_id, name in self.topic_names.items()}
        self.alterations = [obs for obs in trace if obs.api == Api.INCREMENTAL_ALTER_CONFIGS.title]
        self._nodes = [obs for obs in kit if obs.body.get("name") in ("coordinator", "moved")]

    def _topic_change(self, obs: Observation) -> TopicChange:
        """Return an observed topic change; it begins with the step that asked for it."""
        steps = (step for step in reversed(self._steps) if step.seq < obs.seq and step.body.get("step") in _TOPIC_STEPS)
        begun = next(steps, obs)
        return TopicChange(begun_ms=begun.at_ms, done_ms=obs.at_ms, images=_images(obs.body["topics"]), begun_seq=begun.seq)

    def settled_ms(self, request: Observation) -> float | None:
        return self._settled.get(request.exchange_id)

    def gone_ms(self, connection: int | None) -> float:
        return min(self.end_ms, self._closed.get(connection, (self.end_ms, ""))[0])

    def closed_by(self, connection: int | None) -> str | None:
        """Return who ended the connection before the script's end, None if nobody did."""
        return self._closed[connection][1] if connection in self._closed else None

    def moves(self, group: str) -> tuple[CoordinatorMove, ...]:
        """Return the moves of a group's coordinator; each begins with the step that asked for it."""
        found = []
        for moved in self._moved:
            if moved.body.get("group") == group:
                steps = (obs.at_ms for obs in reversed(self._steps) if obs.seq < moved.seq and obs.body.get("step") == "move_group")
                found.append(CoordinatorMove(begun_ms=next(steps, moved.at_ms), done_ms=moved.at_ms))
        return tuple(found)

    def is_stray(self, group: str, request: Observation) -> bool:
        """Return whether the request was sent to another broker than the group's coordinator, as far as the trace contains the coordinator."""
        earlier = (obs for obs in reversed(self._nodes) if obs.seq < request.seq and obs.body.get("group") == group)
        located = next(earlier, None)
        node = None if located is None else located.body.get("to", located.body.get("node"))
        return node is not None and request.node is not None and node != request.node

    def is_unread(self, request: Observation, answer: Observation | None) -> bool:
        """Return whether the script did not read a connection while the answer was due: the time of the answer is unknown then."""
        until = sys.maxsize if answer is None else answer.seq
        return any(stopped < until and request.seq < again for stopped, again in self._unread)


def _images(topics: Mapping[str, Any]) -> dict[str, TopicImage]:
    return {name: TopicImage(topic_id, partitions) for name, (topic_id, partitions) in topics.items()}


def _message(request: Observation, names: Mapping[str, str]) -> GroupRequest | None:
    """Return the request as the broker read it: the recorded body at its version; None for an API that no group answers."""
    api = api_named(request.api or "")
    if api not in GROUP_APIS or api is Api.FIND_COORDINATOR:
        return None
    try:
        version, body = with_names(api, request.version or 0, request.body, names)
        frame = write_request(api, version, request.correlation or 0, request.client, body)
        return read_request(frame).message
    except (ValueError, WireError):
        return None


# Parts of requests and answers -----------------------------------------------------------------------------------------------------

_TOPIC_STEPS: Final = ("grow_topic", "delete_topic")
_LISTS: Final = {
    Api.OFFSET_FETCH: "groups", Api.DESCRIBE_GROUPS: "groups", Api.DELETE_GROUPS: "groups_names", Api.CONSUMER_GROUP_DESCRIBE: "group_ids",
}  # fmt: skip
_ANSWER_LISTS: Final = {
    Api.OFFSET_FETCH: "groups", Api.DESCRIBE_GROUPS: "groups", Api.DELETE_GROUPS: "results", Api.LIST_GROUPS: "groups",
    Api.CONSUMER_GROUP_DESCRIBE: "groups",
}  # fmt: skip


def _groups_of(message: GroupRequest) -> list[str]:
    field = _LISTS.get(message.api)
    if field is not None:
        return [_group_id(item) for item in getattr(message, field)]
    return [message.group_id] if hasattr(message, "group_id") else []


def _group_id(entry: Any) -> str:
    return entry if isinstance(entry, str) else str(entry.group_id)


def _part(message: GroupRequest, group: str) -> GroupRequest | None:
    """Return the part of a request that is about `group`, None if there is none."""
    if message.api is Api.LIST_GROUPS:
        return message
    if group not in _groups_of(message):
        return None
    field = _LISTS.get(message.api)
    if field is None:
        return message
    changed: dict[str, Any] = {field: tuple(item for item in getattr(message, field) if _group_id(item) == group)}
    whole: Any = message
    part: GroupRequest = dataclasses.replace(whole, **changed)
    return part


def _answer_part(api: Api, group: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the part of an answer that is about `group`. An OffsetFetch answer before v8 contains no group id and is about the only group."""
    field = _ANSWER_LISTS.get(api)
    if field is None:
        return body
    names = (group, "") if api is Api.OFFSET_FETCH else (group,)
    return {**body, field: [group for group in body.get(field) or () if group.get("group_id") in names]}
