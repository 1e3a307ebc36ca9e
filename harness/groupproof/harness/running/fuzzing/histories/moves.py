"""The possible next requests of a member in an unfinished random history, with weights: sensible ones are likely, others are rare.

The first commit of a transaction begins it, and transactions never end; each producer keeps its first epoch. A group's coordinator gets no
other transaction requests.
A coordinator never moves: a move stops a broker, and moves the groups of all histories that run beside this one. Cases move their groups one
at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from groupproof.harness.model.script import Ask, Group, Ref, SubscriptionBytes, Topic
from groupproof.harness.model.script_builders import beat, commit, delete_groups, describe, fetch, join, leave, list_groups, sync
from groupproof.harness.running.fuzzing.choice_source import ChoiceSource
from groupproof.harness.running.fuzzing.histories.model_state import ModelState
from groupproof.protocol.vocabulary import Api, GroupState

__all__ = ["MOVES", "NOBODY", "Actor", "Move", "asked"]

NOBODY: Final = "nobody-7f3c"
"""A member id that no coordinator gave out."""

_PROTOCOLS: Final = (("range",), ("range", "sticky"), ("sticky", "range"), ("sticky",))
# None is a multiple of another, so that no two timers that begin together end together, even after restarts: a broker fires such two in random order.
_SESSIONS_MS: Final = (6_000, 9_000, 3_500)
_REBALANCES_MS: Final = (11_000, 4_700, 2_300)
_METADATA: Final = ("", "m", "long " * 1_000)
_PARTITIONS: Final = (("t", 0), ("t", 1), ("t", 7), ("nowhere", 0))


@dataclass(slots=True, kw_only=True)
class Actor:
    """A member of the history: `instance` where it is static, and how it joins."""

    name: str
    instance: str | None = None
    protocols: tuple[str, ...] = ("range",)
    user_data: bytes = b""
    session_ms: int = _SESSIONS_MS[0]
    rebalance_ms: int = _REBALANCES_MS[0]
    others: list[Actor] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A possible request: `weigh` returns its current weight, and `make` the request."""

    api: Api
    weigh: Any
    make: Any


def asked(choices: ChoiceSource, model: ModelState, actors: Sequence[Actor], moves: Sequence[Move] | None = None) -> Ask:
    """Return a request that one of the actors might send now, with correct fields; without `moves`, one of the classic moves."""
    options = list(_options(model, actors, MOVES if moves is None else moves))
    total = sum(weight for weight, *_ in options)
    drawn = choices.number(0, total - 1)
    for weight, move, actor in options:
        drawn -= weight
        if drawn < 0:
            made: Ask = move.make(choices, model, actor)
            return made
    raise AssertionError("the weights add up")


def _options(model: ModelState, actors: Sequence[Actor], moves: Sequence[Move]) -> Iterator[tuple[int, Move, Actor]]:
    for actor in actors:
        for move in moves:
            if model.speaks(move.api) and (weight := move.weigh(model, actor)) > 0:
                yield weight, move, actor


# Joins -----------------------------------------------------------------------------------------------------------------------------------


def _newly(model: ModelState, actor: Actor) -> int:
    if model.is_parked(actor.name):
        return 0
    return 1 if model.is_in(actor.name) else 8 if not model.id_of(actor.name) else 2


def _again(model: ModelState, actor: Actor) -> int:
    if not model.id_of(actor.name) or model.is_parked(actor.name):
        return 0
    if not model.is_in(actor.name):
        return 8 if model.is_pending(actor.name) else 1
    return 24 if model.state is GroupState.PREPARING_REBALANCE else 3


def _join(choices: ChoiceSource, actor: Actor, **overrides: Any) -> Ask:
    if choices.chance(4):
        actor.user_data = bytes([choices.number(0, 3)])
    if choices.chance(8):
        actor.protocols = choices.one_of(_PROTOCOLS)
    return join(
        actor.name, instance=actor.instance, protocols=actor.protocols, metadata=SubscriptionBytes(user_data=actor.user_data),
        session_timeout_ms=actor.session_ms, rebalance_timeout_ms=actor.rebalance_ms, **overrides,
    )  # fmt: skip


