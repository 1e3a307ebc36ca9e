"""The machine that steps groups by the table: it finds the row of an input, does what the row says, and puts out what was done.

All decisions are rows, all conditions guards, all changes effects; this file only performs them, in the order that `Row` promises.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, partial

from groupproof.coordinator.machine.answers import FORMS, error_answer
from groupproof.coordinator.machine.choices import Choices
from groupproof.coordinator.machine.effect_context import EffectContext
from groupproof.coordinator.machine.effects import EFFECTS
from groupproof.coordinator.machine.event import OPEN, Input
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.guards import GUARDS
from groupproof.coordinator.machine.offsets import Offsets
from groupproof.coordinator.machine.outputs import Applied, Output, Reply, Transition
from groupproof.coordinator.machine.settings import Settings
from groupproof.coordinator.machine.storage import PartitionState, partition_of
from groupproof.coordinator.machine.timers import session_of
from groupproof.coordinator.machine.variant import REFERENCE, Variant, bent
from groupproof.protocol.rules import NO_GROUP, REQUESTS, Guard, On, Profile, Row, State, state_name
from groupproof.protocol.rules.cells import EventKind, Place
from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.messages import GroupResponse, JoinGroupRequest

__all__ = ["Engine", "Unreachable"]

_OF_GATE = frozenset({Guard.NOT_ACTIVE, Guard.LOADING, Guard.LOADING_OLD, Guard.NOT_LED_HERE, Guard.NOT_LOADED_HERE})
"""Guards that ask the gate alone: none of them holds where it is open."""


class Unreachable(AssertionError):
    """An input came up in a state where the table swears it cannot: a fault of ours, never of a peer."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """A row bound to its functions."""

    row: Row
    name: str
    guard: Callable[[Input], bool]
    effects: tuple[Callable[[EffectContext, Input], None], ...]
    after: tuple[Callable[[EffectContext, Input], None], ...]
    says: Callable[[Input], GroupResponse] | None  # to a request, at once
    is_told: bool  # a check that changes nothing is not worth an `Applied`


def _bind(on: EventKind, where: str, row: Row, variant: Variant, fields: Mapping[str, int]) -> _Rule:
    effects = tuple(variant.effects.get(effect, EFFECTS[effect]) for effect in row.effects)
    after = tuple(variant.effects.get(effect, EFFECTS[effect]) for effect in row.after)
    guard = variant.guards.get(row.guard, GUARDS[row.guard])
    says = _answer_of(row, variant, fields) if on in REQUESTS else None
    is_told = on not in (On.JOIN_CHECK, On.ABSENCE_CHECK) or bool(effects or after or row.then)
    return _Rule(row, f"{on.value}/{where}/{row.name}", guard, effects, after, says, is_told)


def _answer_of(row: Row, variant: Variant, fields: Mapping[str, int]) -> Callable[[Input], GroupResponse] | None:
    answer = row.answer
    if isinstance(answer, ErrorCode):
        return lambda on: error_answer(on, answer, fields)
    return None if answer is None else variant.forms.get(answer, FORMS[answer])


@dataclass(frozen=True, slots=True)
class _Table:
    """A release's table, bent by a variant and bound to the functions."""

    profile: Profile
    cells: Mapping[Place, tuple[_Rule, ...]]
    before: Mapping[EventKind, tuple[_Rule, ...]]
    before_open: Mapping[EventKind, tuple[_Rule, ...]]  # what is left of `before` where the gate is open


@lru_cache(maxsize=64)
def _table(profile: Profile, variant: Variant) -> _Table:
    """Bind a table once: the oracle makes a thousand machines of one release."""
    profile = bent(profile, variant)
    cells = {
        (on, state): tuple(_bind(on, state_name(state), row, variant, profile.table.fields) for row in cell)
        for on, states in profile.table.cells.items() for state, cell in states.items()
    }  # fmt: skip
    before = {on: tuple(_bind(on, "before", row, variant, profile.table.fields) for row in cell) for on, cell in profile.table.before_group.items()}
    ajar = _OF_GATE - variant.guards.keys()
    before_open = {on: tuple(rule for rule in rules if rule.row.guard not in ajar) for on, rules in before.items()}
    return _Table(profile, cells, before, before_open)


