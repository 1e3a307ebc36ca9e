"""The trace as columns (contract, "The trace"): the Arrow schema, conversion between observations and record batches, and Parquet files and folders.

The columns are those of an NDJSON line, and a round trip has the same result as one through lines. `body` is JSON text. pyarrow comes with the extra
`groupproof[spark]`. It is imported here only, at the first use of columns.
"""

from __future__ import annotations

import heapq
import json
import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import msgspec

from groupproof.protocol.trace import Observation, plain, restored

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = [
    "BATCH_ROWS", "DEFAULTS", "EXTRA", "MissingArrow", "NotColumns", "batches_of", "columns_of_folders", "from_batch", "numbers_in", "parquet_files", "parquet_writer", "read_parquet", "to_batch", "trace_schema", "write_parquet",
]  # fmt: skip

BATCH_ROWS: Final = 16_384
"""The default number of rows in a record batch, and in a row group of Parquet."""

EXTRA: Final = "groupproof[spark]"

_TYPES: Final = {
    "seq": "int64", "at_ns": "int64", "run": "string", "case": "string", "seed": "int64", "clock": "string", "who": "string", "node": "int32",
    "connection": "int64", "client": "string", "kind": "string", "api": "string", "version": "int32", "correlation": "int64", "group": "string",
    "member": "string", "instance": "string", "generation": "int32", "member_epoch": "int32", "state_before": "string", "state_after": "string", "rule": "string",
    "error": "int32", "partitions": "partitions", "offsets": "offsets", "fault": "string", "body": "string", "raw": "binary", "detail": "string",
}  # fmt: skip
_NEEDED: Final = ("seq", "at_ns", "kind")
DEFAULTS: Final[Mapping[str, Any]] = {"run": "", "case": "", "seed": 0, "clock": "wall", "who": "coordinator"}
"""The value of a missing column, or of a row without a value in it."""
_SEEDS: Final = 1 << 64
"""The kit's seeds are unsigned 64-bit numbers, which Spark has no column for. In a column the upper half of them is negative."""

_NO_VALUE: Final = "__HIVE_DEFAULT_PARTITION__"
_FROM_FOLDERS: Final = ("run", "group")


class MissingArrow(Exception):
    """The extra with pyarrow is not installed. `str()` is one line that names it."""


class NotColumns(ValueError):
    """A file or a batch without a trace, or with an incomplete one. `str()` is one line that gives the reason."""


@cache
def _arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingArrow(f"columns and Parquet need pyarrow, which comes with {EXTRA}") from error
    return pyarrow


@cache
def trace_schema() -> pa.Schema:
    """Return the schema of a trace; raise `MissingArrow`. Partitions are a list of (topic, partition), offsets of (topic, partition, offset)."""
    arrow = _arrow()
    place = [arrow.field("topic", arrow.string()), arrow.field("partition", arrow.int32())]
    nested = {"partitions": place, "offsets": [*place, arrow.field("offset", arrow.int64())]}
    types = {name: arrow.list_(arrow.struct(nested[kind])) if kind in nested else getattr(arrow, kind)() for name, kind in _TYPES.items()}
    return arrow.schema([arrow.field(name, kind, nullable=name not in _NEEDED) for name, kind in types.items()])


def to_batch(observations: Iterable[Observation]) -> pa.RecordBatch:
    """Return the observations as one batch of `trace_schema()`; raise `NotColumns` for a value that does not fit into its column."""
    rows, schema = list(observations), trace_schema()
    try:
        arrays = [_arrow().array(_values(field.name, rows), type=field.type) for field in schema]
    except (_arrow().ArrowException, OverflowError, UnicodeError, TypeError) as error:
        raise NotColumns(f"an observation does not fit the columns of a trace: {_line(error)}") from error
    return _arrow().RecordBatch.from_arrays(arrays, schema=schema)


