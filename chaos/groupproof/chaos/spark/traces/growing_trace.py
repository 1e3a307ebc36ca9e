"""A trace that may still be written: how far it reaches, and its content between two such positions, in pieces for separate tasks.

A file of lines reaches to the end of its last whole line. A folder of Parquet reaches, for each writer, to its newest segment: segments are
numbered in the order of sealing (`trace_segments.py`), and complete. The content between two positions never changes, so it can be read again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.running.trace_files import is_parquet, reading, stream, traces_in
from groupproof.protocol.trace import Observation, read_trace
from groupproof.protocol.trace_columns import parquet_files, read_parquet

__all__ = ["PIECE_BYTES", "Growing", "Piece", "Position", "read_piece"]

Position = Mapping[str, int]
"""Bytes by file of lines; the newest segment's number, counted from 1, by writer of segments."""

PIECE_BYTES: Final = 16 * 1024 * 1024
_TAIL_BYTES: Final = 64 * 1024
_SEGMENT: Final = re.compile(r"(?P<writer>.+)-(?P<number>\d{6,})\.parquet")
_LINES: Final = ("trace*.ndjson", "*.ndjson")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a trace below the folder `root`: the lines that begin between `start` and `end`, or a whole file with `end` None."""

    file: str
    root: str
    start: int = 0
    end: int | None = None


class Growing:
    """The trace at `path`: a file, or a folder with files of lines or of Parquet. Raise `WrongUsage` where it does not exist."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.exists():
            raise WrongUsage(f"there is no trace at {path}")

    def position(self) -> dict[str, int]:
        """Return how far it reaches now; raise `WrongUsage` where a file cannot be read."""
        position: dict[str, int] = {}
        for file in self._files():
            with reading(file):
                writer, number = _place(file) if is_parquet(file) or file.suffix == ".gz" else (str(file), _whole_lines(file))
                position[writer] = max(number, position.get(writer, 0))
        return position

    def pieces(self, start: Position, end: Position) -> list[Piece]:
        """Return its content from `start` to `end`; raise `WrongUsage` where a file has become shorter."""
        return [piece for file in self._files() for piece in self._of(file, start, end)]

    def _of(self, file: Path, start: Position, end: Position) -> Iterator[Piece]:
        if is_parquet(file) or file.suffix == ".gz":
            writer, number = _place(file)
            if start.get(writer, 0) < number <= end.get(writer, 0):
                yield Piece(str(file), str(self._path))
            return
        first, last = start.get(str(file), 0), end.get(str(file), 0)
        if last > file.stat().st_size:
            raise WrongUsage(f"{file} has become shorter since the last read: it is another trace now")
        for at in range(first, last, PIECE_BYTES):
            yield Piece(str(file), str(self._path), at, min(at + PIECE_BYTES, last))

    def _files(self) -> list[Path]:
        if self._path.is_file():
            return [self._path]
        lines = sorted(path for path in self._path.rglob("trace*.ndjson") if path.is_file())
        if lines or any(self._path.rglob("trace*.ndjson.gz")):
            return traces_in(self._path)
        return parquet_files(self._path)


def _place(file: Path) -> tuple[str, int]:
    """Return a segment's writer and its number from 1 on; another file is the only one of its own writer."""
    found = _SEGMENT.fullmatch(file.name)
    return (str(file), 1) if found is None else (str(file.with_name(found["writer"])), int(found["number"]) + 1)


def _whole_lines(file: Path) -> int:
    """Return the number of bytes in whole lines of a file, searching from its end."""
    with file.open("rb") as opened:
        end = opened.seek(0, 2)
        while end > 0:
            start = max(0, end - _TAIL_BYTES)
            opened.seek(start)
            if (at := opened.read(end - start).rfind(b"\n")) >= 0:
                return start + at + 1
            end = start
    return 0


def read_piece(piece: Piece, rows: int) -> Iterator[list[Observation]]:
    """Yield a piece's observations, `rows` at a time; raise `WrongUsage` with the file's name if it is no trace."""
    file = Path(piece.file)
    coming = stream_of(piece, file)
    with reading(file):
        while some := list(islice(coming, rows)):
            yield some


def stream_of(piece: Piece, file: Path) -> Iterator[Observation]:
    if piece.end is not None:
        return read_trace(_lines_between(file, piece.start, piece.end))
    return stream(file) if file.suffix == ".gz" else read_parquet(file, root=Path(piece.root))


def _lines_between(file: Path, start: int, end: int) -> Iterable[str]:
    """Yield the lines that begin between `start` and `end`; a line that is cut belongs to the piece in which it begins."""
    with file.open("rb") as opened:
        if start:
            opened.seek(start - 1)
            opened.readline()
        at = opened.tell()
        while at < end and (line := opened.readline()):
            at += len(line)
            yield line.decode("utf-8", "surrogateescape")
