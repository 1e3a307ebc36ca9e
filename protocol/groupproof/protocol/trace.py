"""Observations and traces: the kit's one event format, one JSON object in each line (contract, "The trace", version 1).

Every verdict is a pure function of a trace. `seq` is the total order; `at_ns` counts from the run's start.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import Field, field, make_dataclass
from typing import Any, ClassVar, Final

import msgspec

from groupproof.protocol.vocabulary import TopicPartition

__all__ = [
    "ExchangeId", "Observation", "Offsets", "Recorder", "Trace", "plain", "read_trace", "read_trace_blocks", "restored", "write_trace",
]  # fmt: skip


Partitions = tuple[TopicPartition, ...]
Offsets = tuple[tuple[str, int, int], ...]
ExchangeId = tuple[int | None, int | None]
"""Connection and correlation id, which identify a request, its processing and its answer."""


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a trace.

    `who` is coordinator, member, link, shim or kit (the driver of a case). `node` is the broker id; `connection` is the kit's number of the TCP
    connection. `kind` is request (arrival), processed (the coordinator processed it), response (its bytes were sent), transition, fault, timer or
    event. `member` is the member id on the wire. `client` is the client id, which in a case is the member's name (m0, m1, …). `generation` is the
    classic group's; `member_epoch` is the epoch of a consumer group's member (KIP-848). `body` is the decoded message, or the event's own fields.

    It is a struct, because a struct is made and read from JSON several times as fast as a dataclass. `dataclasses.replace` and `fields` work on it as
    well.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    seq: int
    at_ns: int
    run: str = ""
    case: str = ""
    seed: int = 0
    clock: str = "wall"
    who: str = "coordinator"
    node: int | None = None
    connection: int | None = None
    client: str | None = None
    kind: str
    api: str | None = None
    version: int | None = None
    correlation: int | None = None
    group: str | None = None
    member: str | None = None
    instance: str | None = None
    generation: int | None = None
    member_epoch: int | None = None
    state_before: str | None = None
    state_after: str | None = None
    rule: str | None = None
    error: int | None = None
    partitions: Partitions = ()
    offsets: Offsets = ()
    fault: str | None = None
    body: dict[str, Any] = msgspec.field(default_factory=dict)
    raw: bytes | None = None
    detail: str | None = None

    @property
    def at_ms(self) -> float:
        return self.at_ns / 1e6

    @property
    def exchange_id(self) -> ExchangeId:
        return self.connection, self.correlation

    def to_json(self) -> dict[str, Any]:
        """Return the columns that differ from their default, in JSON types: bytes as base64 after `b64:`, a text with such a prefix after `txt:`."""
        values = zip(_LEFT_OUT, msgspec.structs.astuple(self), strict=True)
        return {
            name: value if isinstance(value, str) else plain(value)
            for (name, default), value in values
            if value is not default and value != default  # usually it is the default object itself
        }

    @classmethod
    def from_json(cls, columns: dict[str, Any]) -> Observation:
        """Return the observation of a JSON object; raise `ValueError` that names a missing column, or one whose value has another type. Unknown columns
        are ignored (contract)."""
        if not isinstance(columns, dict):
            raise ValueError(f"{_excerpt(columns)} is no JSON object")
        present = {name: columns[name] for name in _DEFAULTS.keys() & columns.keys()}
        if missing := {"seq", "at_ns", "kind"} - present.keys():
            raise ValueError(f"a trace line lacks {', '.join(sorted(missing))}")
        present["body"] = restored(present.get("body", {}))
        if present.get("raw") is not None:
            present["raw"] = restored(present["raw"])
        try:
            return msgspec.convert(present, cls, builtin_types=(bytes,))
        except msgspec.ValidationError as error:
            raise ValueError(_wrong_type(present, str(error))) from error


_WRONG_TYPE: Final = re.compile(r"Expected `(?P<due>[^`]+)`.* at `\$\.(?P<column>\w+)")
_DUE: Final = {"int": "a whole number", "str": "a text", "object": "an object", "bytes": "base64 after b64:", "null": "null"}
_LISTS: Final = {"partitions": "a list of [topic, partition]", "offsets": "a list of [topic, partition, offset]"}
_EXCERPT_MAX: Final = 60


def _wrong_type(columns: dict[str, Any], error: str) -> str:
    """Return which column has a value of another type, with the value, by an error of msgspec."""
    found = _WRONG_TYPE.search(error)
    if found is None or found["column"] not in columns:
        return error
    column, kinds = found["column"], found["due"].split(" | ")
    due = _LISTS.get(column) or " or ".join(_DUE.get(kind, kind) for kind in kinds)
    return f"its column {column} is {_excerpt(columns[column])}, where a trace has {due}"


def _excerpt(value: Any) -> str:
    text = json.dumps(plain(value), ensure_ascii=False, default=str)
    return text if len(text) <= _EXCERPT_MAX else f"{text[: _EXCERPT_MAX - 1]}…"


def _dataclass_fields() -> dict[str, Field[Any]]:
    columns = [(column.name, column.type, _field_of(column)) for column in msgspec.structs.fields(Observation)]
    like: Any = make_dataclass("Observation", columns, kw_only=True)
    fields: dict[str, Field[Any]] = like.__dataclass_fields__
    return fields


def _field_of(column: msgspec.structs.FieldInfo) -> Any:
    if column.required:
        return field()
    return field(default_factory=dict) if column.default is msgspec.NODEFAULT else field(default=column.default)


Observation.__dataclass_fields__ = _dataclass_fields()
_DEFAULTS: dict[str, Any] = {
    column.name: {} if column.default is msgspec.NODEFAULT else column.default for column in msgspec.structs.fields(Observation)
}
_ALWAYS: Final = frozenset({"seq", "at_ns", "kind", "who", "clock"})
_LEFT_OUT: Final = tuple((name, _ALWAYS if name in _ALWAYS else default) for name, default in _DEFAULTS.items())
"""The columns in order, each with the value that a line leaves out. No column has the value `_ALWAYS`."""


_AS_THEY_ARE: Final = frozenset({int, bool, float, type(None)})
_MARKS: Final = ("b64:", "txt:")


def plain(value: Any) -> Any:
    """Return `value` in JSON types: bytes as base64 after `b64:`, a text with such a prefix after `txt:`."""
    kind = type(value)  # nearly all values have exactly these types
    if kind is str:
        return "txt:" + value if value.startswith(_MARKS) else value
    if kind in _AS_THEY_ARE:
        return value
    if kind is dict:
        return {str(key): plain(item) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [plain(item) for item in value]
    return _plain_of_any(value)


def _plain_of_any(value: Any) -> Any:
    if isinstance(value, bytes):
        return "b64:" + base64.b64encode(value).decode()
    if isinstance(value, str) and value.startswith(_MARKS):
        return "txt:" + value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def restored(value: Any) -> Any:
    """Return the value from which `plain` made `value`. A tuple becomes a list."""
    kind = type(value)
    if kind is str:
        return _restored_text(value) if value.startswith(_MARKS) else value
    if kind is dict:
        return {key: restored(item) for key, item in value.items()}
    if kind is list:
        return [restored(item) for item in value]
    return value


def _restored_text(text: str) -> str | bytes:
    mark, rest = text[:4], text[4:]
    return base64.b64decode(rest) if mark == "b64:" else rest


Trace = list[Observation]


class Recorder:
    """Collects observations in order and notifies listeners. Time comes from `now_ns`.

    With `keeps` False it only notifies and collects nothing, for a server that runs for days.
    """

    def __init__(self, now_ns: Callable[[], int], *, keeps: bool = True, **constant: Any) -> None:
        self.trace: Trace = []
        self._keeps = keeps
        self._next = 0
        self._now_ns = now_ns
        self._constant = constant
        self._listeners: tuple[Callable[[Observation], None], ...] = ()
        self.is_heard = keeps
        """Whether observations are kept or listened to. If not, the caller need not describe anything."""

    def record(self, kind: str, **columns: Any) -> Observation:
        """Append one observation at this instant and notify the listeners."""
        obs = Observation(seq=self._next, at_ns=self._now_ns(), kind=kind, **{**self._constant, **columns})
        self._next += 1
        if self._keeps:
            self.trace.append(obs)
        for listener in self._listeners:
            listener(obs)
        return obs

    def listen(self, listener: Callable[[Observation], None]) -> Callable[[], None]:
        """Call `listener` with every later observation; return the function that stops this."""
        self._listeners = (*self._listeners, listener)
        self.is_heard = True

        def stop() -> None:
            place = self._listeners.index(listener)
            self._listeners = (*self._listeners[:place], *self._listeners[place + 1 :])
            self.is_heard = self._keeps or bool(self._listeners)

        return stop


def write_trace(trace: Iterable[Observation]) -> Iterator[str]:
    """Yield one JSON line for each observation, without the newline."""
    return map(_line, trace)


def _line(obs: Observation) -> str:
    row = _Row(*msgspec.structs.astuple(obs))
    row.body = plain(row.body)
    if row.partitions:
        row.partitions = plain(row.partitions)
    if row.offsets:
        row.offsets = plain(row.offsets)
    if row.raw is not None:
        row.raw = plain(row.raw)
    try:
        return _ENCODER.encode(row).decode()
    except (ValueError, OverflowError):  # half a surrogate pair in a client's output, or a number of more than 64 bits
        return json.dumps(obs.to_json(), separators=(",", ":"), ensure_ascii=False)


def _row_class() -> Any:
    columns: list[Any] = [(name, Any, msgspec.field(default_factory=dict) if default == {} else default) for name, default in _LEFT_OUT]
    return msgspec.defstruct("_Row", columns, omit_defaults=True)


_Row: Final = _row_class()
"""An observation in the form of a line. The encoder itself leaves out defaults, at a fraction of the cost of a check in Python."""

_ENCODER: Final = msgspec.json.Encoder()


def read_trace(lines: Iterable[str]) -> Iterator[Observation]:
    """Yield the observations of NDJSON lines; raise `ValueError` with the line's number for a broken one."""
    return _read_lines(lines, first=1)


