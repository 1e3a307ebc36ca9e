"""The possible next requests of a consumer protocol member (KIP-848) in a random history: most are sensible, some have a wrong epoch or partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from groupproof.harness.model import script_builders as classic
from groupproof.harness.model.consumer_script_builders import LEFT, SLOT_KEPT, Owned, beat, commit, delete_groups, describe, fetch, full, join
from groupproof.harness.model.script import Ask, Group, PartitionsById, Ref, Topic, TopicPattern
from groupproof.harness.running.fuzzing.choice_source import ChoiceSource
from groupproof.harness.running.fuzzing.histories.model_state import ModelState
from groupproof.harness.running.fuzzing.histories.moves import NOBODY, Actor, Move
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState
from groupproof.protocol.vocabulary import Api

__all__ = ["CONSUMER_MOVES", "OWN_TOPIC", "TOPICS", "malformed_heartbeat"]

TOPICS: Final[Mapping[str, int]] = {"t": 2, "u": 3, "v": 3}
OWN_TOPIC: Final = "later"
"""The topic that is created and grows during a history."""

_NAMES: Final = (("t",), ("t", "u"), ("u",), ("t", "u", "v"), (OWN_TOPIC,), ("u", OWN_TOPIC), ("t", "nowhere"), ())
_REGEXES: Final = ("{t}", "{u}|{v}", "{u}.*", "", "{t}-none")
# All are different, so that no two timers that begin together end together.
_TIMEOUTS_MS: Final = (60_000, 2_500, 4_300)
_ASSIGNORS: Final = ("uniform", "range")
_RACKS: Final = ("r1", "r2")
_PARTITIONS: Final = (("t", 0), ("t", 1), ("u", 0), ("u", 2), ("v", 1), ("t", 7), ("nowhere", 0), (OWN_TOPIC, 0))
_GREATEST: Final = 2_147_483_647

Make = Callable[[ChoiceSource, ModelState, Actor], Ask]


def _is_in(model: ModelState, actor: Actor) -> bool:
    view = model.view
    return view is not None and any(member.member_id == actor.name for member in view.members)


def _member(weight: int, stray: int = 1) -> Callable[[ModelState, Actor], int]:
    return lambda model, actor: weight if _is_in(model, actor) else stray


def _stranger(weight: int, member: int = 1) -> Callable[[ModelState, Actor], int]:
    return lambda model, actor: member if _is_in(model, actor) else weight


def _subscription(choices: ChoiceSource) -> dict[str, Any]:
    """Return a member's subscription: mostly names, sometimes a regular expression, now and then with an assignor or a rack."""
    fields: dict[str, Any] = {"names": choices.one_of(_NAMES[:3] if choices.chance(2) else _NAMES)}
    if choices.chance(6):
        fields |= {"names": choices.one_of(_NAMES) if choices.chance(2) else None, "regex": choices.one_of(_REGEXES)}
    if choices.chance(5):
        fields["server_assignor"] = choices.one_of(_ASSIGNORS)
    if choices.chance(8):
        fields["rack_id"] = choices.one_of(_RACKS)
    return fields


