from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from groupproof.chaos.spark.load.resume import FILE, SUMMARY, LoadSession
from groupproof.chaos.spark.members.load_order import LoadOrder
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage

ORDER = LoadOrder(
    members=4, groups=2, topics={"t": 2}, rate=0.5, duration_s=60.0, churn="steady", client="reference", coordinator="groupproof", seed=1, tasks=2
)


def test_a_load_that_was_cut_short_continues_where_it_stood(tmp_path: Path) -> None:
    first = LoadSession.open(tmp_path / "new", ORDER)
    assert (first.run, first.skip_s, first.is_resumed) == ("load-1", 0.0, False)
    first.passed(12.5)

    second = LoadSession.open(tmp_path / "new", ORDER)
    assert (second.run, second.skip_s, second.is_resumed) == ("load-2", 12.5, True)
    second.passed(20.0)
    second.ended("interrupted")

    assert LoadSession.open(tmp_path / "new", ORDER).skip_s == 20.0
    assert msgspec.convert(json.loads((tmp_path / "new" / FILE).read_text())["order"], LoadOrder) == ORDER


def test_a_finished_load_is_not_gone_on_with(tmp_path: Path) -> None:
    LoadSession.open(tmp_path, ORDER).ended("finished", {"figures": 1})

    assert json.loads((tmp_path / SUMMARY).read_text()) == {"figures": 1}
    with pytest.raises(WrongUsage, match="holds a finished load; choose another --output"):
        LoadSession.open(tmp_path, ORDER)


def test_another_load_in_the_folder_is_reported_by_what_differs(tmp_path: Path) -> None:
    LoadSession.open(tmp_path, ORDER)

    with pytest.raises(WrongUsage, match=r"another load \(members 4 there and 9 here, seed 1 there and 2 here\)"):
        LoadSession.open(tmp_path, replace(ORDER, members=9, seed=2))


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    with pytest.raises(WrongUsage, match="not empty and holds no load"):
        LoadSession.open(tmp_path, ORDER)
    (tmp_path / FILE).write_text("{")
    with pytest.raises(WrongUsage, match="is no load's"):
        LoadSession.open(tmp_path, ORDER)
    (tmp_path / FILE).write_text('{"schema": "x/1"}')
    with pytest.raises(WrongUsage, match=r"is of 'x/1', not groupproof\.load/1"):
        LoadSession.open(tmp_path, ORDER)


def test_a_folder_that_cannot_be_written_is_the_environments_fault(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(BrokenEnvironment, match="choose another --output"):
        LoadSession.open(tmp_path / "file" / "below", ORDER)


def test_without_room_the_last_that_was_kept_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = LoadSession.open(tmp_path, ORDER)
    session.passed(3.0)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("groupproof.chaos.spark.traces.trace_storage.os.replace", full)
    session.passed(4.0)
    session.failed("no room")
    monkeypatch.undo()

    assert LoadSession.open(tmp_path, ORDER).skip_s == 3.0
