from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from groupproof.protocol.trace_parts import FileSlice, first_of, parts_of


def written(file: Path, columns: Mapping[str, Sequence[Any]], **options: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), file, **{"row_group_size": 2, **options})
    return file


def parts(root: Path, *files: Path) -> list[list[tuple[str, tuple[int, ...] | None]]]:
    return [[(item.file.name, item.row_groups) for item in part.slices] for part in parts_of(files, root)]


def test_row_groups_of_one_run_are_of_one_part(tmp_path: Path) -> None:
    a = written(tmp_path / "a", {"seq": range(6), "run": ["r1", "r1", "r1", "r2", "r3", "r3"]})
    b = written(tmp_path / "b", {"seq": range(4), "run": ["r3", "r3", "r0", "r0"]})

    assert parts(tmp_path, a, b) == [[("b", (1,))], [("a", (0, 1))], [("a", (2,)), ("b", (0,))]]


def test_a_run_that_lies_between_those_of_a_row_group_is_of_its_part(tmp_path: Path) -> None:
    a = written(tmp_path / "a", {"seq": range(6), "run": ["r1", "r5", "r3", "r3", "r6", "r6"]})

    assert parts(tmp_path, a) == [[("a", (0, 1))], [("a", (2,))]]


def test_a_part_says_how_long_it_is(tmp_path: Path) -> None:
    a = written(tmp_path / "a", {"seq": range(7), "run": list("aaaabbc")})

    assert [part.rows for part in parts_of([a], tmp_path)] == [4, 2, 1]


def test_a_row_without_a_run_is_of_the_run_without_a_name(tmp_path: Path) -> None:
    a = written(tmp_path / "a", {"seq": range(6), "run": ["b", None, "", "", "c", "c"]})

    assert parts(tmp_path, a) == [[("a", (0, 1))], [("a", (2,))]]


def test_a_folder_names_the_run_of_its_files(tmp_path: Path) -> None:
    a, b, c = (written(tmp_path / f"run={run}" / name, {"seq": range(2)}) for run, name in (("x", "a"), ("y", "b"), ("x", "c")))

    assert parts(tmp_path, a, b, c) == [[("a", (0,)), ("c", (0,))], [("b", (0,))]]


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"seq": [0, 1, 9, 10, 2, 3], "run": list("aabbcc")}, {}),
        ({"seq": range(6), "run": list("aabbcc")}, {"write_statistics": False}),
        ({"seq": [0, 1, None, None, 4, 5], "run": list("aabbcc")}, {}),
        ({"seq": range(6), "run": [1, 1, 2, 2, 3, 3]}, {}),
        ({"at_ns": range(6), "run": list("aabbcc")}, {}),
    ],
    ids=["out of order", "without statistics", "without numbers", "runs that are no texts", "no seq"],
)
def test_where_it_cannot_be_known_all_is_one_part(tmp_path: Path, columns: Mapping[str, Sequence[Any]], options: dict[str, Any]) -> None:
    a = written(tmp_path / "a", columns, **options)

    assert parts(tmp_path, a) == [[("a", None)]]


def test_the_first_number_of_a_slice_is_printed(tmp_path: Path) -> None:
    a = written(tmp_path / "a", {"seq": [3, 4, 7, 8], "run": list("aabb")})
    b = written(tmp_path / "b", {"seq": [3, 4]}, write_statistics=False)

    assert [first_of(FileSlice(a)), first_of(FileSlice(a, (1,))), first_of(FileSlice(b))] == [3, 7, None]
