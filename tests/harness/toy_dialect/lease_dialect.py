"""The toy dialect `lease`: a group lends one lease to one member at a time. Three states; its request is the heartbeat that share groups have (KIP-932)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Final

from groupproof.protocol.rules.api_versions import advertised
from groupproof.protocol.rules.cells import NO_GROUP, AnswerName, Cell, Cells, EffectName, EventKind, GuardName, Place, Row
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent, Guard
from groupproof.protocol.rules.defaults import defaults
from groupproof.protocol.rules.deltas import Release
from groupproof.protocol.rules.dialect import Dialect, Relative
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState
from groupproof.protocol.wire.observation_columns import FrameColumns

__all__ = [
    "LEASE",
    "LEASE_BROKER",
    "LEASE_SESSION",
    "REQUIREMENT",
    "LeaseAnswer",
    "LeaseEffect",
    "LeaseGuard",
    "LeaseKind",
    "LeaseRequest",
    "LeaseResponse",
    "LeaseState",
]

LEASE_SESSION: Final = "lease.session.ms"
"""The one broker setting that the toy reads."""

REQUIREMENT: Final = "HB-03"
"""What the toy stands in for cites."""

LEASE_BROKER: Final = "lease-broker"
"""The profile of a coordinator that speaks it, and the classic dialect beside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRequest:
    """With epoch 0 the member asks for the lease, with -1 it gives the lease back, with its epoch it keeps it."""

    api: ClassVar[Api] = Api.SHARE_GROUP_HEARTBEAT
    group_id: str
    member_id: str = ""
    member_epoch: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseResponse:
    api: ClassVar[Api] = Api.SHARE_GROUP_HEARTBEAT
    error_code: int = 0
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0


class LeaseState(StrEnum):
    """Who holds the lease."""

    FREE = "Free"
    HELD = "Held"
    DEAD = "Dead"


class LeaseKind(EventKind):
    """What can come to a group, beside what comes to every group: the words of the classic dialect serve for those."""

    LEASE = Api.SHARE_GROUP_HEARTBEAT.title


class LeaseGuard(GuardName):
    ASKS = "the epoch is 0"
    GIVES_BACK = "the epoch is -1"
    HELD_BY_ANOTHER = "another member holds the lease"
    OTHER_EPOCH = "the epoch is neither 0 nor the lease's"


class LeaseAnswer(AnswerName):
    LEASED = "0 with the lease's epoch"


class LeaseEffect(EffectName):
    CREATE = "create the group: Free, epoch 0"
    GRANT = "lend the lease to the member, with the next epoch; arm its session"
    RENEW = "arm the member's session again"
    RELEASE = "take the lease back; end the session"
    RESUME = "arm the session of the member that held the lease when it was stored"
    FORGET = "forget the group"


_FREE, _HELD, _DEAD = LeaseState
_NOT_ACTIVE = Row("not-active", Guard.NOT_ACTIVE, ErrorCode.COORDINATOR_NOT_AVAILABLE, "FIND-09")
_LOADING = Row("loading", Guard.LOADING, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "FIND-10")
_LED_ELSEWHERE = Row("not-coordinator", Guard.NOT_LED_HERE, ErrorCode.NOT_COORDINATOR, "FIND-08")
_STRANGER = Row("stranger", Guard.ALWAYS, ErrorCode.UNKNOWN_MEMBER_ID, "HB-03")


def _granted(*first: EffectName) -> Row:
    return Row("granted", LeaseGuard.ASKS, LeaseAnswer.LEASED, "HB-03", effects=(*first, LeaseEffect.GRANT), then=_HELD)


_LEASE: Final[Mapping[StrEnum | None, Cell]] = {
    NO_GROUP: (_granted(LeaseEffect.CREATE), _STRANGER),
    _FREE: (_granted(), _STRANGER),
    _HELD: (
        Row("held-by-another", LeaseGuard.HELD_BY_ANOTHER, ErrorCode.FENCED_MEMBER_EPOCH, "HB-03"),
        Row("given-back", LeaseGuard.GIVES_BACK, LeaseAnswer.LEASED, "HB-03", effects=(LeaseEffect.RELEASE,), then=_FREE),
        Row("fenced", LeaseGuard.OTHER_EPOCH, ErrorCode.FENCED_MEMBER_EPOCH, "HB-03"),
        Row("renewed", Guard.ALWAYS, LeaseAnswer.LEASED, "HB-03", effects=(LeaseEffect.RENEW,)),
    ),
    _DEAD: (Row("dead", Guard.ALWAYS, ErrorCode.COORDINATOR_NOT_AVAILABLE, "TR-142"),),
}


def _everywhere(name: str, *, answer: ErrorCode | None = None) -> Mapping[StrEnum | None, Cell]:
    return {state: (Row(name, Guard.ALWAYS, answer, "HB-03"),) for state in LeaseState}