def _values(name: str, rows: list[Observation]) -> list[Any]:
    values = [getattr(obs, name) for obs in rows]
    if name == "seed":
        return [(seed + _SEEDS // 2) % _SEEDS - _SEEDS // 2 for seed in values]
    if name == "body":
        return [json.dumps(plain(body), separators=(",", ":")) if body else "{}" for body in values]
    if name == "partitions":
        return [[{"topic": topic, "partition": partition} for topic, partition in value] for value in values]
    if name == "offsets":
        return [[{"topic": topic, "partition": partition, "offset": offset} for topic, partition, offset in value] for value in values]
    return values


def from_batch(batch: pa.RecordBatch) -> Iterator[Observation]:
    """Yield the batch's observations. Columns may be in any order and of any losslessly convertible type; unknown columns are ignored.

    A missing or empty column has its default. Raise `NotColumns` where `seq`, `at_ns` or `kind` is missing, or a column has another type.
    """
    fields = [field for field in trace_schema() if field.name in batch.schema.names]
    if missing := [name for name in _NEEDED if name not in batch.schema.names]:
        raise NotColumns(f"it lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)} of a trace")
    columns = [(field.name, _read(field, batch.column(batch.schema.get_field_index(field.name)))) for field in fields]
    filled = [(name, values) for name, values in columns if values is not None]
    yield from map(_maker(tuple(name for name, _ in filled)), *(values for _, values in filled))


@cache
def _maker(names: tuple[str, ...]) -> Callable[..., Observation]:
    """Return the function that makes an observation of the values of these columns. With the names written out, Python calls a class in half of the time."""
    made: Callable[..., Observation] = eval(  # the names are those of the trace's schema
        f"lambda {', '.join(names)}: Observation({', '.join(f'{name}={name}' for name in names)})", {"Observation": Observation}
    )
    return made


def _read(field: pa.Field, column: pa.Array) -> list[Any] | None:
    """Return the column's values in the form of `Observation`; None where all are the default."""
    if column.type != field.type and not _has_few_codes(field, column):
        try:
            column = column.cast(field.type)
        except _arrow().ArrowException as error:
            raise NotColumns(f"its column {field.name} is {column.type}, where a trace has {field.type}") from error
    if field.name in _NEEDED and column.null_count:
        raise NotColumns(f"its column {field.name} has rows without a value")
    if column.null_count == len(column) and field.name not in _NEEDED:
        return None
    if field.name in ("partitions", "offsets"):
        return _places(column)
    if field.name == "body":
        return _shared(column, _body, _body(None))
    if field.name in _COUNTERS:
        return _numbers(column) if not column.null_count else column.to_pylist()
    default = DEFAULTS.get(field.name)
    if field.name == "seed":
        return _shared(column, lambda seed: seed + _SEEDS if seed < 0 else seed, default)
    return _shared(column, lambda value: value, default)


def _has_few_codes(field: pa.Field, column: pa.Array) -> bool:
    """Return whether a column has codes for its values, and not many more than its rows use."""
    is_coded = isinstance(column, _arrow().DictionaryArray) and column.type.value_type == field.type
    return is_coded and len(column.dictionary) <= len(column)


_COUNTERS: Final = frozenset({"seq", "at_ns", "connection", "correlation"})
"""Columns whose values are rarely repeated."""


def _numbers(column: pa.Array, empty: int = 0) -> list[int]:
    numbers: list[int] = numbers_in(column, empty).tolist()
    return numbers


def numbers_in(column: pa.Array, empty: int = 0) -> NDArray[Any]:
    """Return the whole numbers of a column, `empty` in rows without a value. pyarrow's `to_numpy` and `fill_null` import pandas, which takes as long as
    a million rows.
    """
    import numpy as np

    of_type, values = np.dtype(str(column.type)), column.buffers()[1]
    if values is None:
        return np.full(len(column), empty, of_type)
    numbers = np.frombuffer(values, of_type, count=len(column), offset=column.offset * of_type.itemsize)
    if not column.null_count:
        return numbers
    bits = column.is_valid()
    is_valid = np.unpackbits(np.frombuffer(bits.buffers()[1], np.uint8), bitorder="little")[bits.offset : bits.offset + len(column)]
    return np.where(is_valid, numbers, of_type.type(empty))


def _shared(column: pa.Array, convert: Callable[[Any], Any], empty: Any) -> list[Any]:
    """Return the values, with one shared, never modified object for equal ones: most columns have few distinct values."""
    encoded = column if isinstance(column, _arrow().DictionaryArray) else column.dictionary_encode()
    values = [convert(value) for value in encoded.dictionary.to_pylist()]
    values.append(empty)
    return [values[place] for place in _numbers(encoded.indices, len(values) - 1)]


def _places(column: pa.Array) -> list[Any] | None:
    """Return a tuple of places for each row; None where no row has any."""
    columns = [inner.to_pylist() for inner in column.flatten().flatten()]
    places = list(zip(*columns, strict=True))
    if not places:
        return None
    ends = list(accumulate(_numbers(column.value_lengths())))
    return [tuple(places[begin:end]) for begin, end in pairwise([0, *ends])]


_MARKED: Final = re.compile(r"b64:|txt:|\\u00")  # most bodies have no bytes, and are unchanged by `restored`


def _body(text: str | None) -> dict[str, Any]:
    if not text or text == "{}":
        return {}
    try:
        body = restored(_json(text)) if _MARKED.search(text) else _json(text)
    except ValueError as error:
        raise NotColumns(f"its column body has a row that is no JSON: {error}") from error
    if not isinstance(body, dict):
        raise NotColumns(f"its column body has a row that is no JSON object: {text[:80]}")
    return body


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (ValueError, RecursionError):  # json also accepts text that is not strict JSON: NaN, single surrogates
        return json.loads(text)


def write_parquet(path: Path, observations: Iterable[Observation], *, rows: int = BATCH_ROWS) -> int:
    """Write one file with a row group for every `rows` observations; return their number. The file appears when it is complete. Raise `OSError`."""
    count = 0
    with parquet_writer(path, rows=rows) as add:
        for obs in observations:
            add(obs)
            count += 1
    return count


@contextmanager
def parquet_writer(path: Path, *, rows: int = BATCH_ROWS) -> Iterator[Callable[[Observation], None]]:
    """Yield the function that adds an observation to a file. At most `rows` are buffered. The file appears when it is complete. Raise `OSError`."""
    unfinished, waiting = path.with_name(f".{path.name}.part"), list[Observation]()
    try:
        with _arrow().parquet.ParquetWriter(unfinished, trace_schema(), compression="zstd") as writer:

            def write() -> None:
                writer.write_batch(to_batch(waiting), row_group_size=rows)
                waiting.clear()

            def add(obs: Observation) -> None:
                waiting.append(obs)
                if len(waiting) >= rows:
                    write()

            yield add
            if waiting:
                write()
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def read_parquet(path: Path, *, root: Path | None = None) -> Iterator[Observation]:
    """Yield the observations of a file, or of a folder's files merged by `seq`, in each file's own order. One batch of each file is in memory.

    The name of a folder below `root` (by default `path`) gives the run or the group (`run=…/group=…`, as Spark writes partitions) where the file has
    no such column.

    Raise `NotColumns` with the file's name where it is truncated, not Parquet or not a trace; `MissingArrow`; `OSError`.
    """
    files = parquet_files(path)
    if len(files) == 1:
        return _file(files[0], root or path)
    return heapq.merge(*(_file(file, root or path) for file in files), key=lambda obs: obs.seq)


def parquet_files(path: Path) -> list[Path]:
    """Return the files of `path` by name: itself, or all files of a folder that are not hidden or unfinished."""
    if not path.is_dir():
        return [path]
    found = (file for file in path.rglob("*.parquet") if not any(part.startswith((".", "_")) for part in file.relative_to(path).parts))
    return sorted(found)


def _file(file: Path, root: Path) -> Iterator[Observation]:
    with _reading(file):
        for batch in batches_of(file, root):
            yield from from_batch(batch)


def batches_of(
    file: Path, root: Path, *, rows: int = BATCH_ROWS, row_groups: Sequence[int] | None = None, is_coded: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the trace columns of a file or of some row groups, with the columns in the folder names below `root`. `is_coded` makes texts codes."""
    in_folders = columns_of_folders(file, root)
    coded = _texts_of(file) if is_coded else None
    with _arrow().parquet.ParquetFile(file, memory_map=False, read_dictionary=coded) as opened:
        added = {name: value for name, value in in_folders.items() if name not in opened.schema_arrow.names}
        columns = [name for name in opened.schema_arrow.names if name in _TYPES]
        for batch in opened.iter_batches(batch_size=rows, row_groups=row_groups, columns=columns):
            for name, value in added.items():
                batch = batch.append_column(name, _repeated(value, batch.num_rows))
            yield batch


def _repeated(text: str | None, rows: int) -> pa.Array:
    """Return a column with the same text in each row. `pyarrow.array` imports pandas too."""
    arrow = _arrow()
    if text is None:
        return arrow.nulls(rows, arrow.string())
    value = text.encode()
    one = arrow.StringArray.from_buffers(1, arrow.py_buffer(array("i", (0, len(value)))), arrow.py_buffer(value))
    return arrow.repeat(one[0], rows)


def _texts_of(file: Path) -> list[str]:
    """Return the file's text columns that are texts in a trace."""
    text = _arrow().string()
    return [field.name for field in _arrow().parquet.read_schema(file) if _TYPES.get(field.name) == "string" and field.type == text]


def columns_of_folders(file: Path, root: Path) -> dict[str, str | None]:
    """Return the columns in the folder names between `root` and `file`. Spark has one name for both null and the empty text."""
    pairs = (part.split("=", 1) for part in (root.name, *file.relative_to(root).parts[:-1]) if "=" in part)
    return {name: None if value == _NO_VALUE else unquote(value) for name, value in pairs if name in _FROM_FOLDERS}


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    try:
        yield
    except NotColumns as error:
        raise NotColumns(f"{file} holds no trace: {error}") from error
    except (_arrow().ArrowException, UnicodeError) as error:
        raise NotColumns(f"{file} can't be read as Parquet: {_line(error)}") from error


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
