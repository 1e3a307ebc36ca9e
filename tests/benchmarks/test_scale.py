"""What judging costs is measured on traces of the size that was asked for, by both engines on the same ones, and drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.benchmarks.scale import Cost, copied, judged, measured, simulated, written
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


def test_copies_of_a_run_are_groups_of_their_own_that_keep_the_laws(tmp_path: Path) -> None:
    base = simulated(tmp_path / "base", rows=500, members=3)

    trace = copied(base, tmp_path, 4)

    assert pq.read_metadata(trace).num_rows == 4 * pq.read_metadata(base).num_rows
    laws = [result.ruling.verdict.value for result in check_files([trace], every_case(), UNIVERSAL).results if result.case.id.startswith("laws/")]
    assert laws == ["OK"] * 4


def test_the_picture_has_a_panel_for_each_sweep_and_a_line_for_each_engine() -> None:
    drawn = ET.fromstring(picture([cost(sweep, size) for sweep in ("rows", "groups") for size in (1, 10, 100)]))

    lines = drawn.findall(f"{SVG}polyline")
    assert len(lines) == 4
    assert len({line.get("stroke") for line in lines}) == 2
    assert [len((line.get("points") or "").split()) for line in lines] == [3] * 4
    texts = [element.text for element in drawn.findall(f"{SVG}text")]
    assert {"one process", "Spark, 2 cores, warm", "1,000", "100,000"} <= set(texts)


@pytest.mark.soak
@pytest.mark.java
def test_both_engines_say_the_same_of_what_is_measured_and_a_piece_is_made_and_judged_once(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")

    (measured_,) = measured("groups", ((2_000, 5, 20),))
    piece = tmp_path / "piece=0000"
    copied(simulated(tmp_path / "base", rows=500, members=3), piece, 4)
    first = list(judged(tmp_path))

    assert measured_.rows >= 1_000
    assert measured_.ratio > 0
    assert first[0]["groups"] == 4
    assert first[0]["broken"] == 0
    (piece / "judged.json").write_text((piece / "judged.json").read_text().replace('"broken": 0', '"broken": 7'))
    assert next(judged(tmp_path))["broken"] == 7, "it is not judged again"
    assert [path.parent.name for path in written(tmp_path, 1_000_000)] == ["piece=0000"], "nor made again"
