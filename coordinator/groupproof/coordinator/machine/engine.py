"""Steps groups by the table: finds the row of an event, performs it, and puts out the results.

All decisions are rows, all conditions guards, all changes effects. This module only performs them, in the order that `Row` promises.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from groupproof.coordinator.machine.event import OPEN
from groupproof.coordinator.machine.machine_outputs import AppliedRow, Reply, Transition
from groupproof.coordinator.machine.offsets import Offsets
from groupproof.coordinator.machine.storage import PartitionState, partition_of
from groupproof.coordinator.machine.topics_image import NO_TOPICS
from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.protocol.rules.classic.classic_terms import state_name
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import JoinGroupRequest

if TYPE_CHECKING:
    from groupproof.coordinator.machine.any_group import AnyGroup
    from groupproof.coordinator.machine.bound_tables import BoundTables, Rule
    from groupproof.coordinator.machine.choices import Choices
    from groupproof.coordinator.machine.coordinator_settings import Settings
    from groupproof.coordinator.machine.event import Event
    from groupproof.coordinator.machine.machine_outputs import Output
    from groupproof.coordinator.machine.topics_image import MayDescribe
    from groupproof.coordinator.machine.variant import Variant
    from groupproof.protocol.rules.cells import EventKind, Place
    from groupproof.protocol.rules.classic.classic_terms import Row
    from groupproof.protocol.wire.messages import GroupResponse

__all__ = ["Engine", "Unreachable"]


class Unreachable(AssertionError):
    """An event came in a state that the table excludes: a bug of the kit, never of a peer."""


class Engine:
    """The groups of one broker, their timers and their partitions. `out` collects the outputs of the current event."""

    def __init__(self, tables: BoundTables, settings: Settings, choices: Choices, variant: Variant = REFERENCE) -> None:
        self.tables = tables
        self.profile, self._only, self._cells, self._none = tables.profile, tables.only, tables.cells, tables.none
        self._before, self._before_open = tables.before, tables.before_open
        self._of_class, self._before_of_class = tables.of_class, tables.before_of_class
        self.fields = tables.fields
        self.settings = settings
        self.groups: dict[str, AnyGroup] = {}
        self.timers = variant.timers()
        self.partitions: dict[int, PartitionState | None] = {}  # the partitions led here; None until something is written, as in most of them
        self.append_error = ErrorCode.NONE  # the log's answer to appends of records, for simulations of failing disks
        self.out: list[Output] = []
        self.choices = choices
        self.topics = NO_TOPICS
        self.may_describe: MayDescribe | None = None  # None: every client may see every topic
        self.group_configs: dict[str, dict[str, int]] = {}  # the configs of single groups

    def apply(self, event: Event) -> Row:
        """Apply and return the row of an event whose group has been looked up. Raise `Unreachable` where the table has no cell."""
        group = event.group
        state = None if group is None else group.state
        if event.request_class:
            cell = self._of_class.get((None if group is None else group.dialect, event.kind, state, event.request_class))
        else:
            cell = (self._only or self._cells_for(group)).get((event.kind, state))
        if cell is None:
            raise Unreachable(f"{event.kind.value} occurred in {state_name(state)} of group {event.group_id!r}")
        for rule in cell:
            if rule.guard(event):
                self._perform(rule, event)
                return rule.row
        raise Unreachable(f"no row of {event.kind.value} in {state_name(state)} matches the event of group {event.group_id!r}")

    def rules_of(self, event: Event) -> tuple[Rule, ...]:
        """Return the rows for an event in its group's current state, in their order; none where the event cannot occur."""
        group = event.group
        return (self._only or self._cells_for(group)).get((event.kind, None if group is None else group.state), ())

    def _cells_for(self, group: AnyGroup | None) -> Mapping[Place, tuple[Rule, ...]]:
        return self._none if group is None else self._cells[group.dialect]

    def refuse(self, event: Event) -> bool:
        """Check a request before its group is looked up. If a check holds, answer the request and return True."""
        for rule in self._checks_of(event):
            if rule.guard(event):
                self._perform(rule, event)
                return True
        return False

    def _checks_of(self, event: Event) -> tuple[Rule, ...]:
        if event.gate is not OPEN:
            return self._before[event.kind]
        return self._before_of_class[event.kind, event.request_class] if event.request_class else self._before_open[event.kind]

    def consequence(self, kind: EventKind, cause: Event) -> Row:
        """Apply an event that follows from another one, to the same group."""
        return self.apply(self.event(kind, cause.group_id, cause.now_ms))

    def event(self, kind: EventKind, group_id: str, now_ms: int) -> Event:
        """Return an event without a sender, for a group that may exist: of the group's dialect, or of the dialect that the kind belongs to."""
        group = self.groups.get(group_id)
        functions = self.tables.home.get(kind) if group is None else self.tables.functions[group.dialect]
        if functions is None:
            raise Unreachable(f"{kind.value} occurred, which {self.profile.name} does not know")
        return functions.event(kind=kind, now_ms=now_ms, settings=self.settings, group_id=group_id, group=group)

    def answer_to(self, kind: EventKind, error: ErrorCode) -> ErrorCode:
        """Return the answer to a request when the log, or the coordinator of its transaction, returns `error`."""
        return ErrorCode(self.tables.appends.get(kind, {}).get(error, error))

    def reply(self, token: Hashable, message: GroupResponse) -> None:
        self.out.append(Reply(token=token, message=message))

    def create(self, event: Event) -> None:
        """Add a new group of the request's dialect, and record its creation."""
        self.put(event, self.tables.home[event.kind].group(event.group_id, event.now_ms), "created")

    def put(self, event: Event, group: AnyGroup, reason: str) -> None:
        """Replace the event's group by another with the same id, and record its creation."""
        self.adopt(group)
        event.group = group
        rule = f"{event.kind.value}/none/{reason}"
        self.out.append(Transition(group_id=group.group_id, generation=group.generation, before=None, after=group.state, rule=rule, reason=reason))

    def adopt(self, group: AnyGroup) -> None:
        """Add a group, and let `choices` decide its open choices."""
        self.groups[group.group_id] = group
        group.adopted(self.choices)

    def partition(self, group_id: str) -> PartitionState:
        """Return the partition of `__consumer_offsets` that holds the group; the broker must lead it."""
        number = partition_of(group_id, self.settings.offsets_topic_num_partitions)
        state = self.partitions[number]
        if state is None:
            state = self.partitions[number] = PartitionState()
        return state

    def offsets(self, group_id: str) -> Offsets:
        return self.partition(group_id).offsets.setdefault(group_id, Offsets())

    def answer_by(self, rule: Rule, event: Event) -> GroupResponse | None:
        """Return the answer that a row gives to a request at once, None where it gives none."""
        if rule.says_error is not None:
            return rule.says_error(event, rule.row.answer, self.fields)
        return None if rule.says is None else rule.says(event)

    def _perform(self, rule: Rule, event: Event) -> None:
        if rule.is_recorded:
            token = None if event.arrival is None else event.arrival.token
            self.out.append(AppliedRow(token, event.group_id, rule.name, rule.row.requirement, event.member_id))
        for effect in rule.effects:
            effect(self, event)
        if rule.row.then is not None:
            self._record_transition(event, rule.row.then, rule.name, _reason(rule.row, event))
        if event.arrival is not None and (answer := self.answer_by(rule, event)) is not None:
            self.out.append(Reply(event.arrival.token, answer))
        for effect in rule.after:
            effect(self, event)

    def _record_transition(self, event: Event, after: StrEnum, rule: str, reason: str) -> None:
        """Move the group to another state and record the transition."""
        group = event.group
        assert group is not None, f"{event.kind.value} has no group to move"
        before = group.state
        group.move_to(after, event.now_ms)
        transition = Transition(group_id=group.group_id, generation=group.generation, before=before, after=after, rule=rule, reason=reason)
        self.out.append(transition)


def _reason(row: Row, event: Event) -> str:
    """Return the reason for the group's move, in the words of Kafka's log (JOIN-59)."""
    reason = row.because or row.name.replace("-", " ")
    member_id = event.answered_id or event.member_id
    text = f"; client reason: {event.request.reason}" if isinstance(event.request, JoinGroupRequest) and event.request.reason else ""
    return f"{reason} {member_id}".rstrip() + text
