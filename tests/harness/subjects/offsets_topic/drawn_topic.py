"""Records of every kind, drawn by a seed, and Kafka's own reading of them beside ours: what no broker of a short run writes (streams groups, old versions, tags) is compared too.

    python -m tests.harness.subjects.offsets_topic.drawn_topic RELEASE FOLDER [--records N] [--seed N]

The newest release reads all kinds. Of an older one only commits and classic groups are drawn, in the versions that it has.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from packaging.version import Version
from tests.harness.subjects.offsets_topic.kafkas_own import compare, read_by_kafka

from groupproof.protocol.wire.codec import SIZES, Column, Shape
from groupproof.protocol.wire.coordinator_records import encode_record
from groupproof.protocol.wire.coordinator_shapes import RecordForm, record_forms
from groupproof.protocol.wire.offsets_topic import TOPIC
from groupproof.protocol.wire.records import Record, encode_batch

__all__ = ["draw_record", "write_topic"]

NEWEST: Final = Version("4.4")
_IN_BATCH: Final = 50
_CLASSIC_UNTIL: Final = 2
_DROPPED: Final = ("ShareGroupPartitionMetadata",)
"""Early access of share groups had it; from 4.1 on it is refused."""

_TEXTS: Final = ("", "g", "orders.events.v1", "größer als Ω", "x" * 130, "a-cd613e30-d8f1-4adf-91b7-584a2265b1f5")
_UUID: Final = "12345678-9abc-def0-1234-56789abcdef0"


def write_topic(release: str, folder: Path, *, records: int, seed: int) -> Path:
    """Write one segment of drawn records, and return it."""
    draw = random.Random(seed)
    made = [
        Record(offset=offset, timestamp_ms=offset, key=key, value=value)
        for offset, (key, value) in enumerate(draw_record(release, draw) for _ in range(records))
    ]
    segment = folder / f"{TOPIC}-0" / "00000000000000000000.log"
    segment.parent.mkdir(parents=True, exist_ok=True)
    segment.write_bytes(b"".join(encode_batch(made[first : first + _IN_BATCH]) for first in range(0, records, _IN_BATCH)))
    return segment


def draw_record(release: str, draw: random.Random) -> tuple[bytes, bytes | None]:
    """Return a record that the release can read."""
    forms = [form for form in record_forms().values() if form.number <= _CLASSIC_UNTIL or (Version(release) >= NEWEST and form.name not in _DROPPED)]
    form = draw.choice(forms)
    version = draw.choice([number for number in form.values if number <= _newest(form, release)])
    value = None if draw.random() < 0.1 else _body(form.values[version][0], draw)
    return encode_record(form.name, _body(form.key, draw), value, version)


def _newest(form: RecordForm, release: str) -> int:
    """Return the newest version that a release has: v1 up to 1.1, v3 up to 3.4 of both (KIP-320, KIP-345), v4 since (KIP-915)."""
    if Version(release) >= Version("3.5"):
        return max(form.values)
    return 1 if Version(release) < Version("2.0") else 3


def _body(shape: Shape, draw: random.Random) -> dict[str, Any]:
    return {column.name: _value(column, draw) for column in shape.columns}


def _value(column: Column, draw: random.Random) -> Any:
    if column.is_nullable and draw.random() < 0.3:
        return None
    if column.tag is not None and draw.random() < 0.3:
        return column.default
    return tuple(_one(column, draw) for _ in range(draw.randint(0, 3))) if column.is_array else _one(column, draw)


def _one(column: Column, draw: random.Random) -> Any:
    if column.shape is not None:
        return _body(column.shape, draw)
    return _DRAWN[column.kind](draw) if column.kind in _DRAWN else _number(column.kind, draw)


def _number(kind: str, draw: random.Random) -> int:
    bits = 8 * SIZES[kind]
    return draw.randrange(2**bits) if kind.startswith("u") else draw.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1))


_DRAWN: Final[Mapping[str, Callable[[random.Random], Any]]] = {
    "string": lambda draw: draw.choice(_TEXTS),
    "bytes": lambda draw: draw.randbytes(draw.choice((0, 1, 20, 200))),
    "uuid": lambda draw: draw.choice((None, _UUID)),
    "bool": lambda draw: draw.random() < 0.5,
}


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    segment = write_topic(asked.release, asked.folder, records=asked.records, seed=asked.seed)
    print(compare([segment], read_by_kafka(asked.release, [segment], asked.folder / "kafka.ndjson")).text)


if __name__ == "__main__":
    _main()