class Engine:
    """The groups of one broker, their timers and their partitions. `out` collects what the input under way puts out."""

    def __init__(self, profile: Profile, settings: Settings, choices: Choices, variant: Variant = REFERENCE) -> None:
        table = _table(profile, variant)
        self.profile, self._cells, self._before, self._before_open = table.profile, table.cells, table.before, table.before_open
        self.settings = settings
        self.groups: dict[str, Group] = {}
        self.timers = variant.timers()
        self.partitions: dict[int, PartitionState] = {}
        self.append_error = ErrorCode.NONE  # what the log answers to appends of records, for simulations of failing disks
        self.out: list[Output] = []
        self.choices = choices

    def apply(self, on: Input) -> Row:
        """Apply the row of an input whose group has been looked up; return it. Raise `Unreachable` where the table has no cell."""
        state: State = NO_GROUP if on.group is None else on.group.state
        cell = self._cells.get((on.on, state))
        if cell is None:
            raise Unreachable(f"{on.on.value} came up in {state_name(state)} of group {on.group_id!r}")
        for rule in cell:
            if rule.guard(on):
                self._perform(rule, on)
                return rule.row
        raise Unreachable(f"no row of {on.on.value} in {state_name(state)} is for what came to group {on.group_id!r}")

    def refuse(self, on: Input) -> bool:
        """Check a request before its group is looked at; answer it and return True when a check holds."""
        for rule in self._before_open[on.on] if on.gate is OPEN else self._before[on.on]:
            if rule.guard(on):
                self._perform(rule, on)
                return True
        return False

    def consequence(self, on: EventKind, cause: Input) -> Row:
        """Apply an input that follows from another one, to the same group."""
        return self.apply(Input(on=on, now_ms=cause.now_ms, settings=self.settings, group_id=cause.group_id, group=cause.group))

    def answer_to(self, on: EventKind, error: ErrorCode) -> ErrorCode:
        """Return what a request is answered when the log, or the coordinator of its transaction, says `error`."""
        return ErrorCode(self.profile.table.appends.get(on, {}).get(error, error))

    def reply(self, token: Hashable, message: GroupResponse) -> None:
        self.out.append(Reply(token=token, message=message))

    def created(self, group: Group, on: Input) -> None:
        """Take a new group in and tell of it."""
        self.adopt(group)
        on.group = group
        rule = f"{on.on.value}/none/created"
        self.out.append(Transition(group_id=group.group_id, generation=0, before=None, after=GroupState.EMPTY, rule=rule, reason="created"))

    def adopt(self, group: Group) -> None:
        """Take a group in, and let its open choices be made here."""
        self.groups[group.group_id] = group
        group.members.elect = partial(self.choices.leader, group.group_id)

    def partition(self, group_id: str) -> PartitionState:
        """Return the partition of `__consumer_offsets` that holds the group; only groups led here are asked for."""
        return self.partitions[partition_of(group_id, self.settings.offsets_topic_num_partitions)]

    def offsets(self, group_id: str) -> Offsets:
        return self.partition(group_id).offsets.setdefault(group_id, Offsets())

    def arm_session(self, group: Group, member_id: str, due_ms: int) -> None:
        self.timers.arm(session_of(group.group_id, member_id), due_ms)

    def cancel_session(self, group: Group, member_id: str) -> None:
        self.timers.cancel(session_of(group.group_id, member_id))

    def _perform(self, rule: _Rule, on: Input) -> None:
        if rule.is_told:
            token = None if on.arrival is None else on.arrival.token
            self.out.append(Applied(token=token, group_id=on.group_id, rule=rule.name, requirement=rule.row.requirement, member_id=on.member_id))
        for effect in rule.effects:
            effect(self, on)
        if rule.row.then is not None:
            self._told(on, rule.row.then, rule.name, _reason(rule.row, on))
        if rule.says is not None and on.arrival is not None:
            self.out.append(Reply(token=on.arrival.token, message=rule.says(on)))
        for effect in rule.after:
            effect(self, on)

    def _told(self, on: Input, after: StrEnum, rule: str, reason: str) -> None:
        """Move the group and tell of it."""
        group = on.here
        before = group.state
        group.move_to(after, on.now_ms)
        told = Transition(group_id=group.group_id, generation=group.generation, before=before, after=after, rule=rule, reason=reason)
        self.out.append(told)


def _reason(row: Row, on: Input) -> str:
    """Return why the group moves, in the words of Kafka's log (JOIN-59)."""
    reason = row.because or row.name.replace("-", " ")
    member_id = on.answered_id or on.member_id
    told = f"; client reason: {on.request.reason}" if isinstance(on.request, JoinGroupRequest) and on.request.reason else ""
    return f"{reason} {member_id}".rstrip() + told
