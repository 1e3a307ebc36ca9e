"""`trace check --engine spark`: the same checkers over traces of any size.

Where files name the runs of their rows, a task reads runs that no other part has, in blocks, as one process does: no row goes through the
JVM. All other traces are shuffled. A trace that is judged whole (a case's run, a tap's trace) goes to one task per run. A fleet goes by group.
A link's event is copied to the groups on it, and a fault to every group of its run. Each group then comes in the order of `seq` to a checker
that is kept over the batches, so that no group must fit in memory. The results are small: one row per run, one per group.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from groupproof.chaos.spark.session import session
from groupproof.chaos.spark.traces.out_of_order import displaced_in
from groupproof.chaos.spark.traces.trace_rows import frame_of, readable
from groupproof.chaos.spark.worker_upkeep import spare_next_task
from groupproof.harness.cases.catalogue import every_case
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.checkers.live_group import GroupChecker, GroupResult
from groupproof.harness.judging.checkers.tracking.reader_registry import membership_apis
from groupproof.harness.judging.observed.group_results import results_of
from groupproof.harness.judging.ruling import Judgement, rule_on
from groupproof.harness.judging.script_judgement import judge_either
from groupproof.harness.model.case import Case
from groupproof.harness.running.block_reader import GroupBlocks
from groupproof.harness.running.rejudge import rejudged, split
from groupproof.harness.running.trace_check import CheckResult, files_of, in_order_of_appearance
from groupproof.harness.running.trace_reader import TELLS_WHOLE, CaseIds, is_whole
from groupproof.harness.running.trace_units import TraceUnit, read_unit, units_of
from groupproof.protocol.trace import Trace
from groupproof.protocol.trace_column_blocks import blocks_of_batches
from groupproof.protocol.trace_columns import from_batch, numbers_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["check_by_spark", "fleets_of"]

_CASES: Final = CaseIds(every_case)
_RUN: Final = ("file", "run", "case")
_KEY: Final = (*_RUN, "to_group")


def check_by_spark(paths: Iterable[Path], *, url: str = "local[*]") -> CheckResult:
    """Judge the traces as `check_files` does; raise `WrongUsage` for a file that is no trace, `BrokenEnvironment` where Spark does not run."""
    files = files_of(paths)
    spark = session("groupproof trace check", master=url)
    found, displaced = _Found(), 0
    with readable():
        rest = _judge_apart(spark, files, found)
        if rest:
            marked = _marked(frame_of(spark, [files[place] for place in rest])).persist()
            places = {str(files[place].resolve()): place for place in rest}
            try:
                _judge_runs(marked.where("is_whole"), places, found)
                found.groups += _judge_groups(marked.where("not is_whole"), places)
            finally:
                marked.unpersist()
            displaced = displaced_in(spark, [files[place] for place in rest])
    fleets, duplicates = found.fleets()
    return CheckResult(results=[*found.ruled(), *fleets], duplicates=duplicates, displaced=displaced)


@dataclass(frozen=True, slots=True, kw_only=True)
class _JudgedRun:
    """One run of a case in the catalogue, or the results of another trace."""

    case: str
    judgement: Judgement | None = None
    results: tuple[CaseResult, ...] = ()


@dataclass(slots=True)
class _Found:
    """The results of the tasks, each with its sort key: the place of its trace, its first number and its names."""

    runs: list[tuple[tuple[int, int, str, str], _JudgedRun]] = field(default_factory=list)
    groups: list[tuple[int, int, GroupResult]] = field(default_factory=list)

    def ruled(self) -> list[CaseResult]:
        """Return the rulings as `rejudged` does: the runs of a case together, in the order of their files and of appearance."""
        repeated, others = dict[str, list[Judgement]](), list[CaseResult]()
        for _, item in sorted(self.runs, key=lambda entry: entry[0]):
            others += item.results
            if item.judgement is not None:
                repeated.setdefault(item.case, []).append(item.judgement)
        cases = ((_cases_by_id()[name], judgements) for name, judgements in repeated.items())
        return [*(CaseResult(case=case, ruling=rule_on(case, judgements)) for case, judgements in cases), *others]

    def fleets(self) -> tuple[list[CaseResult], int]:
        """Return the results of each group with a member's request, in the order of files and of appearance, and the number of duplicates."""
        by_trace: dict[int, list[tuple[int, GroupResult]]] = {}
        for place, first, group in sorted(self.groups, key=lambda entry: entry[0]):
            by_trace.setdefault(place, []).append((first, group))
        groups = [group for of_trace in by_trace.values() for group in in_order_of_appearance(of_trace)]
        return [result for group in groups for result in results_of(group)], sum(group.duplicates for group in groups)


