from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.harness.judging.checkers.fleets import planted_fleet
from tests.harness.judging.checkers.stories import keeping
from tests.harness.running.test_rejudge import CASE, traced
from tests.traces import Story

from groupproof.harness.judging.case_checkers import UNIVERSAL
from groupproof.harness.judging.checkers.live_group import GroupChecker
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running import trace_units
from groupproof.harness.running.trace_check import CheckResult, check_files, in_order_of_appearance
from groupproof.harness.running.trace_reader import TraceReader
from groupproof.protocol.trace import Observation, write_trace
from groupproof.protocol.trace_columns import to_batch, trace_schema, write_parquet
from groupproof.protocol.vocabulary import Api


def catalogue() -> list[Case]:
    return [CASE]


def checked(path: Path, trace: Sequence[Observation]) -> CheckResult:
    if path.suffix == ".parquet":
        write_parquet(path, trace)
    else:
        path.write_text("\n".join(write_trace(trace)))
    return check_files([path], catalogue, UNIVERSAL)


def rulings(check_result: CheckResult) -> dict[str, tuple[Verdict, str]]:
    return {result.case.id: (result.ruling.verdict, result.ruling.observed) for result in check_result.results}


def broken_column(file: Path) -> None:
    """Write a trace of which a row does not say what kind of observation it is."""
    table = pa.Table.from_batches([to_batch(planted_fleet())])
    kinds = [*table.column("kind").to_pylist()[:-1], None]
    columns = [pa.array(kinds) if name == "kind" else table.column(name) for name in table.column_names]
    pq.write_table(pa.table(columns, table.column_names), file)


@pytest.mark.parametrize("name", ["trace.ndjson", "trace.parquet"])
def test_cases_are_judged_whole_and_what_was_seen_live_is_folded(tmp_path: Path, name: str) -> None:
    check_result = checked(tmp_path / name, [*traced(), *(replace(obs, run="live") for obs in keeping().trace)])

    assert {id: verdict for id, (verdict, _) in rulings(check_result).items()} == {
        CASE.id: Verdict.FAILED, "observed/classic/g": Verdict.OK, "laws/classic/g": Verdict.OK,
    }  # fmt: skip


def test_planted_violations_are_found_and_none_is_invented(tmp_path: Path) -> None:
    found = rulings(checked(tmp_path / "trace.ndjson", planted_fleet()))

    failed = {id for id, (verdict, _) in found.items() if id.startswith("laws/") and verdict is not Verdict.OK}
    assert len(failed) == 9
    assert not [id for id in failed if "kept" in id]


def test_a_stream_out_of_order_is_judged_as_in_order_and_what_was_displaced_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = planted_fleet()
    in_order = checked(tmp_path / "a.ndjson", trace)
    monkeypatch.setattr(trace_units, "InOrder", lambda: __import__("groupproof.harness.judging.checkers.fleet", fromlist=["InOrder"]).InOrder(rows=3))

    check_result = checked(tmp_path / "b.ndjson", [*trace[5:], *trace[:5], trace[7]])

    assert rulings(check_result) == rulings(in_order)
    assert (check_result.displaced, check_result.duplicates) == (6, 1)


def test_what_a_tap_recorded_is_judged_whole_on_both_sides(tmp_path: Path) -> None:
    story = Story()
    story.see("event", who="kit", body={"name": "upstream", "profile": "kafka-4.1", "groups": [], "settings": {}, "untold": ""})
    story.request(Api.JOIN_GROUP, body={"group_id": "g", "protocol_type": "consumer"}, member="")

    check_result = checked(tmp_path / "trace.ndjson", story.trace)

    assert [result.case.id for result in check_result.results] == ["observed/classic/g", "answered/classic/g"]


def test_the_head_of_a_long_run_does_not_wait_for_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_units, "TraceReader", partial(TraceReader, head_rows=5))

    assert rulings(checked(tmp_path / "trace.ndjson", keeping().trace))["laws/classic/g"][0] is Verdict.OK


