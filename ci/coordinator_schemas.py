"""Take the schemas of the records in `__consumer_offsets` out of Kafka's jars and write them down as data of the package.

    python ci/coordinator_schemas.py kafka-group-coordinator-3.9.1.jar kafka-group-coordinator-4.0.2.jar …

Jars come oldest first. A schema of a later one replaces that of an earlier one, for fields are only ever added; the older form stays beside it where a release
gave the record other fields under the same version.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

__all__ = ["DATA", "main", "merged", "schemas_in", "text_of"]

DATA: Final = Path(__file__).parents[1] / "protocol/groupproof/protocol/wire/coordinator_schemas.json"
_FOLDER: Final = "common/message/"
_COMMENT: Final = re.compile(r"^\s*//.*$", re.MULTILINE)
_LEGACY: Final = "LegacyOffsetCommit"

_VERSIONS_MAX: Final = 100

Schema = dict[str, Any]
Record = tuple[int, str, str]
"""The record's type, its name, and `key` or `value`."""


def schemas_in(jar: Path) -> Iterator[tuple[Record, Schema]]:
    """Yield the schemas of one release."""
    with zipfile.ZipFile(jar) as archive:
        read = [
            json.loads(_COMMENT.sub("", archive.read(name).decode()))
            for name in sorted(archive.namelist())
            if name.startswith(_FOLDER) and name.endswith(".json")
        ]
    types = {schema["name"][:-3]: _type_of(schema) for schema in read if schema["name"].endswith("Key")}
    for schema in read:
        side = "key" if schema["name"].endswith("Key") else "value"
        name = schema["name"].removesuffix(side.title())
        if name != _LEGACY:
            yield (types[name], name, side), _plain(schema)


def merged(releases: Iterable[Iterable[tuple[Record, Schema]]]) -> list[Schema]:
    """Return one entry for each record type, in their order, with its newest forms last."""
    forms: dict[Record, list[Schema]] = {}
    for release in releases:
        for record, schema in release:
            older = forms.setdefault(record, [])
            if older and _continues(older[-1], schema):
                older.pop()
            older.append(schema)
    names = sorted({record[:2] for record in forms})
    return [{"type": number, "name": name, "key": forms[number, name, "key"][-1], "values": forms[number, name, "value"]} for number, name in names]


def text_of(entries: Iterable[Schema], source: str) -> str:
    """Return the file: one record type a line."""
    lines = ",\n".join(json.dumps(entry) for entry in entries)
    return f'{{"source": {json.dumps(source)}, "records": [\n{lines}\n]}}\n'


def main(jars: list[str]) -> None:
    """Write the file from these jars."""
    paths = [Path(jar) for jar in jars]
    releases = [re.sub(r"^.*-([\d.]+)\.jar$", r"\1", path.name) for path in paths]
    source = f"Apache Kafka (Apache License 2.0), group-coordinator/src/main/resources/common/message of {', '.join(releases)}"
    DATA.write_text(text_of(merged(schemas_in(path) for path in paths), source), "utf-8")


def _type_of(key: Mapping[str, Any]) -> int:
    """Return the number that stands before a key: the field of that name from 4.1 on, the key's one version before. OffsetCommit has 0 and 1: 1."""
    return int(key["apiKey"]) if "apiKey" in key else int(str(key["validVersions"]).rpartition("-")[2])


def _plain(schema: Schema) -> Schema:
    """Return what bytes depend on. A key has one version: what was called its version up to 4.0 is the type before it."""
    side_is_key = schema["name"].endswith("Key")
    kept: Schema = {"versions": "0" if side_is_key else schema["validVersions"], "flexible": schema["flexibleVersions"]}
    kept["fields"] = [_field(field, is_key=side_is_key) for field in schema["fields"]]
    if "commonStructs" in schema:
        kept["structs"] = {struct["name"]: [_field(field) for field in struct["fields"]] for struct in schema["commonStructs"]}
    return kept


def _field(field: Schema, *, is_key: bool = False) -> Schema:
    kept = {name: value for name, value in field.items() if name not in ("about", "ignorable", "fields", "entityType", "mapKey")}
    if is_key:
        kept["versions"] = "0"
    if "fields" in field:
        kept["fields"] = [_field(inner) for inner in field["fields"]]
    return kept


def _continues(older: Schema, newer: Schema) -> bool:
    """Tell whether the newer form reads what the older one wrote: every version has the same untagged fields in the same order."""
    return all(_layout(older, older["fields"], version) == _layout(newer, newer["fields"], version) for version in _versions(older["versions"]))


def _layout(schema: Schema, fields: list[Schema], version: int) -> list[Any]:
    return [
        (field["name"], field["type"], _layout(schema, _inner(schema, field), version))
        for field in fields
        if "tag" not in field and version in _versions(field["versions"])
    ]


def _inner(schema: Schema, field: Schema) -> list[Schema]:
    inner: list[Schema] = field.get("fields") or schema.get("structs", {}).get(field["type"].removeprefix("[]"), [])
    return inner


def _versions(text: str) -> range:
    first, _, last = text.removesuffix("+").partition("-")
    return range(int(first), _VERSIONS_MAX if text.endswith("+") else int(last or first) + 1)


if __name__ == "__main__":
    main(sys.argv[1:])
