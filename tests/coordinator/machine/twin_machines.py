"""Two machines that are asked the same, of which one takes short ways, and the other asks the table every time: they must be alike at every step.

The short ways are to repeat the answer to a heartbeat, to park a JoinGroup that brings nothing new, and to park or answer a SyncGroup that brings no assignment. Of every
other request the first one is asked without its row, as a broker does that nobody hears.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from groupproof.coordinator.broker.topics import topic_id_of
from groupproof.coordinator.machine.coordinator import AppliedRow, Arrival, Coordinator, Reply, Settings, partition_of
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.topics_image import TopicImage
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest, TopicPartitions
from groupproof.protocol.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinProtocol,
    LeaveGroupRequest,
    LeaveMember,
    SyncAssignment,
    SyncGroupRequest,
)

__all__ = ["STEPS", "TOPIC", "History", "Settled", "Twins"]

TOPIC = "t"
NAMES = ("a", "b", "s")
"""The members of both groups; the last one is static."""
INTERVAL_MS = 3_000
STEPS = 250


class Twins:
    """Two machines that are asked the same, of which `plain` takes no short way. `short` is what came of asking for one, with the request's class and the time (None: no answer); `parked` the same of parking."""

    def __init__(self, profile: str, **settings: int) -> None:
        self.keeping, self.plain = (
            Coordinator(
                profile=profile,
                random=random.Random(1),
                settings=Settings.of({name.replace("_", "."): value for name, value in settings.items()}, profile),
            )
            for _ in range(2)
        )
        self.plain._repeats, self.plain._repeating, self.plain._parking = None, {}, {}
        self.now_ms = 0
        self.steps = 0
        self.short: list[tuple[type, int, Any]] = []
        self.parked: list[tuple[type, bool]] = []
        self.both(lambda machine: machine.change_topics({TOPIC: TopicImage(topic_id_of(TOPIC), 4)}))

    def both(self, do: Callable[[Coordinator], Any]) -> Any:
        kept, plain = do(self.keeping), do(self.plain)
        assert kept == plain
        return kept

    def ask(self, message: Any, host: str = "/h", version: int = 1) -> Any:
        """Return the answer that both give, None where it has to wait."""
        self.steps += 1
        arrival = Arrival(self.steps, 4 if isinstance(message, HeartbeatRequest) else version, "c", host)
        if self.steps % 2:
            answer = self.repeated(message, arrival)
            if answer is not None or self.parks(message, arrival):
                return answer
        outputs = self.both(lambda machine: machine.handle(message, arrival, self.now_ms))
        return next((output.message for output in outputs if isinstance(output, Reply) and output.token == self.steps), None)

    def repeated(self, message: Any, arrival: Arrival) -> Any:
        """Return the answer if it is one that was given before and asks for no row; then the other machine puts out nothing but a row and that answer."""
        timers = self.keeping._engine.timers
        quiet_until_ms = timers.quiet_until_ms
        answer = self.keeping.repeat(message, arrival, self.now_ms)
        self.short.append((type(message), self.now_ms, answer))
        if answer is not None:
            applied, reply = self.plain.handle(message, arrival, self.now_ms)
            assert isinstance(applied, AppliedRow)
            assert reply == Reply(arrival.token, answer)
            assert timers.quiet_until_ms >= quiet_until_ms, "nobody looks at the timers behind it"
        return answer

    def parks(self, message: Any, arrival: Arrival) -> bool:
        """Tell whether the request only waits, where nobody asks for its row; then the other machine puts out nothing but a row."""
        is_parked = self.keeping.parks(message, arrival, self.now_ms)
        self.parked.append((type(message), is_parked))
        if is_parked:
            (applied,) = self.plain.handle(message, arrival, self.now_ms)
            assert isinstance(applied, AppliedRow)
        return is_parked

    def are_alike(self) -> None:
        for group_id in ("k", "g"):
            assert _state(self.keeping.group(group_id)) == _state(self.plain.group(group_id))
        assert self.keeping._engine.timers == self.plain._engine.timers
        assert self.keeping._now_ms == self.plain._now_ms


def _state(group: Any) -> Any:
    """Return all that a group is but whom it asks for a leader, who is each machine's own."""
    if not isinstance(group, Group):
        return group
    return _values(group, but="members"), _values(group.members, but="elect")


