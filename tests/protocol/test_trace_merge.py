"""Files that are merged in columns come as they come merged row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.harness.judging.checkers.stories import busy_group

from groupproof.protocol import trace_merge
from groupproof.protocol.trace import Observation
from groupproof.protocol.trace_blocks import NoBlocks
from groupproof.protocol.trace_columns import NotColumns, batches_of, from_batch, read_parquet, write_parquet
from groupproof.protocol.trace_merge import as_arrow, merged_batches
from groupproof.protocol.trace_parts import FileSlice

ROWS = [replace(obs, run=f"r{number % 3}") for number, obs in enumerate(busy_group()[:40])]


def merged(files: Sequence[Path], root: Path, rows: int) -> list[Observation]:
    return [obs for batch in merged_batches([FileSlice(file) for file in files], root, rows=rows) for obs in from_batch(batch)]


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(ROWS)), max_size=12), min_size=1, max_size=4),
    st.integers(1, 30),
    st.integers(1, 5),
    st.booleans(),
)
@pytest.mark.slow
def test_files_that_are_merged_in_columns_come_as_row_by_row(
    files: Sequence[Sequence[tuple[int, Observation]]], rows: int, group_rows: int, has_statistics: bool
) -> None:
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(trace_merge, "_FILE_ROWS_MIN", 1)
        if not has_statistics:
            monkeypatch.setattr(trace_merge, "first_of", lambda _: None)
        paths = [Path(place, f"{number}.parquet") for number in range(len(files))]
        for path, numbered in zip(paths, files, strict=True):
            ordered = sorted(numbered, key=lambda entry: entry[0])
            write_parquet(path, [replace(obs, seq=seq) for seq, obs in ordered], rows=group_rows)

        assert merged(paths, Path(place), rows) == list(read_parquet(Path(place)))


def test_a_file_is_opened_when_its_first_row_is_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def noted(file: Path, root: Path, **options: Any) -> Iterator[pa.RecordBatch]:
        opened.append(file.name)
        return batches_of(file, root, **options)

    monkeypatch.setattr(trace_merge, "batches_of", noted)
    files = [tmp_path / f"{number}.parquet" for number in range(3)]
    for number, file in enumerate(files):
        write_parquet(file, [replace(obs, seq=1_000 * number + place) for place, obs in enumerate(ROWS)])
    batches = merged_batches([FileSlice(file) for file in files], tmp_path, rows=2)

    next(batches)
    assert opened == ["0.parquet"]
    assert sum(batch.num_rows for batch in batches) == 3 * len(ROWS) - 39
    assert len(opened) == 3


def test_files_of_other_columns_and_types_are_one_trace(tmp_path: Path) -> None:
    pq.write_table(pa.table({"seq": pa.array([1, 4], pa.int32()), "at_ns": [1, 4], "kind": ["a", "b"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"kind": ["c"], "seq": [2], "at_ns": [2], "run": ["r"], "more": [1]}), tmp_path / "b.parquet")

    assert merged(sorted(tmp_path.iterdir()), tmp_path, 10) == list(read_parquet(tmp_path))


@pytest.mark.parametrize("seqs", [(3, 2), (1, 5, 2), (2, 2, 1)])
@pytest.mark.parametrize("rows", [1, 10])
def test_a_file_that_is_not_in_order_itself_is_left_to_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seqs: tuple[int, ...], rows: int
) -> None:
    monkeypatch.setattr(trace_merge, "_FILE_ROWS_MIN", 1)
    monkeypatch.setattr(trace_merge, "first_of", lambda _: None)
    write_parquet(tmp_path / "a.parquet", [replace(obs, seq=seq) for seq, obs in zip(seqs, ROWS, strict=False)])

    with pytest.raises(NoBlocks):
        merged([tmp_path / "a.parquet"], tmp_path, rows)


@pytest.mark.parametrize("seq", [[1, None], ["x", "y"]])
def test_a_file_without_numbers_is_no_trace(tmp_path: Path, seq: list[object]) -> None:
    pq.write_table(pa.table({"seq": seq, "at_ns": [1, 2], "kind": ["a", "b"]}), tmp_path / "a.parquet")

    with pytest.raises(NotColumns, match="its column seq"):
        merged([tmp_path / "a.parquet"], tmp_path, 10)


def test_numbers_are_the_same_in_arrow() -> None:
    assert as_arrow(np.arange(6)[::2]).to_pylist() == [0, 2, 4]
