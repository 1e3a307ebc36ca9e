"""The probable state of a group in the middle of an unfinished random history: the reference machine after the steps so far. Pure.

It makes most random steps sensible: which members have an id, which requests are parked, how much time may pass before the next deadline. The oracle
judges whether the broker does the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from uuid import NAMESPACE_OID, uuid5

from groupproof.coordinator.machine.choices import RandomBits
from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, GroupView, Output, Reply, Settings
from groupproof.coordinator.machine.topics_image import TopicImage
from groupproof.harness.model.common_versions import common_versions
from groupproof.harness.model.script import Ask, Ref
from groupproof.harness.model.script_bindings import Memory, Names
from groupproof.protocol.rules.cells import State
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_codec import WireError, read_request, write_request
from groupproof.protocol.wire.message_conversion import body_of

__all__ = ["STEP_MS", "ModelState", "Ranges", "RequestResult"]

Ranges = Mapping[Api, tuple[int, int]]

STEP_MS: Final = 40
"""About how long a step takes on a real broker, in milliseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestResult:
    """The result of a request: whether it is parked, and the labels of the earlier requests that it completed."""

    is_parked: bool
    released: tuple[str, ...] = ()


@dataclass(slots=True)
class _ParkedRequest:
    member: str
    connection: str


@dataclass(slots=True)
class ModelState:
    """The group of a history so far; `ranges` are the broker's versions, `topics` the existing topics, `own_topics` those that may be created."""

    profile: str
    settings: Settings
    ranges: Ranges
    random: RandomBits
    now_ms: int = 0
    parked: dict[str, _ParkedRequest] = field(default_factory=dict)
    connections: set[str] = field(default_factory=set)
    topics: Mapping[str, int] = field(default_factory=lambda: {"t": 2})
    own_topics: frozenset[str] = frozenset()
    memory: Memory = field(init=False)
    _machine: Coordinator = field(init=False)
    _counts: dict[str, int] = field(init=False)
    _deleted: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.memory = Memory(names=Names(case="drawn", key="", topics=self.topics, own=self.own_topics))
        self._machine = Coordinator(profile=self.profile, settings=self.settings, random=self.random)
        self._counts = dict(self.topics)
        self._look_at_topics()

    def partitions_of(self, topic: str) -> int:
        """Return the topic's current number of partitions, 0 where it does not exist."""
        return self._counts.get(topic, 0)

    def grow(self, topic: str, partitions: int) -> None:
        """Give the topic `partitions` partitions."""
        self._counts[topic] = partitions
        self._look_at_topics()

    def delete(self, topic: str) -> None:
        """Delete the topic. A later topic with its name gets another id."""
        del self._counts[topic]
        self._deleted[topic] += 1
        self._look_at_topics()

    def _look_at_topics(self) -> None:
        real = {self.memory.names.topic(name): count for name, count in self._counts.items()}
        lives = {self.memory.names.topic(name): count for name, count in self._deleted.items()}
        self.memory.topic_ids = {name: str(uuid5(NAMESPACE_OID, f"{name}/{lives.get(name, 0)}")) for name in real}
        self._machine.change_topics({name: TopicImage(self.memory.topic_ids[name], count) for name, count in real.items()})

    @property
    def view(self) -> GroupView | None:
        return self._machine.view(self.memory.names.group("g"))

    @property
    def state(self) -> State:
        view = self.view
        return None if view is None else view.state

    def speaks(self, api: Api) -> bool:
        return common_versions(api, self.ranges) is not None

    def version(self, ask: Ask) -> int:
        """Return the version of the request: its own, or else the newest."""
        common = common_versions(ask.api, self.ranges)
        assert common is not None
        return common[1] if ask.version is None else ask.version

    def id_of(self, member: str) -> str:
        return str(self.memory.resolved(Ref(member, "member_id")))

    def is_in(self, member: str) -> bool:
        view = self.view
        return view is not None and any(member_view.member_id == self.id_of(member) for member_view in view.members)

    def is_pending(self, member: str) -> bool:
        view = self.view
        return view is not None and self.id_of(member) in view.pending

    def leads(self, member: str) -> bool:
        view = self.view
        return view is not None and view.leader is not None and view.leader == self.id_of(member)

    def is_parked(self, member: str) -> bool:
        return any(parked.member == member for parked in self.parked.values())

    def is_mute(self, connection: str) -> bool:
        """Return whether requests on the connection are not processed yet, because an earlier one there is parked."""
        return any(parked.connection == connection for parked in self.parked.values())

    def free_connection(self, member: str) -> str:
        """Return the member's connection, or another one where that is mute."""
        return next(name for number in range(len(self.parked) + 1) if not self.is_mute(name := member + "+" * number))

    def due_in_ms(self) -> int | None:
        """Return the time until the next timer in milliseconds, None without a timer."""
        due_ms = self._machine.next_deadline_ms()
        return None if due_ms is None else due_ms - self.now_ms

    def ask(self, ask: Ask) -> RequestResult | None:
        """Process the request; return None, without a change, where its version cannot encode it."""
        version = self.version(ask)
        try:
            frame = write_request(ask.api, version, 0, ask.member, self.memory.resolved(ask.fields))
            message = read_request(frame).message
        except (ValueError, WireError):
            return None
        connection = ask.over or ask.member
        self.connections.add(connection)
        self.parked[ask.label] = _ParkedRequest(ask.member, connection)
        arrival = Arrival(token=ask.label, api_version=version, client_id=ask.member, client_host="/127.0.0.1")
        released = self._let_go(lambda: self._machine.handle(message, arrival, self.now_ms))
        self.now_ms += STEP_MS
        return RequestResult(is_parked=ask.label in self.parked, released=tuple(name for name in released if name != ask.label))

    def elapse(self, ms: int) -> tuple[str, ...]:
        """Let time pass and return the labels of the parked requests that this answers."""
        self.now_ms += ms
        return self._let_go(lambda: self._machine.advance(self.now_ms))

    def cut(self, connection: str) -> None:
        """Forget the parked requests of a connection: nobody receives the answers."""
        self.connections.discard(connection)
        self.parked = {label: parked for label, parked in self.parked.items() if parked.connection != connection}

    def _let_go(self, stepped: Callable[[], list[Output]]) -> tuple[str, ...]:
        released = []
        for output in stepped():
            parked = self.parked.pop(str(output.token), None) if isinstance(output, Reply) else None
            if parked is not None and isinstance(output, Reply):
                released.append(str(output.token))
                self.memory.answered(output.message.api, parked.member, body_of(output.message))
        return tuple(released)
