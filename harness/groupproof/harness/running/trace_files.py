"""Reads traces in files and folders as streams, in NDJSON (plain or gzip) and Parquet; raises one clear error for a file that is no trace."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.running.extras import cure
from groupproof.harness.running.trace_bodies import WrongBody, checked
from groupproof.protocol.trace import Observation, read_trace_blocks
from groupproof.protocol.trace_blocks import NoBlocks, TraceBlock, blocks_of_lines
from groupproof.protocol.trace_columns import MissingArrow, NotColumns, parquet_files, read_parquet, trace_schema

if TYPE_CHECKING:
    from groupproof.protocol.trace_blocks import BlockRows, Numbers
    from groupproof.protocol.trace_parts import TracePart

__all__ = ["blocks", "is_parquet", "need_columns", "parts", "reading", "stream", "trace_bytes", "traces_in"]

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_BLOCK_BYTES = 1 << 18


def traces_in(folder: Path) -> list[Path]:
    """Return the traces in a folder, at any depth; a folder of Parquet files is one trace. Raise `WrongUsage` where there is none."""
    if found := sorted([*folder.rglob("trace*.ndjson"), *folder.rglob("trace*.ndjson.gz")]):
        return found
    if parquet_files(folder):
        return [folder]
    raise WrongUsage(f"there is no trace.ndjson in {folder}, and no Parquet")


def need_columns() -> None:
    """Raise `BrokenEnvironment` where the extra for Parquet is not installed."""
    try:
        trace_schema()
    except MissingArrow as error:
        raise missing_arrow(error) from error


def missing_arrow(error: MissingArrow) -> BrokenEnvironment:
    """Return the error to raise instead: one line with the command that installs the package."""
    return BrokenEnvironment(f"{error}; get it with: {cure('spark')}")


def is_parquet(path: Path) -> bool:
    """Return whether a path is a folder of Parquet files, or a file that begins as one."""
    if path.is_dir() or path.suffix == ".parquet":
        return True
    with reading(path), path.open("rb") as file:
        return file.read(4) == _PARQUET


def stream(path: Path) -> Iterator[Observation]:
    """Yield the observations of a file or a folder of Parquet files; raise `WrongUsage` if it is no trace, `BrokenEnvironment` without pyarrow."""
    with reading(path):
        if is_parquet(path):
            yield from checked(read_parquet(path))
        else:
            yield from checked(read_trace_blocks(_blocks(path)))


def parts(path: Path) -> list[TracePart] | None:
    """Return the parts of a Parquet trace that can be read separately; None for NDJSON, or if the parts are unclear. Raise `WrongUsage`."""
    if not is_parquet(path):
        return None
    from pyarrow import ArrowException

    from groupproof.protocol.trace_parts import parts_of

    with reading(path):
        try:
            return parts_of(parquet_files(path), path)
        except ArrowException:  # reading it row by row names the bad file
            return None


def blocks(path: Path, part: TracePart | None = None) -> Iterator[TraceBlock]:
    """Yield a trace, or a part of a Parquet trace, in blocks of many rows.

    Raise `NoBlocks` and `NotColumns` where it has to be read row by row, and the errors of `stream`.
    """
    with _opening(path):
        if not is_parquet(path):
            yield from map(_checked_block, blocks_of_lines(_blocks(path)))
        else:
            from groupproof.protocol.trace_column_blocks import blocks_of_parquet
            from groupproof.protocol.trace_parts import FileSlice

            found = blocks_of_parquet([FileSlice(file) for file in parquet_files(path)] if part is None else part.slices, path)
            yield from map(_checked_block, found)


class _CheckedRows:
    """Rows of a block whose bodies are checked when they become observations. A wrong one is left to the reading by rows, which names its place."""

    def __init__(self, rows: BlockRows) -> None:
        self._rows = rows
        self.offsets, self.are_bare, self.name_partitions = rows.offsets, rows.are_bare, rows.name_partitions

    def observations(self, places: Numbers) -> list[Observation]:
        try:
            return list(checked(self._rows.observations(places)))
        except WrongBody as error:
            raise NoBlocks(str(error)) from error


def _checked_block(block: TraceBlock) -> TraceBlock:
    return replace(block, source=_CheckedRows(block.source))


def trace_bytes(path: Path) -> int:
    """Return the size of a trace's files in bytes; 0 where it cannot be read."""
    try:
        return sum(file.stat().st_size for file in (parquet_files(path) if path.is_dir() else [path]))
    except OSError:
        return 0


def _blocks(path: Path, size: int = _BLOCK_BYTES) -> Iterator[bytes]:
    """Yield a file in blocks of whole lines."""
    with path.open("rb") as file:
        is_packed = file.read(2) == _GZIP
    with gzip.open(path, "rb") if is_packed else path.open("rb") as lines:
        while block := lines.read(size):
            yield block + lines.readline()


def _line_of(path: Path, row: int) -> str:
    """Return the name of an observation's place in a file: its line, or its row in columns. An empty line is no observation."""
    if is_parquet(path):
        return f"row {row}"
    lines = (number for block in [b"".join(_blocks(path))] for number, line in enumerate(block.splitlines(), 1) if line.strip())
    return f"line {next(islice(lines, row - 1, None))}"


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors of reading a trace into one line for the user who named it."""
    try:
        with _opening(path):
            yield
    except NotColumns as error:
        raise WrongUsage(str(error)) from error


@contextmanager
def _opening(path: Path) -> Iterator[None]:
    """Do as `reading`, but let `NotColumns` pass."""
    try:
        yield
    except MissingArrow as error:
        raise missing_arrow(error) from error
    except NotColumns:
        raise
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise WrongUsage(f"{path} is no whole gzip file: {error}") from error
    except WrongBody as error:
        raise WrongUsage(f"{path} is no trace: {_line_of(path, error.row)}: {error}") from error
    except OSError as error:
        raise WrongUsage(f"can't read the trace {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise WrongUsage(f"{path} is no trace in NDJSON: {error}") from error