# Traces in units -------------------------------------------------------------------------------------------------------------------


def _judge_apart(spark: SparkSession, files: Sequence[Path], found: _Found) -> list[int]:
    """Judge the traces that tasks can read in units; return the places of the others."""
    units = [(place, unit) for place, file in enumerate(files) for unit in units_of(file, _TASK_ROWS) if unit.in_blocks]
    if len(units) < _UNITS_MIN:
        return list(range(len(files)))
    judged = [pickle.loads(some) for some in spark.sparkContext.parallelize(units, len(units)).map(_judge_unit).collect()]
    apart = {place for place, _ in units} - {place for place, some in judged if some is None}
    for place, some in judged:
        if place in apart:
            found.runs += some.runs
            found.groups += some.groups
    return [place for place in range(len(files)) if place not in apart]


_TASK_ROWS: Final = 1 << 17
"""A quarter of a second's work: much more than a task's start costs, and little enough that all cores end together."""
_UNITS_MIN: Final = 2
"""One unit would be one task; after a shuffle all cores share it."""


def _judge_unit(placed: tuple[int, TraceUnit]) -> bytes:
    """Return the place of the trace and the results of one of its units, None where it cannot be read separately."""
    place, unit = placed
    reading = read_unit(unit, _CASES)
    if reading is None:
        return pickle.dumps((place, None))
    runs = [((place, trace[0].seq, run[0].run, run[0].case), _judged(run)) for trace in reading.whole for run in split(trace)]
    spare_next_task()
    return pickle.dumps((place, _Found(runs, [(place, first, group) for first, group in reading.groups])))


# Traces judged whole ---------------------------------------------------------------------------------------------------------------


def _marked(frame: DataFrame) -> DataFrame:
    """Mark the rows whose run is judged whole: by its case, or because its trace names a tap's upstream or a case's origin."""
    from pyspark.sql import functions as f

    named = [row["case"] for row in frame.select("case").distinct().collect()]
    whole = [name for name in named if is_whole(name, _CASES)]
    tells = (f.col("who") == "kit") & f.get_json_object("body", "$.name").isin(*TELLS_WHOLE)
    telling = frame.where(tells).select(*_RUN).distinct().withColumn("tells", f.expr("true"))
    is_told = f.coalesce(f.col("tells"), f.expr("false"))
    return frame.join(f.broadcast(telling), list(_RUN), "left").withColumn("is_whole", f.col("case").isin(*whole) | is_told).drop("tells")


def _judge_runs(frame: DataFrame, places: Mapping[str, int], found: _Found) -> None:
    for row in frame.groupBy(*_RUN).applyInArrow(_judge_run, "file string, run string, case string, first long, judged binary").collect():
        found.runs.append(((places.get(row["file"], 0), row["first"], row["run"], row["case"]), pickle.loads(bytes(row["judged"]))))


def _judge_run(table: pa.Table) -> pa.Table:
    (run,) = split([obs for batch in table.to_batches() for obs in from_batch(batch)])
    judged = pickle.dumps(_judged(run))
    key = {name: [table.column(name)[0].as_py()] for name in _RUN}
    first = pc.min(table.column("seq")).as_py()
    return pa.table({**key, "first": pa.array([first], pa.int64()), "judged": pa.array([judged], pa.binary())})


