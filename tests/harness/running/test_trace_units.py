from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.harness.judging.checkers.fleets import planted_fleet
from tests.harness.judging.checkers.stories import keeping

from groupproof.harness.running import trace_units
from groupproof.harness.running.trace_units import TraceUnit, read_rows, read_unit, units_of
from groupproof.protocol.trace import write_trace
from groupproof.protocol.trace_columns import write_parquet


def test_a_small_trace_is_one_unit_that_is_read_row_by_row(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet", keeping().trace)

    assert units_of(tmp_path / "a.parquet") == [TraceUnit(file=tmp_path / "a.parquet")]


def test_a_hundredth_of_the_bytes_is_enough_for_blocks_where_they_are_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns, lines = tmp_path / "a.parquet", tmp_path / "a.ndjson"
    write_parquet(columns, keeping().trace)
    lines.write_text("".join(f"{line}\n" for line in write_trace(keeping().trace)))
    monkeypatch.setattr(trace_units, "BLOCKS_FROM_BYTES", 100 * columns.stat().st_size)

    assert [unit.in_blocks for file in (columns, lines) for unit in units_of(file)] == [True, False]

    monkeypatch.setattr(trace_units, "BLOCKS_FROM_BYTES", 100 * columns.stat().st_size + 100)
    assert [unit.in_blocks for unit in units_of(columns)] == [False]


def test_a_large_trace_in_lines_is_one_unit_that_is_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_units, "BLOCKS_FROM_BYTES", 0)
    file = tmp_path / "a.ndjson"
    file.write_text("".join(f"{line}\n" for line in write_trace(keeping().trace)))

    (unit,) = units_of(file)

    assert (unit.in_blocks, unit.parts) == (True, ())
    assert read_unit(unit, ()) == read_rows(file, ())


def test_what_is_no_parquet_is_left_to_who_reads_it_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_units, "BLOCKS_FROM_BYTES", 0)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    (unit,) = units_of(tmp_path / "a.parquet")

    assert read_unit(unit, ()) is None


@pytest.mark.parametrize(("rows", "units"), [(1, [1, 1, 1]), (500, [2, 1]), (1 << 20, [3])])
def test_parts_of_few_rows_are_of_one_unit_and_say_the_same(tmp_path: Path, rows: int, units: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        write_parquet(tmp_path / f"{number}.parquet", [replace(obs, run=f"r{number}") for obs in planted_fleet()])
    monkeypatch.setattr(trace_units, "BLOCKS_FROM_BYTES", 0)
    monkeypatch.setattr(trace_units, "UNIT_ROWS", rows)

    found = units_of(tmp_path)

    assert [len(unit.parts) for unit in found] == units
    groups = [placed for unit in found if (reading := read_unit(unit, ())) for placed in reading.groups]
    assert sorted(groups, key=lambda placed: (placed[1].run, placed[1].group)) == sorted(
        read_rows(tmp_path, ()).groups, key=lambda placed: (placed[1].run, placed[1].group)
    )


def test_a_unit_holds_the_groups_of_its_part_behind_the_numbers_at_which_they_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_units, "BLOCKS_FROM_BYTES", 0)
    monkeypatch.setattr(trace_units, "UNIT_ROWS", 1)
    for number in range(2):
        write_parquet(tmp_path / f"{number}.parquet", [replace(obs, run=f"r{number}", seq=1_000 * number + obs.seq) for obs in planted_fleet()])

    found = [read_unit(unit, ()) for unit in units_of(tmp_path)]

    assert [{group.run for _, group in reading.groups} for reading in found if reading] == [{"r0"}, {"r1"}]
    assert [min(place for place, _ in reading.groups) // 1_000 for reading in found if reading] == [0, 1]
    assert sorted(place for reading in found if reading for place, _ in reading.groups) == sorted(
        place for place, _ in read_rows(tmp_path, ()).groups
    )
