from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groupproof.chaos.spark.checkers.watch_command import Quiet, _trouble
from groupproof.harness.commands.base import boundary
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage


def batch(second: int, rows: int) -> dict[str, Any]:
    return {"timestamp": f"2026-01-01T00:00:{second:02}.000Z", "numInputRows": rows}


def test_it_is_quiet_when_batches_without_rows_have_begun_for_so_long() -> None:
    quiet = Quiet(5.0)

    assert not quiet.since([])
    assert not quiet.since([batch(0, 0), batch(4, 0)])
    assert quiet.since([batch(5, 0)])


def test_a_batch_that_takes_long_is_no_silence() -> None:
    quiet = Quiet(5.0)

    assert not quiet.since([batch(0, 0), batch(1, 10)])
    assert not quiet.since([batch(1, 10)])
    assert not quiet.since([batch(1, 10), batch(20, 7)])
    assert not quiet.since([batch(24, 0)])
    assert quiet.since([batch(25, 0)])


def test_a_trace_that_is_not_there_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert boundary.run(["trace", "watch", str(tmp_path / "none"), "--idle", "0.1s"]) == 3
    assert "/none, and none came within 0.1 s" in capsys.readouterr().err


def test_a_file_that_is_no_trace_is_reported_as_the_task_that_read_it_reported_it() -> None:
    text = '[STREAM_FAILED]\n  File "x.py"\ngroupproof.harness.troubles.WrongUsage: t.ndjson is no trace in NDJSON: line 1\n SQLSTATE'

    assert isinstance(_trouble(text), WrongUsage)
    assert str(_trouble(text)) == "t.ndjson is no trace in NDJSON: line 1"
    assert isinstance(_trouble("the JVM\nis gone"), BrokenEnvironment)
    assert str(_trouble("the JVM\nis gone")) == "the query that watches has ended: the JVM is gone"


@pytest.mark.parametrize("option", ["--delay", "--idle"])
def test_a_span_that_is_none_is_wrong_usage(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert boundary.run(["trace", "watch", str(tmp_path), option, "soon"]) == 3
    assert "is no span of time" in capsys.readouterr().err