def read_trace_blocks(blocks: Iterable[bytes]) -> Iterator[Observation]:
    """Yield the observations of NDJSON in blocks of whole lines, as `read_trace` does for lines; raise `ValueError`."""
    first = 1
    for block in blocks:
        whole = None if any(mark in block for mark in _BLOCK_MARKS) else _read_whole(block)
        if whole is None:
            lines = block.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")
            yield from _read_lines(lines, first=first)
            first += len(lines) - block.endswith((b"\n", b"\r"))
        else:
            yield from whole
            first += len(whole)


_LINE_MARKS: Final = ("b64:", "txt:", "\\u00", '"raw"')
"""A line without these is decoded directly: its body has no encoded bytes, and no text with such a prefix."""
_BLOCK_MARKS: Final = (b"\r", *(mark.encode() for mark in _LINE_MARKS))
_DECODER: Final = msgspec.json.Decoder(Observation)


def _read_whole(block: bytes) -> list[Observation] | None:
    """Return the observations of a block with one in each line; None where the lines need a closer check."""
    try:
        observations = _DECODER.decode_lines(block)
    except (ValueError, RecursionError):
        return None
    return observations if len(observations) == block.count(b"\n") + (not block.endswith(b"\n")) else None


def _read_lines(lines: Iterable[str], *, first: int) -> Iterator[Observation]:
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        yield _read_plain(line) or _read_any(line, number)


def _read_plain(line: str) -> Observation | None:
    if any(mark in line for mark in _LINE_MARKS):
        return None
    try:
        return _DECODER.decode(line)
    except (ValueError, RecursionError):
        return None


def _read_any(line: str, number: int) -> Observation:
    try:
        return Observation.from_json(json.loads(line))
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"line {number} is no observation: {error}") from error
