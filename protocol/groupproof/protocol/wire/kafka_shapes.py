"""Kafka's message schemas as shapes, and their versions: the input of the compiled readers and writers.

The schemas are kio's, generated from Kafka's own (only this module imports kio), and the few that Kafka 4 removed (`old_schemas.py`).
"""

from __future__ import annotations

import typing
from collections.abc import Iterable
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import timedelta
from functools import cache
from typing import Any, Final, Literal

from groupproof.protocol.lean_imports import without
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.body_shapes import REWRITES
from groupproof.protocol.wire.codec import Column, Shape
from groupproof.protocol.wire.old_schemas import ENTITIES, SAME_AS

with without("hypothesis"):
    from kio.index import load_request_schema, load_response_schema
    from kio.schema.index import api_key_map, schema_name_map

__all__ = ["VERSIONS", "Side", "field_names", "has_flexible_header", "shape_of"]

Side = Literal["request", "response"]

_VERSIONS_OF: Final = {api: sorted(schema_name_map[api_key_map[api]]) for api in Api}
_DROPPED: Final = {api: min(version for entity, version, _ in ENTITIES if entity is api) for api, _, _ in ENTITIES}
VERSIONS: Final[dict[Api, tuple[int, int]]] = {api: (_DROPPED.get(api, versions[0]), versions[-1]) for api, versions in _VERSIONS_OF.items()}
"""The oldest and the newest version of each API that the kit reads and writes."""


def shape_of(api: Api, version: int, side: Side) -> Shape:
    """Return the shape of one version of an API's request or response."""
    return _shape(_entity(api, version, side), f"{api.title} v{version} {side}", _union(api, side, version))


def field_names(api: Api, side: Side) -> frozenset[str]:
    """Return the names of all fields, of any version, in the newest form."""
    return frozenset(_union(api, side, VERSIONS[api][1]))


def has_flexible_header(api: Api, version: int, side: Side) -> bool:
    """Return whether the header before the message has tagged fields (KIP-482)."""
    return bool(_entity(api, version, side).__header_schema__.__flexible__)


_Union = dict[str, tuple[Any, dict[str, Any]]]
"""The default of each field of any version, by name, with the fields of its struct."""


def _entity(api: Api, version: int, side: Side) -> Any:
    if (api, version, side) in ENTITIES:
        return ENTITIES[api, version, side]
    version = SAME_AS.get((api, version, side), version)
    return load_request_schema(api, version) if side == "request" else load_response_schema(api, version)


@cache
def _union(api: Api, side: Side, version: int) -> _Union:
    """Return the fields of all versions that share `version`'s shape. Where their defaults differ, the newest's applies."""
    newest = VERSIONS[api][1]
    rewrite = REWRITES.get((api, side))
    if rewrite is not None and rewrite.is_other_shape and version <= rewrite.version_max:
        return _merged([_entity(api, rewrite.version_max, side)])
    return _merged(_entity(api, number, side) for number in (*_LAST_WITH.get(api, ()), newest))


def _merged(entities: Iterable[Any]) -> _Union:
    union: _Union = {}
    for entity in entities:
        for field in fields(entity):
            nested = _nested(field.type)
            older = union.get(_name(field), (None, {}))[1]
            union[_name(field)] = (_default(field), _over(older, _merged([nested])) if nested is not None else {})
    return union


def _over(older: _Union, newer: _Union) -> _Union:
    return {**older, **{name: (default, _over(older.get(name, (None, {}))[1], nested)) for name, (default, nested) in newer.items()}}


def _shape(entity: Any, title: str, union: _Union) -> Shape:
    columns = tuple(_column(entity, field, title, union[_name(field)][1]) for field in fields(entity))
    own = {column.name for column in columns}
    absent = {name: default for name, (default, _) in union.items() if name not in own}
    return Shape(title=title, is_flexible=entity.__flexible__, columns=columns, absent=absent)


def _column(entity: Any, field: Field[Any], title: str, union: _Union) -> Column:
    nested = _nested(field.type)
    name = _name(field)
    tag = field.metadata.get("tag")
    return Column(
        name=name,
        kind=_KINDS.get(field.metadata.get("kafka_type", "struct"), field.metadata.get("kafka_type", "struct")),
        is_array=_is_array(field.type),
        is_nullable=type(None) in typing.get_args(field.type),
        is_flexible=entity.__flexible__,
        tag=None if tag is None else int(tag),
        default=_default(field),
        shape=None if nested is None else _shape(nested, f"{title}, {name}", union),
    )


def _name(field: Field[Any]) -> str:
    kind = field.metadata.get("kafka_type", "")
    if field.name == "generation_id_or_member_epoch":
        return "generation_id"
    return f"{field.name}_ms" if kind.startswith(("timedelta", "datetime")) else field.name


def _is_array(hint: Any) -> bool:
    return typing.get_origin(hint) is tuple or any(typing.get_origin(part) is tuple for part in typing.get_args(hint))


def _nested(hint: Any) -> Any:
    """Return the entity in `X`, `X | None`, `tuple[X, ...]` or `tuple[X, ...] | None`; None for a plain value."""
    if is_dataclass(hint):
        return hint
    return next((found for part in typing.get_args(hint) if (found := _nested(part)) is not None), None)


def _default(field: Field[Any]) -> Any:
    kind = field.metadata.get("kafka_type", "struct")
    if kind == "datetime_i64":
        return -1
    if field.default is not MISSING:
        return _plain(field.default)
    is_nullable = type(None) in typing.get_args(field.type)
    if _is_array(field.type):
        return None if is_nullable and field.name in _NULL_LISTS else ()
    if is_nullable:
        return None
    nested = _nested(field.type)
    if nested is not None:
        return {_name(inner): _default(inner) for inner in fields(nested)}
    return _EMPTY.get(kind, 0)


def _plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value // timedelta(milliseconds=1)
    if is_dataclass(value):
        return {_name(field): _plain(getattr(value, field.name)) for field in fields(value)}
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


# The last versions with a field that the newest lacks. With the newest they are enough to know every field.
_LAST_WITH: Final = {
    Api.PRODUCE: (12,), Api.FETCH: (12,), Api.METADATA: (10,), Api.OFFSET_COMMIT: (4, 9), Api.OFFSET_FETCH: (9,), Api.DELETE_TOPICS: (5,),
}  # fmt: skip
_KINDS: Final = {
    "error_code": "int16", "timedelta_i32": "int32", "timedelta_i64": "int64", "datetime_i64": "int64", "records": "bytes",
}  # fmt: skip
# ConsumerGroupHeartbeatRequest.json says "default": "null" (unchanged since the last heartbeat); kio has no default here.
_NULL_LISTS: Final = frozenset({"topic_partitions"})
_EMPTY: Final[dict[str, Any]] = {"string": "", "bytes": b"", "bool": False}