def _join(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    return join(actor.name, instance=actor.instance, timeout=choices.one_of(_TIMEOUTS_MS), **_subscription(choices))


def _instance(choices: ChoiceSource, actor: Actor) -> str | None:
    """Return the instance id of a heartbeat: librdkafka's heartbeats have none after the join."""
    return None if choices.chance(3) else actor.instance


def _beat(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    return beat(actor.name, instance=_instance(choices, actor))


def _acknowledge(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    return beat(actor.name, owned="own", instance=_instance(choices, actor))


def _full(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    return full(actor.name, instance=actor.instance, timeout=choices.one_of(_TIMEOUTS_MS), names=choices.one_of(_NAMES[:3]))


def _report(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    """Report random partitions, as a client that is slow to revoke them, or has lost an answer."""
    owned: Owned = tuple(dict.fromkeys(choices.one_of(_PARTITIONS) for _ in range(choices.number(0, 3))))
    return beat(actor.name, owned=owned, instance=_instance(choices, actor))


def _repeat(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    """Send the previous epoch, as a member that has lost an answer."""
    owned: Owned = choices.one_of(("own", "own", None, ()))
    timeout, names = (60_000, ("t",)) if choices.chance(3) else (-1, None)
    return beat(actor.name, epoch=Ref(actor.name, "member_epoch", -1), owned=owned, timeout=timeout, names=names, instance=actor.instance)


def _resubscribe(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    owned: Owned = choices.one_of(("own", None))
    return beat(actor.name, owned=owned, instance=actor.instance, **_subscription(choices))


def _leave(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    epoch = SLOT_KEPT if actor.instance is not None and not choices.chance(3) else LEFT
    return beat(actor.name, epoch=epoch, instance=actor.instance)


def _commit(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    offsets = {choices.one_of(_PARTITIONS): choices.number(0, 100) for _ in range(choices.number(1, 3))}
    if choices.chance(5):
        return commit(actor.name, offsets, epoch=-1, member_id="" if choices.chance(2) else actor.name)
    return commit(actor.name, offsets, epoch=_epoch(choices, actor), instance=_instance(choices, actor))


def _epoch(choices: ChoiceSource, actor: Actor) -> Ref:
    """Return the member's epoch, or one beside it."""
    plus = choices.one_of((0, 0, 0, 0, -1, -1, 1, -2))
    return Ref(actor.name, "member_epoch", plus)


def _fetch(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    if choices.chance(3):
        return fetch(actor.name, member_id=None, epoch=-1, everything=choices.chance(2))
    return fetch(actor.name, {"t": (0, 1), "u": (0, 2)}, epoch=_epoch(choices, actor))


def _delete_offsets(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    topics = ({"name": Topic(choices.one_of(("t", "u"))), "partitions": ({"partition_index": choices.number(0, 1)},)},)
    return Ask(member=actor.name, api=Api.OFFSET_DELETE, fields={"group_id": Group(), "topics": topics})


def _classic_leave(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    by_id = choices.chance(2) or actor.instance is None
    return classic.leave(actor.name, members=({"member_id": actor.name if by_id else "", "group_instance_id": actor.instance},))


def _classic_beat(choices: ChoiceSource, model: ModelState, actor: Actor) -> Ask:
    return classic.beat(actor.name, member_id=actor.name, generation_id=Ref(actor.name, "member_epoch"))


def _once(weight: int) -> Callable[[ModelState, Actor], int]:
    """Return the weight of a move that one member does for all."""
    return lambda model, actor: weight if actor.name == "m0" else 0


CONSUMER_MOVES: Final = (
    Move(api=Api.CONSUMER_GROUP_HEARTBEAT, weigh=_stranger(12), make=_join),
    Move(api=Api.CONSUMER_GROUP_HEARTBEAT, weigh=_member(8), make=_beat),
    Move(api=Api.CONSUMER_GROUP_HEARTBEAT, weigh=_member(10), make=_acknowledge),
    Move(api=Api.CONSUMER_GROUP_HEARTBEAT, weigh=_member(2, stray=0), make=_full),
    Move(api=Api.CONSUMER_GROUP_HEARTBEAT, weigh=_member(2, stray=0), make=_report),
    Move(api=Api.CONSUMER_GROUP_HEARTBEAT, weigh=_member(2), make=_repeat),
    Move(api=Api.CONSUMER_GROUP_HEARTBEAT, weigh=_member(3, stray=0), make=_resubscribe),
    Move(api=Api.CONSUMER_GROUP_HEARTBEAT, weigh=_member(2), make=_leave),
    Move(api=Api.OFFSET_COMMIT, weigh=_member(2), make=_commit),
    Move(api=Api.OFFSET_FETCH, weigh=_member(1), make=_fetch),
    Move(api=Api.CONSUMER_GROUP_DESCRIBE, weigh=_once(3), make=lambda choices, model, actor: describe(actor.name)),
    Move(api=Api.LIST_GROUPS, weigh=_once(1), make=lambda choices, model, actor: classic.list_groups(actor.name)),
    Move(
        api=Api.DELETE_GROUPS,
        weigh=lambda model, actor: (3 if model.state is ConsumerState.EMPTY else 1) if actor.name == "m0" else 0,
        make=lambda choices, model, actor: delete_groups(actor.name),
    ),
    Move(api=Api.OFFSET_DELETE, weigh=_once(1), make=_delete_offsets),
    Move(api=Api.LEAVE_GROUP, weigh=_once(1), make=_classic_leave),
    Move(api=Api.HEARTBEAT, weigh=_once(1), make=_classic_beat),
)
"""All moves of a member, offered to each member in turn."""


def malformed_heartbeat(choices: ChoiceSource, ask: Ask, actor: Actor) -> Ask:
    """Return the request with one field made invalid, where it has such a field."""
    name = choices.one_of(sorted(wrong := _wrong(ask, actor)) or ("",))
    return replace(ask, fields={**ask.fields, name: choices.one_of(wrong[name])}) if name else ask


def _wrong(ask: Ask, actor: Actor) -> dict[str, Sequence[Any]]:
    other = actor.others[0] if actor.others else actor
    epochs = (Ref(actor.name, "member_epoch", 1), Ref(actor.name, "member_epoch", -2), 0, -3, _GREATEST)
    if ask.api is Api.OFFSET_COMMIT:
        return {"member_id": (NOBODY, other.name), "generation_id": epochs, "group_instance_id": ("i9",)}
    if ask.api is not Api.CONSUMER_GROUP_HEARTBEAT:
        return {}
    return {
        "group_id": ("",),
        "member_id": ("", NOBODY, other.name),
        "member_epoch": epochs,
        "instance_id": ("", "i9", other.instance, actor.instance, None),
        "rack_id": ("",),
        "rebalance_timeout_ms": (-1, 0),
        "server_assignor": ("nobody", "UNIFORM", "", "range"),
        "subscribed_topic_names": (None, (), (Topic("v"),)),
        "subscribed_topic_regex": ("(", "(?=x)", "", TopicPattern("{v}")),
        "topic_partitions": (None, PartitionsById(), PartitionsById((("t", 0), ("u", 1))), PartitionsById((("nowhere", 0),))),
    }
