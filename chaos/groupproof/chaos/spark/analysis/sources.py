"""The sources of observations: traces in files and folders, the sides of a load, and recordings of brokers, clients and networks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from groupproof.chaos.spark.load.resume import COORDINATOR, FILE, MEMBERS, TAP
from groupproof.chaos.spark.traces.trace_rows import check_columns, frame_of, placed_schema
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.running.importing.import_files import FileKind, import_files, kind_of
from groupproof.harness.running.trace_files import is_parquet, traces_in
from groupproof.protocol.trace_columns import parquet_files, to_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["SIDES", "Source", "raw_of", "sources_of"]

SIDES: Final = (MEMBERS, TAP, COORDINATOR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A trace; `side` is a load's side, `release` its clients'; `run` is the load's, for a broker's log. `observations` are imported ones."""

    path: Path
    side: str = ""
    release: str | None = None
    run: str | None = None
    observations: pa.RecordBatch | None = None


def sources_of(paths: Iterable[Path]) -> list[Source]:
    """Return the traces in files and folders: each side of a load's folder, and one of all logs and captures. Raise `WrongUsage` for another file."""
    found, logs = list[Source](), list[Path]()
    for path in paths:
        if (path / FILE).is_file():
            found += _of_load(path)
        elif path.is_dir():
            found += [Source(path=trace) for trace in traces_in(path)]
        elif is_parquet(path):
            check_columns(path)
            found.append(Source(path=path))
        elif kind_of(path) is FileKind.TRACE:
            found.append(Source(path=path))
        else:
            logs.append(path)
    return [*found, *([Source(path=logs[0], observations=_imported(logs))] if logs else [])]


def _of_load(folder: Path) -> list[Source]:
    try:
        load = json.loads((folder / FILE).read_text("utf-8"))
        release, runs = str(load["order"]["client"]), [str(session["run"]) for session in load["sittings"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WrongUsage(f"{folder / FILE} is no load's: {error}") from error
    sides = [side for side in SIDES if parquet_files(folder / side) and (folder / side).is_dir()]
    if not sides:
        raise WrongUsage(f"the load in {folder} has sealed nothing yet")
    return [Source(path=folder / side, side=side, release=release, run=_run_of(folder / side, runs)) for side in sides]


def _run_of(side: Path, runs: Sequence[str]) -> str | None:
    """Return the run of a broker's log, which names none: the load's, if it is part of a load."""
    own = {path.name for path in side.iterdir() if path.is_dir()}
    return runs[0] if len(runs) == 1 and f"run={runs[0]}" not in own else None


def raw_of(spark: SparkSession, sources: Sequence[Source]) -> DataFrame:
    """Return the observations with their place, `side` and `source_release`; raise `WrongUsage` for a file that is no trace."""
    frames = [
        _marked(spark.createDataFrame(pa.Table.from_batches([source.observations]), placed_schema()), source)
        for source in sources
        if source.observations is not None
    ]
    files = [source for source in sources if source.observations is None]
    frames += [_marked(frame_of(spark, [file.path], is_placed=True), file) for file in files if _is_alone(file)]
    if lines := [file.path for file in files if not _is_alone(file)]:
        frames.append(_marked(frame_of(spark, lines, is_placed=True), Source(path=lines[0])))
    whole = frames[0]
    for rows in frames[1:]:
        whole = whole.unionByName(rows)
    return whole


def _is_alone(source: Source) -> bool:
    return bool(source.side) or is_parquet(source.path)


def _marked(frame: DataFrame, source: Source) -> DataFrame:
    from pyspark.sql import functions as f

    rows = frame.withColumn("side", f.lit(source.side)).withColumn("source_release", f.lit(source.release).cast("string"))
    return rows if source.run is None else rows.withColumn("run", f.lit(source.run))


def _imported(logs: Sequence[Path]) -> pa.RecordBatch:
    """Return the observations of all logs and captures, which make one trace."""
    batch = to_batch(import_files(logs))
    place = {"file": str(logs[0]), "segment": str(logs[0])}
    for name, value in place.items():
        batch = batch.append_column(name, pa.array([value] * batch.num_rows, pa.string()))
    batch = batch.append_column("block", pa.array([0] * batch.num_rows, pa.int64()))
    return batch.append_column("row", pa.array(range(batch.num_rows), pa.int64()))
