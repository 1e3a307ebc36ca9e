from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.harness.judging.checkers.stories import keeping

from groupproof.chaos.spark.analysis.sources import Source, sources_of
from groupproof.harness.model.errors import WrongUsage
from groupproof.protocol.trace import write_trace
from groupproof.protocol.trace_columns import write_parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = (
    "[2026-01-31 10:00:00,000] INFO [GroupCoordinator 1]: Preparing to rebalance group g in state Empty with old generation 0 (__consumer_offsets-3)"
    " (reason: Adding new member m0-61a00cea-299b-43ac-a3d2-0522476960fa) (kafka.coordinator.group.GroupCoordinator)\n"
    "[2026-01-31 10:00:03,000] INFO [GroupCoordinator 1]: Stabilized group g generation 1 (__consumer_offsets-3) with 1 members (kafka.coordinator.group.GroupCoordinator)\n"
)


def load(folder: Path, *sides: str, run: str = "load-1", log: bool = False) -> Path:
    folder.mkdir()
    (folder / "load.json").write_text(json.dumps({"order": {"client": "librdkafka 2.10.0"}, "sittings": [{"run": run}]}))
    for side in sides:
        place = folder / side / ("run=log" if log and side == "coordinator" else f"run={run}")
        place.mkdir(parents=True)
        write_parquet(place / "0.parquet", keeping().trace)
    return folder


def test_a_load_has_sides_and_a_release(tmp_path: Path) -> None:
    found = sources_of([load(tmp_path / "load", "members", "coordinator")])

    assert [(source.side, source.release, source.run) for source in found] == [
        ("members", "librdkafka 2.10.0", None),
        ("coordinator", "librdkafka 2.10.0", None),
    ]


def test_a_brokers_log_belongs_to_the_run_of_its_load(tmp_path: Path) -> None:
    found = sources_of([load(tmp_path / "load", "tap", "coordinator", log=True)])

    assert {source.side: source.run for source in found} == {"tap": None, "coordinator": "load-1"}


def test_traces_and_logs_are_distinguished(tmp_path: Path) -> None:
    (tmp_path / "trace.ndjson").write_text("\n".join(write_trace(keeping().trace)))
    (tmp_path / "server.log").write_text(LOG)
    write_parquet(tmp_path / "x.parquet", keeping().trace)

    found = sources_of([tmp_path / "trace.ndjson", tmp_path / "server.log", tmp_path / "x.parquet"])

    assert [(source.path.name, source.observations is not None) for source in found] == [
        ("trace.ndjson", False),
        ("x.parquet", False),
        ("server.log", True),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [("{}", "is no load's: 'order'"), ("[", "is no load's"), ('{"order": {"client": "x"}, "sittings": []}', "has sealed nothing yet")],
)
def test_a_folder_that_is_no_whole_load_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "load.json").write_text(content)

    with pytest.raises(WrongUsage, match=message):
        sources_of([tmp_path])


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match=r"there is no trace\.ndjson in"):
        sources_of([tmp_path])
    with pytest.raises(WrongUsage, match="can't read the trace"):
        sources_of([tmp_path / "nowhere"])


@pytest.mark.java
@pytest.mark.slow
def test_files_of_every_kind_become_one_frame(spark: SparkSession, tmp_path: Path) -> None:
    from groupproof.chaos.spark.analysis.sources import raw_of

    (tmp_path / "trace.ndjson").write_text("\n".join(write_trace(keeping().trace)))
    (tmp_path / "server.log").write_text(LOG)
    write_parquet(tmp_path / "x.parquet", keeping().trace)
    sources = [
        *sources_of([tmp_path / "trace.ndjson", tmp_path / "server.log"]),
        Source(path=tmp_path / "x.parquet", side="coordinator", release="own 1", run="r"),
    ]

    rows = raw_of(spark, sources).select("run", "side", "source_release", "kind", "state_after", "row").collect()

    assert {(row["side"], row["source_release"]) for row in rows} == {("", None), ("coordinator", "own 1")}
    assert {row["run"] for row in rows if row["side"]} == {"r"}
    assert [row["state_after"] for row in rows if row["kind"] == "transition"] == ["PreparingRebalance", "CompletingRebalance"]
    assert len(rows) == 2 * len(keeping().trace) + 3
