"""What judging costs is measured on traces of the size that was asked for, by both engines on the same ones, and drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.benchmarks import scale
from tests.benchmarks.scale import Cost, copied, judged, measured, rates, simulated, written
from tests.benchmarks.scale_picture import picture

from groupproof.harness.cases.catalogue import every_case
from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.running.trace_check import check_files

SVG = "{http://www.w3.org/2000/svg}"


def cost(sweep: str, size: int) -> Cost:
    return Cost(
        sweep=sweep,
        rows=1_000 * size,
        members=size,
        groups=size,
        process_s=2.0 * size,
        spark_s=1.0 * size,
        process_cpu_s=2.0 * size,
        spark_cpu_s=3.0 * size,
    )


@pytest.mark.slow
def test_a_simulated_trace_has_about_the_rows_that_were_asked_for(tmp_path: Path) -> None:
    assert pq.read_metadata(simulated(tmp_path, rows=6_000, members=20)).num_rows == pytest.approx(6_000, rel=0.6)


def test_copies_of_a_run_are_separate_groups_that_keep_the_invariants(tmp_path: Path) -> None:
    base = simulated(tmp_path / "base", rows=500, members=3)

    trace = copied(base, tmp_path, 4)

    assert pq.read_metadata(trace).num_rows == 4 * pq.read_metadata(base).num_rows
    laws = [result.ruling.verdict.value for result in check_files([trace], every_case, UNIVERSAL).results if result.case.id.startswith("laws/")]
    assert laws == ["OK"] * 4


def test_the_picture_has_a_panel_for_each_sweep_and_a_line_for_each_engine() -> None:
    drawn = ET.fromstring(picture([cost(sweep, size) for sweep in ("rows", "groups") for size in (1, 10, 100)]))

    lines = drawn.findall(f"{SVG}polyline")
    assert len(lines) == 4
    assert len({line.get("stroke") for line in lines}) == 2
    assert [len((line.get("points") or "").split()) for line in lines] == [3] * 4
    texts = [element.text for element in drawn.findall(f"{SVG}text")]
    assert {"one process", "Spark, 2 cores, warm", "1,000", "100,000"} <= set(texts)


def test_a_long_trace_is_made_once_and_judged_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale, "_RUN_ROWS", 500)
    monkeypatch.setattr(scale, "_RUN_MEMBERS", 3)
    monkeypatch.setattr(scale, "_SEEDS", 2)
    files = list(written(tmp_path, 4_000))
    times = [file.stat().st_mtime_ns for file in files]

    took = judged(tmp_path, partial(check_files, catalogue=every_case, universal=UNIVERSAL))

    assert took["rows"] >= 4_000
    assert (took["groups"], took["broken"], took["displaced"]) == (len(files), 0, 0)
    assert files[0].samefile(files[2])
    assert [file.stat().st_mtime_ns for file in written(tmp_path, 4_000)] == times, "it is not made again"


def spark(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that starts Spark."""
    for mark in _SPARK:
        test = mark(test)
    return test


_SPARK = (
    pytest.mark.soak,
    pytest.mark.java,
    # py4j leaves its sockets to the garbage collector
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"),
)


@spark
def test_both_engines_say_the_same_of_what_is_measured() -> None:
    pytest.importorskip("pyspark")

    (measured_,) = measured("groups", ((2_000, 5, 20),))

    assert measured_.rows >= 1_000
    assert measured_.ratio > 0


@spark
def test_a_long_trace_is_judged_in_each_form_and_by_each_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setattr(scale, "_RUN_ROWS", 500)
    monkeypatch.setattr(scale, "_RUN_MEMBERS", 3)
    monkeypatch.setattr(scale, "WARM_ROUNDS", 0)

    found = [(rate.form, rate.engine, rate.rows >= 1_000) for rate in rates(2_000, 1_000)]

    assert found == [("NDJSON", "one process", True), ("Parquet", "one process", True), ("Parquet", "Spark", True)]
