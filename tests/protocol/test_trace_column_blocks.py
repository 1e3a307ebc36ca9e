from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.harness.judging.checkers.stories import busy_group

from groupproof.protocol.trace_blocks import NO_CORRELATION, NoBlocks
from groupproof.protocol.trace_column_blocks import blocks_of_batches, blocks_of_parquet
from groupproof.protocol.trace_columns import NotColumns, write_parquet
from groupproof.protocol.trace_parts import FileSlice


def test_parquet_comes_in_blocks_with_what_its_folders_name(tmp_path: Path) -> None:
    file = tmp_path / "run=r7" / "piece.parquet"
    file.parent.mkdir()
    write_parquet(tmp_path / "all.parquet", busy_group())
    pq.write_table(pq.read_table(tmp_path / "all.parquet").drop_columns(["run", "instance", "correlation"]), file)
    blocks = list(blocks_of_parquet([FileSlice(file)], tmp_path))

    assert {shape.run for block in blocks for shape in block.shapes} == {"r7"}
    assert {shape.instance for block in blocks for shape in block.shapes} == {None}
    assert {number for block in blocks for number in block.correlation.tolist()} == {NO_CORRELATION}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"seq": [1], "at_ns": [None], "kind": ["a"]}, "its column at_ns has rows without a value"),
        ({"seq": ["x"], "at_ns": [1], "kind": ["a"]}, "its column seq is string, where a trace has int64"),
        ({"seq": [1], "at_ns": [1], "kind": [None]}, "its column kind has rows without a value"),
        ({"seq": [1, 2], "at_ns": [1, 2], "kind": ["a", None]}, "its column kind has rows without a value"),
        ({"seq": [1], "at_ns": [1]}, "its column kind has rows without a value"),
    ],
)
def test_columns_that_no_trace_has_are_reported_as_for_rows(columns: dict[str, list[object]], message: str) -> None:
    with pytest.raises(NotColumns, match=message):
        list(blocks_of_batches([pa.RecordBatch.from_pydict(columns)]))


def test_an_offset_without_its_number_is_left_to_rows() -> None:
    batch = pa.RecordBatch.from_pydict({"seq": [1], "at_ns": [1], "kind": ["request"], "offsets": [[{"topic": "t", "partition": 0, "offset": None}]]})
    (block,) = blocks_of_batches([batch])

    with pytest.raises(NoBlocks, match="an offset lacks its topic, its partition or its number"):
        block.offsets(np.array([0]))


def test_a_trace_without_the_column_of_offsets_has_none() -> None:
    (block,) = blocks_of_batches([pa.RecordBatch.from_pydict({"seq": [1], "at_ns": [1], "kind": ["request"]})])

    assert len(block.offsets(np.array([0])).row) == 0


def test_a_file_that_is_cut_off_is_left_to_rows(tmp_path: Path) -> None:
    broken = tmp_path / "a.parquet"
    broken.write_bytes(b"PAR1")

    with pytest.raises(NoBlocks):
        list(blocks_of_parquet([FileSlice(broken)], broken))
