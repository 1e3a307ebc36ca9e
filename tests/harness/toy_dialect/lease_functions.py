"""The toy dialect's group, and the functions behind its words."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Final

from tests.harness.toy_dialect.lease_dialect import (
    LEASE,
    LEASE_SESSION,
    LeaseAnswer,
    LeaseEffect,
    LeaseGuard,
    LeaseKind,
    LeaseRequest,
    LeaseResponse,
    LeaseState,
)

from groupproof.coordinator.machine.choices import Choices
from groupproof.coordinator.machine.classic_functions import CLASSIC_FUNCTIONS
from groupproof.coordinator.machine.dialect_functions import DialectFunctions, RequestFunctions
from groupproof.coordinator.machine.effect_context import EffectContext
from groupproof.coordinator.machine.event import Event
from groupproof.coordinator.machine.group import IllegalTransition
from groupproof.coordinator.machine.machine_outputs import GroupProgress, GroupView
from groupproof.coordinator.machine.timers import session_of
from groupproof.coordinator.machine.variant import Variant
from groupproof.protocol.rules.cells import EffectName, GuardName
from groupproof.protocol.rules.classic.classic_terms import Guard
from groupproof.protocol.rules.dialect import Dialect
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["LEASE_FUNCTIONS", "LENDS_TWICE", "SESSION_MS", "LeaseGroup", "StoredLease"]

SESSION_MS: Final = int(LEASE.settings[LEASE_SESSION])
_GIVES_BACK: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLease:
    """What outlives the coordinator of a lease."""

    group_id: str
    epoch: int
    holder: str | None


@dataclass(slots=True, kw_only=True)
class LeaseGroup:
    """A lease and who holds it; `generation` is its epoch."""

    dialect: ClassVar[Dialect] = LEASE
    group_id: str
    state: StrEnum = LeaseState.FREE
    generation: int = 0
    protocol_type: str | None = "lease"
    holder: str | None = None

    @classmethod
    def restored(cls, record: StoredLease) -> LeaseGroup:
        state = LeaseState.FREE if record.holder is None else LeaseState.HELD
        return cls(group_id=record.group_id, state=state, generation=record.epoch, holder=record.holder)

    def move_to(self, state: StrEnum, now_ms: int) -> None:
        if self.state not in self.dialect.valid_previous_states[state]:
            raise IllegalTransition(f"lease {self.group_id!r} cannot go from {self.state} to {state}")
        self.state = state

    def adopted(self, choices: Choices) -> None:
        """Nothing is left open."""

    def check(self) -> None:
        assert (self.holder is not None) == (self.state is LeaseState.HELD), f"{self.holder!r} holds a lease that is {self.state}"

    def member_ids(self) -> tuple[str, ...]:
        return () if self.holder is None else (self.holder,)

    def parked(self) -> list[Hashable]:
        return []

    def progress(self) -> GroupProgress:
        return GroupProgress(state=self.state, generation=self.generation, leader=self.holder, absent=(), pending=())

    def view(self) -> GroupView:
        return GroupView(
            group_id=self.group_id, state=self.state, generation=self.generation, protocol_type=self.protocol_type, protocol_name=None,
            leader=self.holder, members=(), pending=(),
        )  # fmt: skip


@dataclass(kw_only=True)
class LeaseEvent(Event):
    """An event of a group with a lease."""

    member_epoch: int = field(default=0, init=False)

    @property
    def lease(self) -> LeaseGroup:
        assert isinstance(self.group, LeaseGroup)
        return self.group


def _fill(event: LeaseEvent, message: LeaseRequest) -> None:
    event.member_id, event.member_epoch = message.member_id, message.member_epoch


def _group(group_id: str, since_ms: int) -> LeaseGroup:
    return LeaseGroup(group_id=group_id)


_GUARDS: Final[Mapping[GuardName, Callable[[Any], bool]]] = {
    LeaseGuard.ASKS: lambda event: event.member_epoch == 0,
    LeaseGuard.GIVES_BACK: lambda event: event.member_epoch == _GIVES_BACK,
    LeaseGuard.HELD_BY_ANOTHER: lambda event: event.lease.holder != event.member_id,
    LeaseGuard.OTHER_EPOCH: lambda event: event.member_epoch not in (0, event.lease.generation),
    **{word: CLASSIC_FUNCTIONS.guards[word] for word in (Guard.ALWAYS, Guard.NOT_ACTIVE, Guard.LOADING, Guard.NOT_LED_HERE)},
}


def _create(engine: EffectContext, event: LeaseEvent) -> None:
    engine.create(event)


def _renew(engine: EffectContext, event: LeaseEvent) -> None:
    engine.timers.arm(session_of(event.group_id, event.member_id), event.now_ms + int(event.settings.of_dialect(LEASE_SESSION)))


def _resume(engine: EffectContext, event: LeaseEvent) -> None:
    due_ms = event.now_ms + int(event.settings.of_dialect(LEASE_SESSION))
    engine.timers.arm(session_of(event.group_id, event.lease.holder or ""), due_ms)


def _store(engine: EffectContext, lease: LeaseGroup) -> None:
    record = StoredLease(group_id=lease.group_id, epoch=lease.generation, holder=lease.holder)
    engine.partition(lease.group_id).groups[lease.group_id] = record


def _grant(engine: EffectContext, event: LeaseEvent) -> None:
    event.lease.holder = event.member_id
    event.lease.generation += 1
    _store(engine, event.lease)
    _renew(engine, event)


def _release(engine: EffectContext, event: LeaseEvent) -> None:
    _end(engine, event)
    _store(engine, event.lease)


def _end(engine: EffectContext, event: LeaseEvent) -> None:
    engine.timers.cancel(session_of(event.group_id, event.lease.holder or ""))
    event.lease.holder = None


def _forget(engine: EffectContext, event: LeaseEvent) -> None:
    _end(engine, event)
    del engine.groups[event.group_id]


_EFFECTS: Final[Mapping[EffectName, Callable[[Any, Any], None]]] = {
    LeaseEffect.CREATE: _create, LeaseEffect.GRANT: _grant, LeaseEffect.RENEW: _renew, LeaseEffect.RELEASE: _release, LeaseEffect.FORGET: _forget, LeaseEffect.RESUME: _resume,
}  # fmt: skip


def _leased(event: LeaseEvent) -> LeaseResponse:
    epoch = _GIVES_BACK if event.member_epoch == _GIVES_BACK else event.lease.generation
    return LeaseResponse(member_id=event.member_id, member_epoch=epoch, heartbeat_interval_ms=SESSION_MS // 3)


def _error_answer(event: Event, error: ErrorCode, fields: Mapping[str, int]) -> LeaseResponse:
    return LeaseResponse(error_code=error)


def _grant_again(engine: EffectContext, event: Event) -> None:
    assert isinstance(event, LeaseEvent)
    _end(engine, event)
    event.lease.holder, event.lease.generation = event.member_id, max(1, event.lease.generation)
    _renew(engine, event)


LENDS_TWICE: Final = Variant(
    name="lends-twice", says="Whoever asks is given the lease that there is.",
    guards={LeaseGuard.HELD_BY_ANOTHER: lambda event: False, LeaseGuard.OTHER_EPOCH: lambda event: False},
    effects={LeaseEffect.GRANT: _grant_again, LeaseEffect.RENEW: _grant_again},
)  # fmt: skip
"""A planted bug of the toy's coordinator."""

LEASE_FUNCTIONS: Final = DialectFunctions(
    dialect=LEASE,
    guards=_GUARDS,
    answers={LeaseAnswer.LEASED: _leased},
    effects=_EFFECTS,
    group=_group,
    event=LeaseEvent,
    error_answer=_error_answer,
    requests={LeaseRequest: RequestFunctions(kind=LeaseKind.LEASE, event=LeaseEvent, fill=_fill, asks_offsets=False)},
    gate=frozenset({Guard.NOT_ACTIVE, Guard.LOADING, Guard.NOT_LED_HERE}),
    planted=(LENDS_TWICE,),
    restored={StoredLease: LeaseGroup.restored},
)
