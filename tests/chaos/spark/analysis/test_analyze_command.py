from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from click.testing import CliRunner
from tests.chaos.spark.analysis.planted import planted_groups
from tests.chaos.spark.conftest import MASTER

from groupproof.chaos.spark import session as session_module
from groupproof.chaos.spark.analysis import analyze_command as command_module
from groupproof.chaos.spark.analysis.analyze_command import PAGE, SUMMARY, command
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.protocol.schemas import validate
from groupproof.protocol.trace import Observation, write_trace
from groupproof.protocol.trace_columns import write_parquet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.java
@pytest.mark.soak
def test_an_analysis_is_a_page_a_summary_and_parquet(spark: SparkSession, tmp_path: Path) -> None:
    write_parquet(tmp_path / "fleet.parquet", planted_groups())

    ran = CliRunner().invoke(command, [str(tmp_path / "fleet.parquet"), "--master", MASTER, "--output", str(tmp_path / "out")], standalone_mode=False)

    assert ran.exception is None, ran.output
    assert ran.return_value == 0
    assert "zombie commits" in ran.output
    summary = json.loads((tmp_path / "out" / SUMMARY).read_text())
    validate("analysis", summary)
    assert (tmp_path / "out" / PAGE).read_text().startswith("<!doctype html>")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {SUMMARY, PAGE, "facts", "figures"}
    assert spark.read.parquet(str(tmp_path / "out" / "facts" / "storms")).where("`group` = 'stormy'").count() == 1


@pytest.mark.java
@pytest.mark.soak
def test_a_trace_of_no_group_ends_with_2(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "trace.ndjson").write_text("\n".join(write_trace([Observation(seq=0, at_ns=0, kind="event", body={"name": "x"})])))

    ran = CliRunner().invoke(command, [str(tmp_path), "--master", MASTER, "--output", str(tmp_path / "out"), "--json"], standalone_mode=False)

    assert ran.return_value == 2, ran.output
    assert json.loads(ran.stdout)["rebalances"]["formed"] == 0


@pytest.mark.parametrize(("bytes_at_least", "is_long"), [(1, True), (1 << 40, False)])
def test_many_rows_have_a_session_for_minutes(bytes_at_least: int, is_long: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_session(app: str, *, is_long: bool, **_: object) -> NoReturn:
        raise BrokenEnvironment(f"long: {is_long}")

    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "trace.ndjson").write_text("\n".join(write_trace(planted_groups()[:3])))
    monkeypatch.setattr(command_module, "_LONG_BYTES", bytes_at_least)
    monkeypatch.setattr(session_module, "session", no_session)

    assert str(refused(tmp_path / "traces", "--output", tmp_path / "out")) == f"long: {is_long}"


def refused(*arguments: object) -> BaseException | None:
    return CliRunner().invoke(command, [str(argument) for argument in arguments], standalone_mode=False).exception


def test_what_is_no_trace_and_where_nothing_can_be_written_is_reported_before_spark_is_started(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("dear diary\n")
    (tmp_path / "x.parquet").write_bytes(b"PAR1 cut off")
    (tmp_path / "trace.ndjson").write_text("\n".join(write_trace(planted_groups()[:3])))

    assert isinstance(error := refused(tmp_path / "nowhere", "--output", tmp_path / "out"), WrongUsage)
    assert "can't read the trace" in str(error)
    assert isinstance(error := refused(tmp_path / "notes.txt", "--output", tmp_path / "out"), WrongUsage)
    assert "has nothing about groups" in str(error)
    assert isinstance(error := refused(tmp_path / "x.parquet", "--output", tmp_path / "out"), WrongUsage)
    assert "can't be read as Parquet" in str(error)
    assert isinstance(error := refused(tmp_path / "trace.ndjson", "--output", tmp_path / "notes.txt"), BrokenEnvironment)
    assert "choose another --output" in str(error)
