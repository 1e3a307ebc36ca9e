"""Random faults on frames between a client and its coordinator, of the kinds that brokers and networks really cause. Pure.

The errors of each request come from the profile's table, refusals of its log included, plus the error of access control. Delays are
near the times at which clients act: the heartbeat interval, half the session, the session's end.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Final

from groupproof.harness.running.fuzzing.choice_source import ChoiceSource, weighted_choice
from groupproof.protocol.faults import Action, Answer, Cut, Duplicate, Fault, Hold, Move, Selector, Silence
from groupproof.protocol.rules import ClassicEvent, Profile, profile
from groupproof.protocol.rules.classic.member_reactions import MEMBER_APIS, Effect, Phase, reaction
from groupproof.protocol.vocabulary import COORDINATOR_UNAVAILABLE, Api, ErrorCode, GroupState

__all__ = ["Kind", "Setting", "codes_of", "may_end_client", "random_fault"]


class Kind(Enum):
    """The kinds of faults; a plan has some of them."""

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
# Errors that the requests of these plans cannot cause: their group id and session are valid, and only the coordinator hands out ids.
_IMPOSSIBLE_CODES: Final = {
    0,
    ErrorCode.INVALID_GROUP_ID,
    ErrorCode.INVALID_SESSION_TIMEOUT,
    ErrorCode.MEMBER_ID_REQUIRED,
    ErrorCode.GROUP_ID_NOT_FOUND,
}
_STATES: Final = (GroupState.STABLE.value, GroupState.PREPARING_REBALANCE.value, GroupState.COMPLETING_REBALANCE.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The parameters of one plan's random faults: its profile, the kinds of faults, and the members' timeouts.

    `is_static`: the members have instance ids and can be fenced. `is_final`: errors that end a client are allowed."""

    profile: str
    kinds: Collection[Kind]
    session_ms: int
    heartbeat_ms: int
    is_static: bool = False
    is_final: bool = False


def codes_of(api: Api, release: Profile) -> list[int]:
    """Return the errors that a broker of the release may answer `api` with, in any state of the group; each once, in order."""
    codes: set[int] = {ErrorCode.COORDINATOR_NOT_AVAILABLE} if api is Api.FIND_COORDINATOR else set()
    table = release.table
    for kind in _EVENT_KINDS.get(api, ()):
        rows = [*table.before_group.get(kind, ()), *(row for rows in table.cells[kind].values() for row in rows)]
        codes |= {row.answer for row in rows if isinstance(row.answer, int)} | set(table.appends.get(kind, {}).values())
    return sorted(int(code) for code in (codes | {ErrorCode.GROUP_AUTHORIZATION_FAILED}) - _IMPOSSIBLE_CODES)


def random_fault(
    choices: ChoiceSource, name: str, api: Api, client: str, setting: Setting, *, kind: Kind | None = None, code: int | None = None
) -> Fault:
    """Return a fault on `api` of one client, of one of the plan's kinds. With `kind` it acts on the next such request, with `code` as its error."""
    kinds = {kind: weight for kind, weight in _KINDS.items() if kind in setting.kinds}
    action, direction = _action(choices, kind or weighted_choice(choices, kinds), api, setting, code)
    selector = Selector(
        api=api.title,
        direction=direction,
        client=client,
        nth=1 if kind is not None else weighted_choice(choices, {1: 5, 2: 1}),
        count=_count(choices, action),
        state=choices.one_of(_STATES) if kind is None and api in (Api.HEARTBEAT, Api.OFFSET_COMMIT) and choices.chance(5) else None,
    )
    return Fault(name=name, selector=selector, action=action)


def _count(choices: ChoiceSource, action: Action) -> int | None:
    """Return the number of frames that the fault acts on; None: an answer that repeats until all is healed."""
    if isinstance(action, Answer):
        return weighted_choice(choices, {1: 5, 2: 1, 3: 1, None: 1})
    return weighted_choice(choices, {1: 5, 2: 1, 3: 1}) if isinstance(action, Hold | Cut) else 1


def _action(choices: ChoiceSource, kind: Kind, api: Api, setting: Setting, code: int | None) -> tuple[Action, str]:
    """Return the action, and whether it acts on the request or the response."""
    if kind is Kind.ANSWER:
        code = choices.one_of(_codes(api, setting)) if code is None else code
        return Answer(error_code=code), "response" if code in COORDINATOR_UNAVAILABLE and choices.chance(3) else "request"
    if kind is Kind.HOLD:
        return Hold(ms=choices.one_of(_delays_ms(setting))), "request" if choices.chance(4) else "response"
    if kind is Kind.CUT:
        return Cut(reset=choices.chance(2)), "request" if choices.chance(2) else "response"
    if kind is Kind.SILENCE:
        return Silence(), "request" if choices.chance(2) else "response"
    if kind is Kind.DUPLICATE:
        return Duplicate(), "request"
    return Move(parked="drop" if choices.chance(2) else "answer", state="lost" if choices.chance(3) else "kept"), "request"


def _codes(api: Api, setting: Setting) -> list[int]:
    codes = codes_of(api, profile(setting.profile))
    possible = [code for code in codes if setting.is_static or code != ErrorCode.FENCED_INSTANCE_ID]
    return [code for code in possible if setting.is_final or not may_end_client(api, code)] or possible


def may_end_client(api: Api, code: int) -> bool:
    """Return whether a client may end after such an answer."""
    row = reaction(api, code, Phase.CURRENT) if api in MEMBER_APIS else ()
    return Effect.RAISE in row or code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def _delays_ms(setting: Setting) -> tuple[int, ...]:
    """Return delays near the times at which clients act; the short ones twice, because most failures need no longer ones."""
    beat, session = setting.heartbeat_ms, setting.session_ms
    short = (beat // 2, beat + 100, 3 * beat, session // 2)
    return (*short, *short, session - 300, session + 400)
