"""Random faults on a frame between a client and its coordinator, as brokers and networks really cause them. Pure.

The errors of each request are those of the profile's own table, what its log may refuse included, and the one that comes of access control. Delays lie
around the times at which clients act: the heartbeat interval, half the session, the session's end.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Final

from groupproof.harness.running.fuzzing.choice_source import Drawer, weighed
from groupproof.protocol.faults import Action, Answer, Cut, Duplicate, Fault, Hold, Move, Selector, Silence
from groupproof.protocol.rules import ClassicEvent, Profile, profile
from groupproof.protocol.rules.classic.member_reactions import MEMBER_APIS, Effect, Phase, reaction
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState

__all__ = ["Kind", "Setting", "codes_of", "ends", "mishap"]


class Kind(Enum):
    """The kinds of faults; a plan has some of them, and does without the others."""

    ANSWER = "answer"
    HOLD = "hold"
    CUT = "cut"
    SILENCE = "silence"
    DUPLICATE = "duplicate"
    MOVE = "move"


_KINDS: Final = {Kind.ANSWER: 5, Kind.HOLD: 4, Kind.CUT: 2, Kind.SILENCE: 1, Kind.DUPLICATE: 1, Kind.MOVE: 1}

_EVENT_KINDS: Final = {
    Api.JOIN_GROUP: (ClassicEvent.JOIN_GROUP,),
    Api.SYNC_GROUP: (ClassicEvent.SYNC_GROUP,),
    Api.HEARTBEAT: (ClassicEvent.HEARTBEAT,),
    Api.LEAVE_GROUP: (ClassicEvent.LEAVE_GROUP, ClassicEvent.LEAVE_ENTRY),
    Api.OFFSET_COMMIT: (ClassicEvent.OFFSET_COMMIT,),
    Api.OFFSET_FETCH: (ClassicEvent.OFFSET_FETCH,),
}
# What the requests of these plans cannot bring about: their group id and their session are in order; ids are handed out by the coordinator alone.
_UNFOUNDED: Final = {0, ErrorCode.INVALID_GROUP_ID, ErrorCode.INVALID_SESSION_TIMEOUT, ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.GROUP_ID_NOT_FOUND}
# A coordinator that acted and says one of these has lost its place, or the log that it wrote to, meanwhile.
_AFTERWARDS: Final = {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}
_STATES: Final = (GroupState.STABLE.value, GroupState.PREPARING_REBALANCE.value, GroupState.COMPLETING_REBALANCE.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What the random faults of one plan depend on: its profile, the kinds of faults, and the members' session timeouts.

    `is_static`: the members have instance ids and can be fenced. `is_final`: some errors end a client."""

    profile: str
    kinds: Collection[Kind]
    session_ms: int
    heartbeat_ms: int
    is_static: bool = False
    is_final: bool = False


def codes_of(api: Api, release: Profile) -> list[int]:
    """Return the errors that a broker of the release may answer `api` with, whatever the group's state; each once, in order."""
    codes: set[int] = {ErrorCode.COORDINATOR_NOT_AVAILABLE} if api is Api.FIND_COORDINATOR else set()
    table = release.table
    for kind in _EVENT_KINDS.get(api, ()):
        rows = [*table.before_group.get(kind, ()), *(row for rows in table.cells[kind].values() for row in rows)]
        codes |= {row.answer for row in rows if isinstance(row.answer, int)} | set(table.appends.get(kind, {}).values())
    return sorted(int(code) for code in (codes | {ErrorCode.GROUP_AUTHORIZATION_FAILED}) - _UNFOUNDED)


def mishap(drawer: Drawer, name: str, api: Api, client: str, setting: Setting, *, kind: Kind | None = None, code: int | None = None) -> Fault:
    """Return a fault that strikes `api` of one client: of a kind of the plan's, or the next such request by `kind`, which answers `code` where it answers."""
    kinds = {kind: weight for kind, weight in _KINDS.items() if kind in setting.kinds}
    action, direction = _action(drawer, kind or weighed(drawer, kinds), api, setting, code)
    selector = Selector(
        api=api.title,
        direction=direction,
        client=client,
        nth=1 if kind is not None else weighed(drawer, {1: 5, 2: 1}),
        count=_count(drawer, action),
        state=drawer.one_of(_STATES) if kind is None and api in (Api.HEARTBEAT, Api.OFFSET_COMMIT) and drawer.chance(5) else None,
    )
    return Fault(name=name, selector=selector, action=action)


def _count(drawer: Drawer, action: Action) -> int | None:
    """Return how many frames are struck; None: an answer that is given until all is healed."""
    if isinstance(action, Answer):
        return weighed(drawer, {1: 5, 2: 1, 3: 1, None: 1})
    return weighed(drawer, {1: 5, 2: 1, 3: 1}) if isinstance(action, Hold | Cut) else 1


def _action(drawer: Drawer, kind: Kind, api: Api, setting: Setting, code: int | None) -> tuple[Action, str]:
    """Return what is done, and to the request or to the answer."""
    if kind is Kind.ANSWER:
        code = drawer.one_of(_codes(api, setting)) if code is None else code
        return Answer(error_code=code), "response" if code in _AFTERWARDS and drawer.chance(3) else "request"
    if kind is Kind.HOLD:
        return Hold(ms=drawer.one_of(_delays_ms(setting))), "request" if drawer.chance(4) else "response"
    if kind is Kind.CUT:
        return Cut(reset=drawer.chance(2)), "request" if drawer.chance(2) else "response"
    if kind is Kind.SILENCE:
        return Silence(), "request" if drawer.chance(2) else "response"
    if kind is Kind.DUPLICATE:
        return Duplicate(), "request"
    return Move(parked="drop" if drawer.chance(2) else "answer", state="lost" if drawer.chance(3) else "kept"), "request"


def _codes(api: Api, setting: Setting) -> list[int]:
    codes = codes_of(api, profile(setting.profile))
    possible = [code for code in codes if setting.is_static or code != ErrorCode.FENCED_INSTANCE_ID]
    return [code for code in possible if setting.is_final or not ends(api, code)] or possible


def ends(api: Api, code: int) -> bool:
    """Tell whether a client may end at such an answer."""
    row = reaction(api, code, Phase.CURRENT) if api in MEMBER_APIS else ()
    return Effect.RAISE in row or code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def _delays_ms(setting: Setting) -> tuple[int, ...]:
    """Return delays around what clients wait for; the short ones twice, for most of what goes wrong needs no longer ones."""
    beat, session = setting.heartbeat_ms, setting.session_ms
    short = (beat // 2, beat + 100, 3 * beat, session // 2)
    return (*short, *short, session - 300, session + 400)
