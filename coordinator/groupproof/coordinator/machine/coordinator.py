"""The coordinator role of one broker: requests, timers and partition moves in; replies, transitions and applied rules out. Pure.

The caller gives the time in milliseconds, which never goes back, and the random generator. A request at the very instant of a timer comes before
it; `advance` to that instant first puts the timer before the request.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from groupproof.coordinator.machine.bound_tables import bound_tables
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.due_refusals import DueRefusal, due_refusals
from groupproof.coordinator.machine.engine import Engine
from groupproof.coordinator.machine.event import OPEN, CoordinatorStatus, Event
from groupproof.coordinator.machine.machine_outputs import AppliedRow, Arrival, GroupView, MemberView, Output, Reply, Transition
from groupproof.coordinator.machine.offset_effects import record_transaction_error
from groupproof.coordinator.machine.repeated_heartbeats import RepeatedHeartbeats
from groupproof.coordinator.machine.short_ways import short_ways
from groupproof.coordinator.machine.storage import PartitionState, StoredGroups, partition_of
from groupproof.coordinator.machine.timers import TimerKey
from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.rules.profiles import profile as profile_named
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import ListGroupsRequest

if TYPE_CHECKING:
    from groupproof.coordinator.machine.any_group import AnyGroup
    from groupproof.coordinator.machine.choices import Choices, RandomBits
    from groupproof.coordinator.machine.dialect_functions import RequestFunctions
    from groupproof.coordinator.machine.group_batches import Batch
    from groupproof.coordinator.machine.machine_outputs import GroupProgress
    from groupproof.coordinator.machine.offsets import Offsets
    from groupproof.coordinator.machine.topics_image import MayDescribe, TopicImage
    from groupproof.coordinator.machine.variant import Variant
    from groupproof.protocol.rules.cells import EventKind
    from groupproof.protocol.wire.messages import GroupRequest, GroupResponse

__all__ = [
    "AppliedRow", "Arrival", "Coordinator", "GroupView", "MemberView", "Output", "Reply", "Settings", "StoredGroups", "Transition", "partition_of",
]  # fmt: skip


class Coordinator:
    """All groups whose offsets partition this broker leads; `partitions` are those it leads at the start (None: every one).

    `choices` decide what the protocol leaves open; without them the reference's own do, with `random` for member ids. `active` is
    False while the broker starts or stops (FIND-09). `append_error` makes the log refuse records (SYNC-11).
    `transaction_error` is the transaction coordinator's answer to each of them (KIP-890): that there is none, which is true.
    """

    def __init__(
        self,
        *,
        profile: str = "kafka-4.1",
        settings: Settings | None = None,
        random: RandomBits | None = None,
        choices: Choices | None = None,
        node_id: int = 0,
        partitions: Iterable[int] | None = None,
        variant: Variant = REFERENCE,
    ) -> None:
        self.node_id, self._variant = node_id, variant
        self._checks_invariants = variant is REFERENCE  # a variant may break those of its groups, at any heartbeat
        self.active = True
        self.settings = Settings.of({}, profile) if settings is None else settings
        self.transaction_error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        if choices is None:
            if random is None:
                raise TypeError("a coordinator needs choices, or a random to draw member ids from")
            choices = variant.choices(random)
        self._engine = Engine(bound_tables(profile_named(profile), variant), self.settings, choices, variant)
        self._requests, self._timers = self._engine.tables.requests, self._engine.timers
        self._repeats = RepeatedHeartbeats(self._engine, self._gate) if self._checks_invariants else None
        self._repeating, self._parking = ({}, {}) if self._repeats is None else short_ways(self._engine, self._gate, self._repeats)
        self._loading, self._now_ms = set[int](), 0
        self._engine.partitions.update(dict.fromkeys(range(self.settings.offsets_topic_num_partitions) if partitions is None else partitions))

    @property
    def append_error(self) -> ErrorCode:
        return self._engine.append_error

    @append_error.setter
    def append_error(self, error: ErrorCode) -> None:
        self._engine.append_error = error

    def handle(self, message: GroupRequest, arrival: Arrival, now_ms: int, *, fires: bool = True) -> list[Output]:
        """Process a request at `now_ms`. Earlier timers fire first; timers due at `now_ms` fire after it, unless `fires` is False.

        Raise `TypeError` for FindCoordinator, which the cluster answers.
        """
        if self._timers.quiet_until_ms < now_ms:
            self._fire(now_ms - 1)
        self._come_to(now_ms)
        request = self._requests.get(type(message))
        if request is None:
            self._process_other(message, arrival)
        elif self._repeats is None or request.at_rest is None or not self._repeats.answer(request, message, arrival, now_ms, self._process):
            self._process(request, message, arrival)
        if fires and self._timers.quiet_until_ms <= now_ms:
            self._fire(now_ms)
        return self._collected(arrival.token)

    def due_refusals(self, message: GroupRequest, arrival: Arrival, now_ms: int) -> list[DueRefusal]:
        """Return all refusals that are due to a request about one group, in Kafka's order, and change nothing; none for a request about several."""
        request = self._requests.get(type(message))
        return [] if request is None else due_refusals(self._engine, self._event(request, message, arrival, now_ms))

    def repeat(self, message: GroupRequest, arrival: Arrival, now_ms: int) -> GroupResponse | None:
        """Process a heartbeat that changes nothing, a late SyncGroup or a plain OffsetCommit, without its row; None: unchanged, use `handle`."""
        repeat = self._repeating.get(type(message))
        if repeat is None or self._timers.quiet_until_ms <= now_ms or self._loading or not self.active:
            return None
        if now_ms < self._now_ms:
            self._come_to(now_ms)
        self._now_ms = now_ms
        return repeat(message, arrival, now_ms)

    def parks(self, message: GroupRequest, arrival: Arrival, now_ms: int) -> bool:
        """Park a JoinGroup or a SyncGroup that only waits, as `handle` does, without its row; return False, without a change, for other requests."""
        parking = self._parking.get(type(message))
        if parking is None or self._engine.timers.quiet_until_ms <= now_ms:
            return False
        asked: Any = message
        group = self._engine.groups.get(asked.group_id)
        if group is None or group.state is not parking.state:
            return False
        self._come_to(now_ms)
        return parking.park(group, asked, arrival)

    def advance(self, now_ms: int, *, was_stopped: bool = False) -> list[Output]:
        """Fire every timer that is due at or before `now_ms`, each at its own instant; if the broker `was_stopped`, all at `now_ms`."""
        if was_stopped:
            self._come_to(now_ms)
        self._fire(now_ms)
        self._come_to(now_ms)
        return self._collected()

    def end_transaction(self, producer_id: int, partitions: Iterable[int], now_ms: int, *, is_committed: bool) -> list[Output]:
        """Process the marker of a producer's transaction for some partitions (WriteTxnMarkers): its pending offsets are committed or dropped."""
        self._fire(now_ms)
        self._come_to(now_ms)
        ended = [partition for partition in partitions if partition in self._engine.partitions]
        for partition in ended:
            if (state := self._engine.partitions[partition]) is not None:
                state.transactions.discard(producer_id)
        for group_id in [name for partition in ended for name in self._of(partition)]:
            offsets = self._offsets(group_id)
            if offsets is not None and producer_id in offsets.pending:
                event = self._input(ClassicEvent.TXN_MARKER, group_id)
                event.producer_id, event.is_committed = producer_id, is_committed
                self._engine.apply(event)
        return self._collected()

    def clean_up(self, now_ms: int) -> list[Output]:
        """Run the periodic cleanup now: the broker decides when it runs (COMMIT-24, COMMIT-25)."""
        self._fire(now_ms)
        self._come_to(now_ms)
        self._clean_up()
        return self._collected()

    def operate(self, kind: EventKind, group_id: str, now_ms: int) -> list[Output]:
        """Perform an operator's action on a group; raise `Unreachable` for a kind that no dialect here has."""
        self._fire(now_ms)
        self._come_to(now_ms)
        self._engine.apply(self._input(kind, group_id))
        return self._collected()

    def change_topics(self, topics: Mapping[str, TopicImage]) -> None:
        """Set the existing topics. Groups that subscribe to a changed one check them at their next heartbeat."""
        before, self._engine.topics = self._engine.topics, self._engine.topics.changed_to(topics)
        changed = self._engine.topics.changed_names(before)
        for group in self._engine.groups.values():
            self._engine.tables.functions[group.dialect].notify_topics_changed(group, changed)

    def let_describe(self, may_describe: MayDescribe | None) -> None:
        """Restrict a regular expression to the topics that the resolving client may see, from its next resolution on (CGX-30); None: all topics."""
        self._engine.may_describe = may_describe

    def configure_group(self, group_id: str, configs: Mapping[str, str], *, only_checks: bool = False) -> ErrorCode:
        """Replace a group's configs, or only check them with `only_checks`; return the error that refuses them (IncrementalAlterConfigs)."""
        error, values = self._engine.tables.check_config(self.settings, self._engine.fields, group_id, configs)
        if not error and not only_checks:
            self._engine.group_configs[group_id] = values
        return error

    def restore_group_configs(self, configs: Mapping[str, Mapping[str, int]]) -> None:
        """Restore the configs of groups, regardless of the broker's current bounds."""
        self._engine.group_configs.update((group_id, dict(values)) for group_id, values in configs.items())

    def group_config_defaults(self) -> dict[str, int]:
        """Return the names of all group configs, with the values for a group without its own."""
        return self._engine.tables.config_defaults(self.settings, self._engine.fields)

    def group_configs(self) -> dict[str, dict[str, int]]:
        """Return the configs of all groups that have some, by group."""
        return {group_id: dict(values) for group_id, values in self._engine.group_configs.items()}

    @property
    def quiet_until_ms(self) -> float:
        """Return an instant before which no timer is due, though none may be due then."""
        return self._timers.quiet_until_ms

    def next_deadline_ms(self, before_ms: float = math.inf) -> int | None:
        """Return the instant of the next timer, None where there is none before `before_ms`."""
        return None if self._timers.quiet_until_ms >= before_ms else self._timers.next_ms(before_ms)

    def begin_load(self, partition: int) -> None:
        """Lead `partition` from now on, though its records are still to be read (FIND-10)."""
        self._engine.partitions.setdefault(partition)
        self._loading.add(partition)

    def load(self, partition: int, stored: StoredGroups, now_ms: int) -> list[Output]:
        """Lead `partition` with its stored state: the last stored generations, with restarted sessions (EMIG-03, EMIG-05)."""
        self._come_to(now_ms)
        self._loading.discard(partition)
        state = self._engine.partitions[partition] = PartitionState.of(stored)
        for record in tuple(state.groups.values()):
            self._engine.adopt(self._engine.tables.restored[type(record)](record))
        for group_id in state.offsets:
            if group_id not in self._engine.groups:
                self._engine.adopt(self._engine.tables.home[ClassicEvent.OFFSET_COMMIT].group(group_id, now_ms))  # commits without members
        for group_id in self._of(partition):
            self._engine.apply(self._input(ClassicEvent.LOADED, group_id))
        self._watch_retention()
        return self._collected()

    def unload(self, partition: int, now_ms: int, parked: Literal["answer", "drop"] = "answer") -> list[Output]:
        """Stop leading `partition`: its groups die here (EMIG-01), and their parked requests are answered 16 (EMIG-02) or dropped."""
        self._fire(now_ms - 1)
        self._come_to(now_ms)
        for group_id in self._of(partition):
            self._engine.apply(self._input(ClassicEvent.UNLOADED, group_id))
        self._engine.partitions.pop(partition, None)
        self._loading.discard(partition)
        self._watch_retention()
        out = self._collected()
        return out if parked == "answer" else [output for output in out if not isinstance(output, Reply)]

    def stored(self, partition: int) -> StoredGroups:
        """Return the state of `partition` in `__consumer_offsets`, to be loaded elsewhere; empty where it is not led here."""
        state = self._engine.partitions.get(partition)
        return StoredGroups() if state is None else state.snapshot()

    def parked(self, partition: int) -> list[Hashable]:
        """Return the tokens of the requests parked in the partition's groups."""
        return [token for group_id in self._of(partition) for token in self._engine.groups[group_id].parked()]

    def view(self, group_id: str) -> GroupView | None:
        group = self._engine.groups.get(group_id)
        return None if group is None else group.view()

    def group(self, group_id: str) -> AnyGroup | None:
        """Return a group, to be read and never changed."""
        return self._engine.groups.get(group_id)

    def progress(self, group_id: str) -> GroupProgress | None:
        group = self._engine.groups.get(group_id)
        return None if group is None else group.progress()

    def member_ids(self, group_id: str) -> tuple[str, ...]:
        """Return the ids of the group's members in joining order; empty without the group."""
        group = self._engine.groups.get(group_id)
        return () if group is None else group.member_ids()

    def group_ids(self) -> tuple[str, ...]:
        """Return the ids of the groups in the order of their creation."""
        return tuple(self._engine.groups)

    def retire(self, group_id: str, now_ms: int) -> list[Output]:
        """Let a group die as with its partition, but keep it as Dead, for requests that race with the move (TR-140 to TR-147)."""
        self._come_to(now_ms)
        group = self._engine.groups[group_id]
        self._engine.apply(self._input(ClassicEvent.UNLOADED, group_id))
        self._engine.groups[group_id] = group
        return self._collected()

    def _process(self, request: RequestFunctions, message: Any, arrival: Arrival) -> None:
        event = self._event(request, message, arrival, self._now_ms)
        if request.kind is ClassicEvent.TXN_OFFSET_COMMIT:
            record_transaction_error(self._engine, event, self.transaction_error)
        self._decide(event, request.undoes)

    def _event(self, request: RequestFunctions, message: Any, arrival: Arrival, now_ms: int) -> Event:
        event = self._asked(request.kind, request.event, message.group_id, message, arrival, now_ms)
        request.fill(event, message)
        if request.asks_offsets:
            self._fill_offsets(event, message)
        return event

    def _process_other(self, message: GroupRequest, arrival: Arrival) -> None:
        batch = self._engine.tables.batches.get(type(message))
        if batch is not None:
            self._process_each(batch, message, arrival)
        elif isinstance(message, ListGroupsRequest):
            self._list(message, arrival)
        else:
            raise TypeError(f"{type(message).__name__} is not for a group's coordinator")

    def _asked(self, kind: EventKind, event_type: type[Event], group_id: str, message: GroupRequest, arrival: Arrival, now_ms: int) -> Event:
        engine = self._engine
        group = engine.groups.get(group_id)
        event = event_type(kind=kind, now_ms=now_ms, settings=self.settings, group_id=group_id, group=group, request=message, arrival=arrival)
        event.gate = self._gate(group_id)
        if engine.append_error:
            event.refusal = engine.answer_to(kind, engine.append_error)
        return event

    def _fill_offsets(self, event: Event, message: GroupRequest) -> None:
        """Put the group's stored offsets and its permitted operations into the event."""
        event.offsets = self._offsets(event.group_id)
        asks_operations = getattr(message, "include_authorized_operations", False)
        event.operations = self._engine.fields["group_operations" if asks_operations else "group_operations_unasked"]

    def _decide(self, event: Event, undoes: Callable[[Any, Any], None] | None = None) -> None:
        if not self._engine.refuse(event):
            if undoes is not None and (event.refusal or not self._checks_invariants):  # a variant's assignor may fail
                undoes(self._engine, event)
            else:
                self._engine.apply(event)
            if event.group is not None and self._checks_invariants:
                event.group.check()

    def _process_each(self, batch: Batch, message: GroupRequest, arrival: Arrival) -> None:
        """Decide each group of the request by itself, and answer all in one reply."""
        engine, first = self._engine, len(self._engine.out)
        for group_id, fetch in batch.groups(message):
            event = self._asked(batch.kind, engine.tables.home[batch.kind].event, group_id, message, arrival, self._now_ms)
            self._fill_offsets(event, message)
            event.fetch = fetch
            self._decide(event)
        replies = [output for output in engine.out[first:] if isinstance(output, Reply) and output.token == arrival.token]
        engine.out[first:] = [output for output in engine.out[first:] if output not in replies]
        engine.reply(arrival.token, batch.join([reply.message for reply in replies]))

    def _list(self, message: ListGroupsRequest, arrival: Arrival) -> None:
        event = Event(kind=ClassicEvent.LIST_GROUPS, now_ms=self._now_ms, settings=self.settings, group_id="", request=message, arrival=arrival)
        event.gate, event.groups = CoordinatorStatus(active=self.active, loading=bool(self._loading)), tuple(self._engine.groups.values())
        self._decide(event)

    def _offsets(self, group_id: str) -> Offsets | None:
        state = self._engine.partitions.get(partition_of(group_id, self.settings.offsets_topic_num_partitions))
        return None if state is None else state.offsets.get(group_id)

    def _fire(self, until_ms: int) -> None:
        while self._timers.quiet_until_ms <= until_ms and (due := self._timers.pop_due(until_ms)) is not None:
            key, due_ms = due
            self._come_to(max(due_ms, self._now_ms))
            if key.kind is ClassicEvent.CLEANUP:
                self._clean_up()
            else:
                self._go_off(key)

    def _go_off(self, key: TimerKey) -> None:
        event = self._input(key.kind, key.group_id)
        event.member_id = key.member_id
        self._engine.apply(event)
        if event.group is not None and self._checks_invariants:
            event.group.check()

    def _clean_up(self) -> None:
        """Expire offsets that are too old, and let empty groups without offsets die (COMMIT-24, COMMIT-25)."""
        for group_id in tuple(self._engine.groups):
            for kind in (ClassicEvent.RETENTION, ClassicEvent.CLEANUP):
                event = self._input(kind, group_id)
                event.offsets = self._offsets(group_id)
                self._engine.apply(event)
        self._watch_retention()

    def _watch_retention(self) -> None:
        """Keep the periodic cleanup armed while any group exists."""
        key = TimerKey(ClassicEvent.CLEANUP, "")
        if not self._engine.groups:
            self._engine.timers.cancel(key)
        elif self._engine.timers.due_of(key) is None:
            self._engine.timers.arm(key, self._now_ms + self.settings.offsets_retention_check_interval_ms)

    def _input(self, kind: EventKind, group_id: str) -> Event:
        return self._engine.event(kind, group_id, self._now_ms)

    def _of(self, partition: int) -> list[str]:
        return [group_id for group_id in self._engine.groups if partition_of(group_id, self.settings.offsets_topic_num_partitions) == partition]

    def _gate(self, group_id: str) -> CoordinatorStatus:
        partition = partition_of(group_id, self.settings.offsets_topic_num_partitions)
        if self.active and not self._loading and partition in self._engine.partitions:
            return OPEN
        return CoordinatorStatus(active=self.active, led=partition in self._engine.partitions, loading=partition in self._loading)

    def _come_to(self, now_ms: int) -> None:
        if now_ms < self._now_ms:
            raise ValueError(f"time went back from {self._now_ms} to {now_ms} ms")
        self._now_ms = now_ms

    def _collected(self, token: Hashable = None) -> list[Output]:
        out, self._engine.out = self._engine.out, []
        return out if self._variant.outputs is None else list(self._variant.outputs(out, token))