def _join_newly(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    actor.session_ms, actor.rebalance_ms = choices.one_of(_SESSIONS_MS), choices.one_of(_REBALANCES_MS)
    return _join(choices, actor, member_id="")


def _join_again(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    return _join(choices, actor)


# Syncs and Heartbeats --------------------------------------------------------------------------------------------------------------------


def _member(weight: int, *, stray: int = 1) -> Any:
    """Return the weight of a member that is in the group and has nothing parked; `stray` that of anyone else."""
    return lambda model, actor: weight if model.is_in(actor.name) and not model.is_parked(actor.name) else stray


def _syncing(model: ModelState, actor: Actor) -> int:
    """Followers sync sooner than leaders, so that they park."""
    if model.state is not GroupState.COMPLETING_REBALANCE or not model.is_in(actor.name) or model.is_parked(actor.name):
        return 1
    return 20 if model.leads(actor.name) else 30


def _sync(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    if not model.leads(actor.name) and not choices.chance(16):
        return sync(actor.name, instance=actor.instance)
    names = [actor.name, *(item.name for item in actor.others)]
    members = names if choices.chance(2) else [name for name in names if model.is_in(name)]
    return sync(actor.name, {name: [("t", index)] for index, name in enumerate(members)}, instance=actor.instance)


def _beat(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    return beat(actor.name, instance=actor.instance)


# Leaves ----------------------------------------------------------------------------------------------------------------------------------


def _leave(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    return leave(actor.name, members=[_leaving(actor)] if choices.chance(2) else None)


def _leave_together(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    """Let several leave at once: each actor, or none of them, by id or by instance, and an unknown member."""
    gone = [_leaving(item, by_id=not choices.chance(3)) for item in (actor, *actor.others) if choices.chance(2)]
    if choices.chance(4):
        gone.append({"member_id": NOBODY, "group_instance_id": choices.one_of((None, "i9"))})
    return leave(actor.name, members=gone)


def _leaving(actor: Actor, *, by_id: bool = True) -> dict[str, Any]:
    return {"member_id": Ref(actor.name, "member_id") if by_id or actor.instance is None else "", "group_instance_id": actor.instance}


# Offsets and descriptions ----------------------------------------------------------------------------------------------------------------


def _commit(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    offsets = {choices.one_of(_PARTITIONS): choices.number(0, 100) for _ in range(choices.number(1, 3))}
    metadata = choices.one_of(_METADATA) if choices.chance(6) else ""
    if choices.chance(5):
        return commit(actor.name, offsets, metadata=metadata, generation_id=-1, member_id="")
    return commit(actor.name, offsets, metadata=metadata, instance=actor.instance)


def _commit_in_transaction(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    ask, producer = (
        _commit(choices, model, actor),
        {"transactional_id": f"transactions-of-{actor.name}", "producer_id": Ref(actor.name, "producer_id")},
    )
    return replace(ask, api=Api.TXN_OFFSET_COMMIT, fields={**ask.fields, **producer})


def _fetch(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    if choices.chance(4):
        ask = fetch(actor.name, everything=True)
    else:
        ask = fetch(actor.name, {"t": tuple(range(choices.number(1, 2)))} if choices.chance(2) else {"t": (0, 7), "nowhere": (0,)})
    return replace(ask, fields={**ask.fields, "require_stable": choices.chance(2)})


def _delete_offsets(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    topics = ({"name": Topic("t"), "partitions": ({"partition_index": choices.number(0, 1)},)},)
    return Ask(member=actor.name, api=Api.OFFSET_DELETE, fields={"group_id": Group(), "topics": topics})


def _flat(weight: int) -> Any:
    return lambda model, actor: weight


MOVES: Final = (
    Move(api=Api.JOIN_GROUP, weigh=_newly, make=_join_newly),
    Move(api=Api.JOIN_GROUP, weigh=_again, make=_join_again),
    Move(api=Api.SYNC_GROUP, weigh=_syncing, make=_sync),
    Move(api=Api.HEARTBEAT, weigh=_member(4), make=_beat),
    Move(api=Api.LEAVE_GROUP, weigh=_member(2), make=_leave),
    Move(api=Api.LEAVE_GROUP, weigh=_member(1, stray=0), make=_leave_together),
    Move(api=Api.OFFSET_COMMIT, weigh=_member(2), make=_commit),
    Move(api=Api.TXN_OFFSET_COMMIT, weigh=_member(1), make=_commit_in_transaction),
    Move(api=Api.OFFSET_FETCH, weigh=_flat(1), make=_fetch),
    Move(api=Api.DESCRIBE_GROUPS, weigh=_flat(1), make=lambda choices, model, actor: describe(actor.name)),
    Move(api=Api.LIST_GROUPS, weigh=lambda model, actor: 1 if actor.name == "m0" else 0, make=lambda choices, model, actor: list_groups(actor.name)),
    Move(
        api=Api.DELETE_GROUPS,
        weigh=lambda model, actor: (4 if model.state is GroupState.EMPTY else 1) if actor.name == "m0" else 0,
        make=lambda choices, model, actor: delete_groups(actor.name),
    ),
    Move(api=Api.OFFSET_DELETE, weigh=lambda model, actor: 1 if actor.name == "m0" else 0, make=_delete_offsets),
)
"""All moves of a classic member, offered to each member in turn."""
