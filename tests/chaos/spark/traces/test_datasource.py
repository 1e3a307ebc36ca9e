from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.harness.judging.checkers.fleets import planted_fleet

from groupproof.chaos.spark.traces.trace_segments import Sealer
from groupproof.protocol.trace import Observation, Trace, write_trace
from groupproof.protocol.trace_columns import from_batch, trace_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = [pytest.mark.java, pytest.mark.slow]

# Spark waits ten seconds for the Python worker of a stream, which no setting changes (PythonWorkerFactory.createSimpleWorker); a busy machine takes longer.
LATE_WORKER = "worker to connect back"
STARTS_MAX = 8


def write(file: Path, trace: Trace, mode: str = "w") -> None:
    with file.open(mode) as lines:
        lines.writelines(f"{line}\n" for line in write_trace(trace))


def observations(frame: DataFrame) -> list[Observation]:
    return sorted((obs for batch in frame.toArrow().to_batches() for obs in from_batch(batch)), key=lambda obs: obs.seq)


def test_spark_finds_the_format_by_itself_and_reads_lines_and_segments_alike(spark: SparkSession, tmp_path: Path) -> None:
    trace = planted_fleet()[:120]
    write(tmp_path / "trace.ndjson", trace)
    sealer = Sealer(tmp_path / "load", "r", "0-0", rows_max=40)
    for obs in trace:
        sealer.add(obs)
    sealer.seal()

    lines = spark.read.format("groupproof").load(str(tmp_path / "trace.ndjson"))
    segments = spark.read.format("groupproof").load(str(tmp_path / "load"))

    assert lines.columns == trace_schema().names
    assert observations(lines) == trace
    assert observations(segments) == trace


def test_a_trace_that_grows_is_read_as_a_stream_each_line_once(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import StreamingQueryException

    trace = planted_fleet()[:90]
    live, out = tmp_path / "trace.ndjson", tmp_path / "out"
    write(live, trace[:50])
    rows = spark.readStream.format("groupproof").load(str(live))

    def follow() -> None:
        """Read what has come since, as a query that is started again with its checkpoint does."""
        for _ in range(STARTS_MAX):
            query = rows.writeStream.format("parquet").option("path", str(out)).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
            try:
                query.processAllAvailable()
            except StreamingQueryException as error:
                if LATE_WORKER not in str(error):
                    raise
            else:
                return
            finally:
                query.stop()
        pytest.fail(f"{STARTS_MAX} Python workers in a row came late")

    follow()
    write(live, [replace(obs, detail="later") for obs in trace[50:]], "a")
    follow()

    assert observations(spark.read.parquet(str(out))) == [*trace[:50], *(replace(obs, detail="later") for obs in trace[50:])]


def test_a_trace_that_is_not_there_is_reported_by_name(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match=r"there is no trace at .*/none"):
        spark.read.format("groupproof").load(str(tmp_path / "none")).count()
    with pytest.raises(PySparkException, match="name the trace"):
        spark.read.format("groupproof").load().count()
