"""Kafka's own decoder of the offsets topic (`DecodeTopic.java`, on the jars of a release), and the comparison of its reading with ours, record by record."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.registry.toolchains.java_archives import java_tool
from groupproof.harness.subjects.brokers.apache.maven_kafka import provision_maven
from groupproof.harness.subjects.offsets_topic.segment_files import partition_of_segment, read_segments
from groupproof.protocol.wire.codec import Shape
from groupproof.protocol.wire.coordinator_records import CoordinatorRecord, UnreadableRecord, decode_record
from groupproof.protocol.wire.coordinator_shapes import record_forms
from groupproof.protocol.wire.log_batches import LogBatch

__all__ = ["Comparison", "compare", "lines_of", "read_by_kafka", "written"]

DECODER: Final = Path(__file__).with_name("DecodeTopic.java")
_SHOWN_MAX: Final = 5

Place = tuple[int, int]
"""Partition and offset."""


@dataclass(slots=True)
class Comparison:
    """What both read: how many of each record, and where they differ."""

    records: Counter[str] = field(default_factory=Counter)
    differing: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        counts = ", ".join(f"{name} {count:,}" for name, count in sorted(self.records.items()))
        lines = "\n".join(self.differing[:_SHOWN_MAX])
        return f"{self.records.total():,} records, {len(self.differing)} differ ({counts})\n{lines}"


def read_by_kafka(release: str, segments: Sequence[Path], output: Path) -> Path:
    """Let the release's own classes read the segments, and return the file with a line for each record."""
    jars = provision_maven(release, default_cache(), print).jars
    named = [f"{partition_of_segment(path)}={path}" for path in segments]
    with output.open("wb") as file:
        subprocess.run([java_tool("java"), "-cp", f"{jars}{os.sep}*", str(DECODER), *named], stdout=file, stderr=subprocess.PIPE, check=True)
    return output


def compare(segments: Sequence[Path], reading: Path) -> Comparison:
    """Compare our reading of the segments with Kafka's."""
    comparison = Comparison()
    ours = dict(_ours(segments))
    numbers_keys = any(_is_numbered(line) for line in lines_of(reading))
    for line in lines_of(reading):
        place = (line.pop("p"), line.pop("o"))
        mine = ours.pop(place, None)
        comparison.records[mine.name if isinstance(mine, CoordinatorRecord) else "marker" if isinstance(mine, str) else "unreadable"] += 1
        expected = written(mine, by_schema="name" not in (line.get("key") or {}), numbers_keys=numbers_keys)
        theirs = {side: line.get(side) for side in expected}
        if theirs != expected:
            comparison.differing.append(f"{place}: we read {expected}, Kafka {theirs} of {line}")
    comparison.differing += [f"{place}: we read {mine}, Kafka nothing" for place, mine in ours.items()]
    return comparison


def _is_numbered(line: Mapping[str, Any]) -> bool:
    """Tell whether a key's version is its type, as 3.9 has it and the schemas before; from 4.0 on the name alone says the type, and versions are 0."""
    return bool((line.get("key") or {}).get("version"))


def lines_of(reading: Path) -> Iterator[dict[str, Any]]:
    """Yield what Kafka read. The oldest schema of a commit's value calls its commit_timestamp timestamp."""
    with reading.open(encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            data = (line.get("value") or {}).get("data") or {}
            if "timestamp" in data and "metadata" in data:
                data["commit_timestamp"] = data.pop("timestamp")
            yield line


def _ours(segments: Sequence[Path]) -> Iterator[tuple[Place, CoordinatorRecord | str | UnreadableRecord]]:
    """Yield every record, of a transaction's end its marker, and of what cannot be read why."""
    for _, partition, batch in read_segments(segments):
        assert isinstance(batch, LogBatch), batch
        if batch.marker is not None:
            yield (partition, batch.base_offset), batch.marker
        for offset, _, key, value in batch.records:
            try:
                yield (partition, offset), decode_record(key, value)
            except UnreadableRecord as error:
                yield (partition, offset), error


def written(record: CoordinatorRecord | str | UnreadableRecord | None, *, by_schema: bool, numbers_keys: bool = False) -> dict[str, Any]:
    """Return what Kafka should have read where we read this: as its JSON converters write it, or by its old schemas."""
    if isinstance(record, str):
        return {"marker": record}
    if not isinstance(record, CoordinatorRecord):
        return {"key": None}
    form = record_forms()[max(1, record.number)]
    key: dict[str, Any] = {"data": _json(form.key, record.key, by_schema=by_schema)}
    head = _head(record, "Key", record.number if numbers_keys else 0, by_schema=by_schema)
    if record.value is None:
        return {"key": {**head, **key}, "value": None}
    assert record.version is not None
    shape = next(shape for shape in form.values[record.version] if set(shape.names) >= record.value.keys())
    value = {**_head(record, "Value", record.version, by_schema=by_schema), "data": _json(shape, record.value, by_schema=by_schema)}
    return {"key": {**head, **key}, "value": value}


def _head(record: CoordinatorRecord, side: str, version: int, *, by_schema: bool) -> dict[str, Any]:
    if by_schema:
        return {"version": record.number if side == "Key" else version}
    return {"name": f"{record.name}{side}", "version": version}


def _json(shape: Shape, body: Mapping[str, Any], *, by_schema: bool) -> dict[str, Any]:
    """Return a body in JSON as Kafka's generated converters write it: without tagged fields that have their default, and names as Java has them."""
    return {
        column.name if by_schema else _camel(column.name): _value(column.shape, column.kind, body[column.name], by_schema=by_schema)
        for column in shape.columns
        if column.tag is None or body[column.name] != column.default
    }


def _value(shape: Shape | None, kind: str, value: Any, *, by_schema: bool) -> Any:
    if isinstance(value, tuple):
        return [_value(shape, kind, item, by_schema=by_schema) for item in value]
    if kind == "uuid":
        return base64.urlsafe_b64encode(uuid.UUID(value).bytes if value else bytes(16)).decode().rstrip("=")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return _json(shape, value, by_schema=by_schema) if shape is not None and value is not None else value


def _camel(name: str) -> str:
    return re.sub("_([a-z])", lambda found: found[1].upper(), name)