_TO_ONE_GROUP: Final = tuple(event for event in CLASSIC.requests if event is not ClassicEvent.LIST_GROUPS)
_CELLS: Final[Cells] = {
    LeaseKind.LEASE: _LEASE,
    ClassicEvent.SESSION_END: {_HELD: (Row("session-ends", Guard.ALWAYS, None, "HB-03", effects=(LeaseEffect.RELEASE,), then=_FREE),)},
    ClassicEvent.LOADED: {
        _FREE: (Row("loaded-free", Guard.ALWAYS, None, "EMIG-03"),),
        _HELD: (Row("loaded-held", Guard.ALWAYS, None, "EMIG-03", effects=(LeaseEffect.RESUME,)),),
    },
    ClassicEvent.RETENTION: _everywhere("nothing-stored"),
    ClassicEvent.CLEANUP: _everywhere("stays"),
    ClassicEvent.UNLOADED: {
        state: (Row("unloaded", Guard.ALWAYS, None, "EMIG-01", then=_DEAD, after=(LeaseEffect.FORGET,)),) for state in LeaseState
    },
    **{event: _everywhere("no-classic-group", answer=ErrorCode.INCONSISTENT_GROUP_PROTOCOL) for event in _TO_ONE_GROUP},
}

_UNREACHABLE: Final[Mapping[Place, str]] = {
    **{
        (event, NO_GROUP): "timers need a group"
        for event in (ClassicEvent.SESSION_END, ClassicEvent.LOADED, ClassicEvent.RETENTION, ClassicEvent.CLEANUP, ClassicEvent.UNLOADED)
    },
    (ClassicEvent.LOADED, _DEAD): "a group that is gone is not stored",
    **{(ClassicEvent.SESSION_END, state): "nobody holds the lease" for state in (_FREE, _DEAD)},
    **{(ClassicEvent.LIST_GROUPS, state): "ListGroups asks the broker, not a group" for state in LeaseState},
}

_RELEASE: Final[Release] = (4, 1)


def _request_columns(body: Mapping[str, Any], named: Callable[[str], str]) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"group": body.get("group_id"), "member": body.get("member_id"), "member_epoch": body.get("member_epoch")}, {}


def _response_columns(body: Mapping[str, Any], request: Mapping[str, Any], named: Callable[[str], str]) -> dict[str, Any]:
    """Tell the epoch, which an error does not give."""
    return {"member": body.get("member_id") or request.get("member_id"), "member_epoch": None if body.get("error_code") else body.get("member_epoch")}


_COLUMNS: Final = FrameColumns(request=_request_columns, response=_response_columns)

LEASE: Final = Dialect(
    name="lease",
    group_says="a group with a lease",
    states=LeaseState,
    events=(LeaseKind.LEASE, ClassicEvent.SESSION_END, ClassicEvent.LOADED, ClassicEvent.RETENTION, ClassicEvent.CLEANUP, ClassicEvent.UNLOADED),
    requests=(LeaseKind.LEASE,),
    timers=frozenset({ClassicEvent.SESSION_END}),
    guards=(*LeaseGuard, Guard.ALWAYS, Guard.NOT_ACTIVE, Guard.LOADING, Guard.NOT_LED_HERE),
    otherwise=Guard.ALWAYS,
    answers=tuple(LeaseAnswer),
    effects=tuple(LeaseEffect),
    cells=_CELLS,
    before_group={LeaseKind.LEASE: (_NOT_ACTIVE, _LOADING, _LED_ELSEWHERE)},
    unreachable=_UNREACHABLE,
    valid_previous_states={_FREE: frozenset({_HELD}), _HELD: frozenset({_FREE}), _DEAD: frozenset(LeaseState)},
    state_says={NO_GROUP: "No lease of this name.", _FREE: "Nobody holds the lease.", _HELD: "A member holds the lease.", _DEAD: "The lease is gone."},
    state_prefix="lease.",
    settings={LEASE_SESSION: 2_000},
    messages=((LeaseRequest, LeaseResponse),),
    columns={Api.SHARE_GROUP_HEARTBEAT: _COLUMNS},
    relatives=(
        Relative(
            name=LEASE_BROKER, release=_RELEASE, says="A toy.", api_versions={**advertised(_RELEASE), Api.SHARE_GROUP_HEARTBEAT: (1, 1)}, defaults=defaults(_RELEASE), beside=(CLASSIC.name,)
        ),
    ),
    elsewhere={
        "classic": {
            LeaseKind.LEASE: {
                state: (Row("no-lease-group", Guard.ALWAYS, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "HB-03"),) for state in GroupState
            }
        }
    },
)  # fmt: skip