@pytest.mark.parametrize("name", ["trace.ndjson", "trace.parquet"])
def test_a_large_trace_is_read_in_blocks_and_says_the_same(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = [*traced(), *(replace(obs, run="live") for obs in planted_fleet())]
    trace = [replace(obs, seq=seq) for seq, obs in enumerate(trace)]
    by_rows = checked(tmp_path / name, trace)
    monkeypatch.setattr(trace_units, "BLOCKS_FROM_BYTES", 0)
    monkeypatch.setattr(trace_units, "stream", lambda _: pytest.fail("it is read row by row"))

    assert checked(tmp_path / name, trace) == by_rows


def test_a_large_trace_that_is_out_of_order_or_no_trace_is_read_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = planted_fleet()
    expected = checked(tmp_path / "a.ndjson", [*trace[5:], *trace[:5]])
    monkeypatch.setattr(trace_units, "BLOCKS_FROM_BYTES", 0)

    assert checked(tmp_path / "a.ndjson", [*trace[5:], *trace[:5]]) == expected
    assert expected.displaced == 5
    (tmp_path / "b.ndjson").write_text("{\n")
    with pytest.raises(WrongUsage, match="no trace in NDJSON"):
        check_files([tmp_path / "b.ndjson"], catalogue, UNIVERSAL)
    broken_column(tmp_path / "c.parquet")
    with pytest.raises(WrongUsage, match=r"c\.parquet holds no trace: its column kind has rows without a value"):
        check_files([tmp_path / "c.parquet"], catalogue, UNIVERSAL)


def test_without_the_packages_that_blocks_need_a_large_trace_is_read_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = checked(tmp_path / "a.ndjson", planted_fleet())
    monkeypatch.setattr(trace_units, "BLOCKS_FROM_BYTES", 0)
    monkeypatch.setattr(trace_units, "find_spec", lambda _: None)

    assert checked(tmp_path / "a.ndjson", planted_fleet()) == expected


# Parts, files, processes ---------------------------------------------------------------------------------------------------------------


def fleets(folder: Path) -> Path:
    """Write a trace in a folder of files: fleets of three runs, the second of which goes from one file to the other, and a case."""
    first, second, third = ([replace(obs, run=f"r{number}", seq=1_000 * number + obs.seq) for obs in planted_fleet()] for number in range(3))
    case = [replace(obs, run="r9", seq=9_000 + obs.seq) for obs in traced()]
    write_row_groups(folder / "a.parquet", first[:100], first[100:], second[:90])
    write_row_groups(folder / "b.parquet", second[90:], third, case)
    return folder


def write_row_groups(file: Path, *pieces: Sequence[Observation]) -> None:
    with pq.ParquetWriter(file, trace_schema()) as writer:
        for piece in pieces:
            writer.write_batch(to_batch(piece))


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_parts_of_a_folder_say_what_the_whole_says_row_by_row(tmp_path: Path, jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    by_rows = check_files([fleets(tmp_path)], catalogue, UNIVERSAL)
    monkeypatch.setattr(trace_units, "BLOCKS_FROM_BYTES", 0)
    monkeypatch.setattr(trace_units, "UNIT_ROWS", 1)
    units = trace_units.units_of(tmp_path)

    assert len(units) > 2
    assert any(len(part.slices) == 2 for unit in units for part in unit.parts), "a run that is in both files is of one part"
    assert check_files([tmp_path], catalogue, UNIVERSAL, jobs=jobs) == by_rows


def test_a_trace_of_which_one_part_can_not_be_read_in_blocks_is_read_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = ([replace(obs, run=f"r{number}", seq=1_000 * number + obs.seq) for obs in planted_fleet()] for number in range(2))
    second[-5], second[-4] = second[-4], second[-5]
    write_row_groups(tmp_path / "a.parquet", first, second)
    expected = check_files([tmp_path], catalogue, UNIVERSAL)
    monkeypatch.setattr(trace_units, "BLOCKS_FROM_BYTES", 0)
    monkeypatch.setattr(trace_units, "UNIT_ROWS", 1)

    assert len(trace_units.units_of(tmp_path)) == 2
    assert check_files([tmp_path], catalogue, UNIVERSAL) == expected
    assert expected.displaced == 1


def test_a_trace_that_is_named_twice_is_judged_twice(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet", planted_fleet())

    once, twice = (check_files([tmp_path / "a.parquet"] * times, catalogue, UNIVERSAL) for times in (1, 2))

    assert twice.results == once.results * 2


def test_groups_come_in_the_order_in_which_they_begin() -> None:
    results = [replace(GroupChecker("", "", name).result(), run=run) for run, name in (("b", "g"), ("a", "h"), ("a", "g"))]

    assert [(group.run, group.group) for group in in_order_of_appearance(zip((3, 3, 4), results, strict=True))] == [
        ("a", "h"),
        ("b", "g"),
        ("a", "g"),
    ]
