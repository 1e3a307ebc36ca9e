"""The schemas of the coordinator's records (`coordinator_schemas.json`, Kafka's own) as shapes, one for each record type, side and version.

kio has only the schemas of requests and responses. `ci/coordinator_schemas.py` extracts these from Kafka's jars.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, NamedTuple

from groupproof.protocol.wire.codec import NUMBERS, Column, Shape

__all__ = ["RecordForm", "record_forms"]

_FILE: Final = "coordinator_schemas.json"
_PLAIN: Final = frozenset({*NUMBERS, "bool", "string", "bytes", "uuid"})
_EMPTY: Final[Mapping[str, Any]] = {"string": "", "bytes": b"", "bool": False, "uuid": None}
_NULL: Final = "null"
_VERSIONS_MAX: Final = 2**15
_Schema = Mapping[str, Any]


class RecordForm(NamedTuple):
    """One record type: the number at the start of its key, its name, the shape of its key, and the shapes of its value by version.

    A version has several shapes where releases gave it different fields. The newest comes first.
    """

    number: int
    name: str
    key: Shape
    values: Mapping[int, tuple[Shape, ...]]


@cache
def record_forms() -> Mapping[int, RecordForm]:
    """Return every record type by its number."""
    records = json.loads(files("groupproof.protocol.wire").joinpath(_FILE).read_text("utf-8"))["records"]
    return {record["type"]: _form(record) for record in records}


def _form(record: _Schema) -> RecordForm:
    name = record["name"]
    values: dict[int, tuple[Shape, ...]] = {}
    for schema in record["values"]:
        for version in _versions(schema["versions"]):
            values[version] = (_shape(schema, schema["fields"], version, f"{name} value v{version}"), *values.get(version, ()))
    return RecordForm(record["type"], name, _shape(record["key"], record["key"]["fields"], 0, f"{name} key"), values)


def _shape(schema: _Schema, fields: list[_Schema], version: int, title: str) -> Shape:
    columns = tuple(_column(schema, field, version, title) for field in fields if version in _versions(_versions_of(field)))
    absent = {_name(field): _default(field) for field in fields if version not in _versions(_versions_of(field))}
    return Shape(title=title, is_flexible=version in _versions(schema["flexible"]), columns=columns, absent=absent)


def _column(schema: _Schema, field: _Schema, version: int, title: str) -> Column:
    kind = field["type"].removeprefix("[]")
    name, inner = _name(field), field.get("fields") or schema.get("structs", {}).get(kind)
    assert kind in _PLAIN or inner is not None, f"{title}: {name} is of the unknown type {kind}"
    return Column(
        name=name,
        kind=kind if kind in _PLAIN else "struct",
        is_array=field["type"].startswith("[]"),
        is_nullable=version in _versions(field.get("nullableVersions", "none")),
        is_flexible=version in _versions(schema["flexible"]),
        tag=field["tag"] if version in _versions(field.get("taggedVersions", "none")) else None,
        default=_default(field) if inner is None or field["type"].startswith("[]") else _default_struct(schema, field, inner),
        shape=None if kind in _PLAIN else _shape(schema, inner, version, f"{title}, {name}"),
    )


def _versions_of(field: _Schema) -> str:
    """Return a field's versions; without any, those in which it is tagged (Kafka's `FieldSpec`)."""
    return str(field.get("versions", field.get("taggedVersions")))


def _versions(text: str) -> range:
    if text == "none":
        return range(0)
    first, _, last = text.removesuffix("+").partition("-")
    return range(int(first), _VERSIONS_MAX if text.endswith("+") else int(last or first) + 1)


def _name(field: _Schema) -> str:
    """Return the field's name in the style of trace bodies: `groupInstanceId` and `GroupInstanceId` become group_instance_id."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", field["name"]).lower()


def _default(field: _Schema) -> Any:
    """Return a field's default. For null, as opposed to "null", Kafka's generator uses the empty value (`FieldSpec`)."""
    if field.get("default") is not None:
        return None if field["default"] == _NULL else field["default"]
    return () if field["type"].startswith("[]") else _EMPTY.get(field["type"], 0)


def _default_struct(schema: _Schema, field: _Schema, inner: list[_Schema]) -> Any:
    return None if field.get("default") == _NULL else {_name(column): _default(column) for column in inner}
