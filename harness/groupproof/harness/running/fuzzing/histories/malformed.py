"""Malformed requests: one field of a sensible request gets a value that a coordinator must refuse or tolerate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from groupproof.harness.model.script import Ask, Ref
from groupproof.harness.running.fuzzing.choice_source import ChoiceSource
from groupproof.harness.running.fuzzing.histories.moves import NOBODY, Actor
from groupproof.protocol.vocabulary import Api

__all__ = ["malformed_request"]

_FIELDS: Final[Mapping[Api, tuple[str, ...]]] = {
    Api.JOIN_GROUP: ("member_id", "group_instance_id", "protocol_type", "protocols", "session_timeout_ms", "rebalance_timeout_ms", "group_id"),
    Api.SYNC_GROUP: ("member_id", "generation_id", "group_instance_id", "protocol_type", "protocol_name", "group_id"),
    Api.HEARTBEAT: ("member_id", "generation_id", "group_instance_id", "group_id"),
    Api.OFFSET_COMMIT: ("member_id", "generation_id", "group_instance_id"),
    Api.TXN_OFFSET_COMMIT: ("member_id", "generation_id", "group_instance_id"),
}
_NEWEST_GENERATION: Final = 2_147_483_647


def malformed_request(choices: ChoiceSource, ask: Ask, actor: Actor) -> Ask:
    """Return the request with one field made invalid, where it has such a field."""
    fields = _FIELDS.get(ask.api)
    if fields is None:
        return ask
    name = choices.one_of(fields)
    return replace(ask, fields={**ask.fields, name: choices.one_of(_wrong(name, actor))})


def _wrong(name: str, actor: Actor) -> Sequence[Any]:
    other = actor.others[0] if actor.others else actor
    generations = (Ref(actor.name, "generation", -1), Ref(actor.name, "generation", 1), -1, 0, _NEWEST_GENERATION)
    values: dict[str, Sequence[Any]] = {
        "member_id": ("", NOBODY, Ref(other.name, "member_id")),
        "generation_id": generations,
        "group_instance_id": (other.instance, actor.instance, "i9", None),
        "protocol_type": ("connect", ""),
        "protocol_name": ("bogus", "range", None),
        "protocols": ((), ({"name": "bogus", "metadata": b"\x00\x01"},), ({"name": "range", "metadata": b""},)),
        "session_timeout_ms": (50, 2_000_000, 100),
        "rebalance_timeout_ms": (500, 60_000),
        "group_id": ("",),
    }
    return values[name]