def _values(item: Any, *, but: str) -> dict[str, Any]:
    return {column.name: getattr(item, column.name) for column in fields(item) if column.name != but}


class History:
    """What three members of each dialect do and what befalls them, drawn step by step; heartbeats are most of it."""

    def __init__(self, profile: str, seed: int) -> None:
        self.twins, self.draw = Twins(profile), random.Random(seed)
        self.answers: dict[str, Any] = {}
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, tuple[TopicPartitions, ...]] = {}
        self.ids: dict[str, str] = {}
        self.generation = 0
        self.partitions = 4

    def run(self) -> None:
        befalls = (self._topic_grows, self._configures, self._log_refuses, self._moves, self._host_changes, self._is_loaded)
        for _ in range(STEPS):
            self.draw.choices(
                (self._beats, self._beats_classically, self._comes_or_goes, self.forms, self._calms, self.draw.choice(befalls)), (12, 8, 1, 1, 3, 2)
            )[0]()
            self.twins.now_ms += self.draw.choice((0, 1, 50, INTERVAL_MS // 3, 46_000 if self.draw.random() < 0.01 else 7))
            if self.draw.random() < 0.7:  # else the next request comes before the timers' task has woken
                self.twins.both(lambda machine: machine.advance(self.twins.now_ms))
            self.twins.are_alike()

    def beat(self, name: str, host: str = "/h", **says: Any) -> None:
        static = {"instance_id": "i"} if name == "s" else {}
        answer = self.twins.ask(
            ConsumerGroupHeartbeatRequest(group_id="g", member_id=name, member_epoch=self.epochs.get(name, 0), **{**static, **says}), host
        )
        self.answers[name] = answer
        if answer.error_code:
            self.epochs.pop(name, None)
            self.owned.pop(name, None)
            return
        self.epochs[name] = answer.member_epoch
        if answer.assignment is not None:
            self.owned[name] = answer.assignment.topic_partitions

    def _says(self, name: str) -> Mapping[str, Any]:
        """Return what a heartbeat says beside its epoch: nothing, most often."""
        return self.draw.choices(
            (
                {}, {"topic_partitions": self.owned.get(name, ())}, {"server_assignor": self.draw.choice(("range", "uniform"))},
                {"subscribed_topic_names": (TOPIC, "u")}, {"subscribed_topic_regex": "t.*"}, {"rebalance_timeout_ms": 9_000}, {"instance_id": "i"},
                {"rack_id": "r"},
            ),
            (20, 4, 2, 2, 1, 2, 2, 2),
        )[0]  # fmt: skip

    def _beats(self) -> None:
        name = self.draw.choice(NAMES)
        if name in self.epochs:
            self.beat(name, **self._says(name))
        else:
            self.beat(name, rebalance_timeout_ms=5_000, subscribed_topic_names=(TOPIC,), topic_partitions=())

    def _calms(self) -> None:
        """Let the consumer group come to rest: all subscribe by name and vote for one assignor, and report what they own until nothing changes."""
        for _ in range(4):
            self.twins.now_ms += 1_000
            for name in sorted(self.epochs):
                self.beat(
                    name, subscribed_topic_names=(TOPIC,), subscribed_topic_regex="", server_assignor="uniform", rebalance_timeout_ms=5_000,
                    topic_partitions=self.owned.get(name, ()),
                )  # fmt: skip
        for name in sorted(self.epochs) * 2:
            self.beat(name)

    def _comes_or_goes(self) -> None:
        name = self.draw.choice(NAMES)
        if name in self.epochs:
            leaves = ConsumerGroupHeartbeatRequest(
                group_id="g", member_id=name, member_epoch=-2 if name == "s" else -1, instance_id="i" if name == "s" else None
            )
            self.twins.ask(leaves)
            self.epochs.pop(name)
            self.owned.pop(name, None)
        elif name in self.ids:
            self.twins.ask(LeaveGroupRequest(group_id="k", members=(LeaveMember(member_id=self.ids.pop(name)),)))

    def forms(self) -> None:
        """Let a classic group of two form: the one joins while the other's answer waits."""
        protocols = (JoinProtocol(name="range", metadata=b""),)
        for name in ("a", "s"):
            asks = JoinGroupRequest(
                group_id="k", session_timeout_ms=10_000, rebalance_timeout_ms=20_000, protocols=protocols, member_id=self.ids.get(name, ""),
                group_instance_id="i" if name == "s" else None,
            )  # fmt: skip
            self.twins.ask(asks)
            self._beats_classically()
        self.twins.now_ms += INTERVAL_MS
        self.twins.both(lambda machine: machine.advance(self.twins.now_ms))
        view = self.twins.keeping.view("k")
        if view is None or view.leader is None:
            return
        self.generation = view.generation
        self.ids |= dict(zip(("a", "s"), (member.member_id for member in view.members), strict=False))
        shares = tuple(SyncAssignment(member_id=member.member_id, assignment=b"x") for member in view.members)
        for member in view.members:
            self.twins.ask(SyncGroupRequest(group_id="k", generation_id=view.generation, member_id=member.member_id, assignments=shares))

    def _beats_classically(self) -> None:
        name = self.draw.choice(("a", "s"))
        generation = self.generation - (self.draw.random() < 0.1)
        instance_id = self.draw.choice((None, "i", "i")) if name == "s" else None
        self.twins.ask(HeartbeatRequest(group_id="k", generation_id=generation, member_id=self.ids.get(name, "x"), group_instance_id=instance_id))

    def _host_changes(self) -> None:
        if self.epochs:
            self.beat(self.draw.choice(sorted(self.epochs)), host="/elsewhere")

    def _is_loaded(self) -> None:
        """Let the group's partition be read again, as it seems to who asks meanwhile."""
        partition = partition_of("g", self.twins.keeping.settings.offsets_topic_num_partitions)
        self.twins.both(lambda machine: machine.begin_load(partition))
        self._beats()
        self.twins.both(lambda machine: machine._loading.discard(partition))

    def _topic_grows(self) -> None:
        self.partitions += 1
        self.twins.both(lambda machine: machine.change_topics({TOPIC: TopicImage(topic_id_of(TOPIC), self.partitions)}))

    def _configures(self) -> None:
        configs = {
            self.draw.choice(("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms")): str(self.draw.choice((6_000, 45_000, 50_000)))
        }
        self.twins.both(lambda machine: machine.configure_group("g", configs))

    def _log_refuses(self) -> None:
        error = self.draw.choice((ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS))
        self.twins.both(lambda machine: setattr(machine, "append_error", error))

    def _moves(self) -> None:
        """Take the groups' partitions away, and give one of them back at once."""
        for group_id in ("k", "g"):
            partition = partition_of(group_id, self.twins.keeping.settings.offsets_topic_num_partitions)
            stored = [machine.stored(partition) for machine in (self.twins.keeping, self.twins.plain)]
            self.twins.both(lambda machine, number=partition: machine.unload(number, self.twins.now_ms))  # type: ignore[misc]  # called at once
            self._beats()
            self._beats_classically()
            for machine, records in zip((self.twins.keeping, self.twins.plain), stored, strict=True):
                machine.load(partition, records, self.twins.now_ms)


class Settled(History):
    """A consumer group of two that has settled, and both machines have answered two heartbeats of each member that say nothing."""

    def __init__(self, profile: str = "kafka-4.4") -> None:
        super().__init__(profile, 0)
        for name in ("a", "b"):
            self.beat(name, rebalance_timeout_ms=5_000, subscribed_topic_names=(TOPIC,), topic_partitions=())
        self._calms()

    def beat_on(self, *, rounds: int = 3, after_ms: int = 1_000) -> None:
        for _ in range(rounds):
            self.twins.now_ms += after_ms
            for name in ("a", "b"):
                self.beat(name)
                self.twins.are_alike()

    def _calms(self) -> None:
        self.beat_with({"a": {}, "b": {}})

    def beat_with(self, says: Mapping[str, Mapping[str, Any]]) -> None:
        """Let both say that and come to rest."""
        for _ in range(4):
            self.twins.now_ms += 1_000
            for name in says:
                self.beat(name, **says[name], topic_partitions=self.owned.get(name, ()))
        self.beat_on()
