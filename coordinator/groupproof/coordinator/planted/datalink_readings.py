"""DataLink's Manager by its design document, where its code differs (section K of the catalogue): each reading is a variant by name.

The profiles `datalink` and `datalink-dead` follow the code, except for Dead, which has a profile each way (DISC-19). A reading follows the
text of the design in one point; `datalink-as-written` follows it in all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from groupproof.coordinator.machine.choices import RandomChoices
from groupproof.coordinator.machine.effects import EFFECTS
from groupproof.coordinator.machine.event import Event
from groupproof.coordinator.machine.timers import TimerKey
from groupproof.coordinator.machine.variant import Variant
from groupproof.protocol.rules import ClassicEvent, Effect, Guard, Row
from groupproof.protocol.rules.cells import EventKind
from groupproof.protocol.rules.datalink.datalink_dialect import ManagerKind
from groupproof.protocol.rules.deltas import Change, gone
from groupproof.protocol.vocabulary import ErrorCode, GroupState

if TYPE_CHECKING:
    from groupproof.coordinator.machine.effect_context import EffectContext

__all__ = ["READINGS"]

_PREPARING: Final = GroupState.PREPARING_REBALANCE
_COMPLETING: Final = GroupState.COMPLETING_REBALANCE
_STABLE: Final = GroupState.STABLE

Do = Callable[["EffectContext", Event], None]


class _AnyLeads(RandomChoices):
    """Chooses leaders at random."""

    def leader(self, group_id: str, candidates: Sequence[str]) -> str:
        return candidates[self._random.getrandbits(32) % len(candidates)]


def _then_any_leads(next_generation: Do) -> Do:
    def effect(engine: EffectContext, event: Event) -> None:
        next_generation(engine, event)
        members = event.existing_group.members
        members.leader = engine.choices.leader(event.group_id, tuple(members.by_id))

    return effect


def _next_generation_without_vote(engine: EffectContext, event: Event) -> None:
    """Begin the next generation without a vote: the protocol is the first one that the leader names, even if others do not support it."""
    group = event.existing_group
    group.members.elect_joined()
    engine.timers.cancel(TimerKey(ClassicEvent.JOIN_DEADLINE, event.group_id))
    group.generation += 1
    group.protocol_name = group.members.by_id[group.members.leader or ""].protocols[0].name
    group.newcomer_came = False


def _names_nothing(event: Event) -> bool:
    return not event.join.protocol_type or not event.join.protocols


def _waits(kind: EventKind, states: tuple[GroupState, ...]) -> Change:
    row = Row("waits-for-the-session", Guard.ALWAYS, None, "MGR-21", note="only a JoinGroup or a failed heartbeat begins a rebalance (DISC-17)")
    return Change(kind=kind, states=states, rows=(row,))


_STAYS: Final = Row("told-and-kept", Guard.ALWAYS, ErrorCode.NONE, "MGR-21")
_RESENDS: Final = gone(ClassicEvent.JOIN_GROUP, (_COMPLETING,), "joins-again-unchanged")
_LEAVES: Final = (
    Change(kind=ClassicEvent.LEAVE_ENTRY, states=(_PREPARING, _COMPLETING, _STABLE), name="member-leaves", rows=(_STAYS,)),
    *(_waits(ClassicEvent.LEFT, (state,)) for state in (_PREPARING, _COMPLETING, _STABLE)),
    *(_waits(ManagerKind.FORCED, (state,)) for state in (_COMPLETING, _STABLE)),
)
_NEXT: Final = EFFECTS[Effect.NEXT_GENERATION]
_ANY_LEADS: Final[Mapping[str, Any]] = {"choices": _AnyLeads, "effects": {Effect.NEXT_GENERATION: _then_any_leads(_NEXT)}}
_NO_VOTE: Final[Mapping[str, Any]] = {
    "guards": {Guard.PROTOCOLS_UNFIT: _names_nothing}, "effects": {Effect.NEXT_GENERATION: _next_generation_without_vote},
}  # fmt: skip
_AS_WRITTEN: Final[Mapping[str, Any]] = {
    **_ANY_LEADS, **_NO_VOTE, "effects": {Effect.NEXT_GENERATION: _then_any_leads(_next_generation_without_vote)}, "rows": (*_RESENDS, *_LEAVES),
}  # fmt: skip

READINGS: Final[tuple[Variant, ...]] = (
    Variant(name="datalink-any-leader", says="Each generation's leader is picked by chance, not the first that joined (DISC-15).", **_ANY_LEADS),
    Variant(
        name="datalink-resend-rebalances",
        says="Any JoinGroup in AwaitingSync begins another rebalance, an unchanged resend too (DISC-16).",
        rows=_RESENDS,
    ),
    Variant(
        name="datalink-leave-waits", says="A leave, or an operator's wish, begins nothing: the leaver's session has to end (DISC-17).", rows=_LEAVES
    ),
    Variant(name="datalink-no-vote", says="Protocols are neither compared nor voted on: the leader's first is the group's (DISC-18).", **_NO_VOTE),
    Variant(name="datalink-as-written", says="All of these: the design's text in every point.", **_AS_WRITTEN),
)
