"""Counts by Spark the observations that are out of their place in the files of a trace, as the in-process check counts them.

An observation is out of its place if an earlier row of its file has a higher `seq`. Spark may read a file in several pieces: each piece reports its
highest `seq`, and later pieces are counted again with it. A folder merged by `seq` has the sum of its files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from groupproof.harness.running.trace_files import is_parquet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["displaced_in"]

Piece = tuple[str, int]
"""A file, and the begin of the piece in it."""

_LOWEST: Final = np.iinfo(np.int64).min


def displaced_in(spark: SparkSession, files: Sequence[Path]) -> int:
    """Return the number of observations in these files and folders that are out of their place; rows without a number do not count."""
    numbered = [_numbers(spark, file) for file in files]
    return sum(_displaced(rows) for rows in numbered if rows is not None)


def _numbers(spark: SparkSession, file: Path) -> DataFrame | None:
    """Return the `seq` of each row with its piece, in the order of the file; None for a folder without files."""
    from pyspark.sql import functions as f

    if not is_parquet(file):
        frame, seq = spark.read.text(str(file)), f.get_json_object("value", "$.seq").try_cast("long")
    elif file.is_dir() and not any(file.rglob("*.parquet")):
        return None
    else:
        frame, seq = spark.read.parquet(str(file)), f.col("seq").cast("long")
    return frame.select(seq.alias("seq"), f.col("_metadata.file_path").alias("piece"), f.col("_metadata.file_block_start").alias("start"))


def _displaced(numbers: DataFrame) -> int:
    counts = numbers.mapInArrow(_counter({}), _COUNT_SCHEMA).collect()
    before = _before((row["piece"], row["start"], row["highest"]) for row in counts)
    if not before:
        return sum(row["displaced"] for row in counts)
    return sum(row["displaced"] for row in numbers.mapInArrow(_counter(before), _COUNT_SCHEMA).collect())


_COUNT_SCHEMA: Final = "piece string, start long, highest long, displaced long"


def _before(pairs: Iterable[tuple[str, int, int]]) -> dict[Piece, int]:
    """Return the highest number before each piece that is not its file's first."""
    before: dict[Piece, int] = {}
    highest: dict[str, int] = {}
    for path, start, most in sorted(pairs):
        if path in highest:
            before[path, start] = highest[path]
        highest[path] = max(most, highest.get(path, most))
    return before


def _counter(before: Mapping[Piece, int]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function for `mapInArrow` that returns each piece's highest number, and its rows after a higher one."""

    def counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found: dict[Piece, list[int]] = {}
        for batch in batches:
            for piece, seqs in _pieces(batch):
                counts = found.setdefault(piece, [before.get(piece, _LOWEST), 0])
                behind, counts[0] = _behind(seqs, counts[0])
                counts[1] += behind
        if found:
            rows = [{"piece": path, "start": start, "highest": most, "displaced": behind} for (path, start), (most, behind) in found.items()]
            yield pa.RecordBatch.from_pylist(rows)

    return counted


def _pieces(batch: pa.RecordBatch) -> Iterator[tuple[Piece, Any]]:
    """Yield the numbers of each piece in a batch, in their order."""
    kept = batch.filter(batch.column(0).is_valid())
    if not kept.num_rows:
        return
    seqs, paths, starts = (np.asarray(column) for column in (kept.column(0), kept.column(1).dictionary_encode().indices, kept.column(2)))
    names = kept.column(1).dictionary_encode().dictionary
    edges = np.flatnonzero((np.diff(paths) != 0) | (np.diff(starts) != 0)) + 1
    for some in np.split(np.arange(len(seqs)), edges):
        yield (names[int(paths[some[0]])].as_py(), int(starts[some[0]])), seqs[some]


def _behind(seqs: Any, highest: int) -> tuple[int, int]:
    """Return how many numbers are below an earlier one, and the highest so far."""
    so_far = np.maximum.accumulate(np.concatenate(([highest], seqs)))
    return int(np.count_nonzero(seqs < so_far[:-1])), int(so_far[-1])