def _judged(run: Trace) -> _JudgedRun:
    if run[0].case in _CASES:
        case = _cases_by_id()[run[0].case]
        return _JudgedRun(case=case.id, judgement=judge_either(case, run, UNIVERSAL))
    results = (replace(result, case=replace(result.case, judges=()), plays=[]) for result in rejudged([run], (), UNIVERSAL))
    return _JudgedRun(case=run[0].case, results=tuple(results))


@cache
def _cases_by_id() -> dict[str, Case]:
    return {case.id: case for case in every_case()}


# Fleets ----------------------------------------------------------------------------------------------------------------------------


def _judge_groups(frame: DataFrame, places: Mapping[str, int]) -> list[tuple[int, int, GroupResult]]:
    """Return the results of each group with a member's request, with the place of its trace and its first number."""
    rows = fleets_of(frame).mapInArrow(_folded, "told string, first long, file string").collect()
    return [(places.get(row["file"], 0), row["first"], msgspec.json.decode(row["told"], type=GroupResult)) for row in rows]


def fleets_of(frame: DataFrame) -> DataFrame:
    """Return the rows of each group (`to_group`), with those of links and nodes that touch it; each group in one partition, in the order of `seq`."""
    from pyspark.sql import functions as f

    own = frame.where(f.col("group").isNotNull())
    spoken = own.where(f.col("api").isin(*membership_apis())).select(*_RUN, f.col("group").alias("to_group")).distinct()
    linked = own.where(f.col("connection").isNotNull()).select(*_RUN, "connection", f.col("group").alias("to_group")).distinct()
    orphans = frame.where(f.col("group").isNull())
    is_kit = (f.col("who") == "kit") & f.col("connection").isNull()
    of_all = orphans.where((f.col("kind") == "fault") | is_kit).join(f.broadcast(spoken), list(_RUN))
    is_link = f.col("connection").isNotNull() & (f.col("kind") != "fault")
    of_links = orphans.where(is_link).join(f.broadcast(linked), [*_RUN, "connection"])
    whole = own.withColumn("to_group", f.col("group")).unionByName(of_all).unionByName(of_links)
    rows = whole.join(f.broadcast(spoken), list(_KEY), "left_semi")
    return rows.repartition(*_KEY).sortWithinPartitions(*_KEY, "seq")


def _folded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    group: _Group | None = None
    for key, rows in _by_group(batches):
        if group is None or group.key != key:
            yield from group.results() if group is not None else ()
            group = _Group(key, rows)
        for block in blocks_of_batches([rows]):
            group.blocks.take(block)
    yield from group.results() if group is not None else ()


def _by_group(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[tuple[str, ...], pa.RecordBatch]]:
    """Yield each group's part of each batch, with its key."""
    for batch in batches:
        keys = [batch.column(name).dictionary_encode() for name in _KEY]
        codes = np.stack([numbers_in(key.indices) for key in keys])
        edges = [0, *(np.flatnonzero((np.diff(codes) != 0).any(axis=0)) + 1).tolist(), batch.num_rows]
        for begin, end in pairwise(edges) if batch.num_rows else ():
            yield tuple(key.dictionary[int(code[begin])].as_py() for key, code in zip(keys, codes, strict=True)), batch.slice(begin, end - begin)


class _Group:
    """A task's current group; `key` is file, run, case and group."""

    def __init__(self, key: tuple[str, ...], rows: pa.RecordBatch) -> None:
        self.key, self._first = key, rows.column("seq")[0].as_py()
        self.fold = GroupChecker(*key[1:])
        self.blocks = GroupBlocks(self.fold)

    def results(self) -> Iterator[pa.RecordBatch]:
        text = msgspec.json.encode(self.fold.result()).decode()
        yield pa.RecordBatch.from_pydict({"told": [text], "first": [self._first], "file": [self.key[0]]})
