from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocol.test_trace import observations

from groupproof.protocol.trace import Observation
from groupproof.protocol.trace_columns import NotColumns, from_batch, numbers_in, read_parquet, to_batch, trace_schema, write_parquet


def _observations(count: int, **columns: object) -> list[Observation]:
    return [Observation(seq=seq, at_ns=seq * 1_000, kind="event", body={"number": seq}, **columns) for seq in range(count)]  # type: ignore[arg-type] # any columns


def test_the_schema_has_the_columns_of_a_line_in_their_order() -> None:
    assert trace_schema().names == [field.name for field in fields(Observation)]


@pytest.mark.slow
@given(st.lists(observations, max_size=3))
def test_a_trace_survives_its_batch(trace: list[Observation]) -> None:
    batch = to_batch(trace)

    assert batch.schema == trace_schema()
    assert list(from_batch(batch)) == trace


def test_a_trace_survives_its_file_in_many_row_groups_and_batches(tmp_path: Path) -> None:
    trace = _observations(1_000, group="g", partitions=(("t", 0), ("t", 1)), offsets=(("t", 0, 2**40),), raw=b"\xff", run="r")

    assert write_parquet(tmp_path / "trace.parquet", iter(trace), rows=300) == 1_000
    assert pq.ParquetFile(tmp_path / "trace.parquet").num_row_groups == 4
    assert list(read_parquet(tmp_path / "trace.parquet")) == trace
    assert [file.name for file in tmp_path.iterdir()] == ["trace.parquet"]


@pytest.mark.parametrize("seed", [0, 7, 2**63 - 1, 2**63, 2**64 - 1])
def test_a_seed_of_64_bits_survives_in_a_column_of_whole_numbers(seed: int) -> None:
    (obs,) = from_batch(to_batch(_observations(1, seed=seed)))

    assert obs.seed == seed


def test_a_trace_of_nothing_is_a_file_all_the_same(tmp_path: Path) -> None:
    assert write_parquet(tmp_path / "trace.parquet", []) == 0
    assert list(read_parquet(tmp_path / "trace.parquet")) == []


def test_a_writer_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(NotColumns, match=r"^an observation does not fit the columns of a trace: .*"):
        write_parquet(tmp_path / "trace.parquet", [Observation(seq=2**70, at_ns=0, kind="event")])
    assert list(tmp_path.iterdir()) == []


def test_the_files_of_a_folder_are_merged_by_seq(tmp_path: Path) -> None:
    trace = _observations(100)
    for part in range(3):
        write_parquet(tmp_path / f"part-{part}.parquet", trace[part::3])
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "part-9.parquet").write_bytes(b"PAR1")

    assert list(read_parquet(tmp_path)) == trace


@pytest.mark.parametrize(("folder", "group"), [("group=g%201", "g 1"), ("group=__HIVE_DEFAULT_PARTITION__", None)], ids=["a group", "no group"])
def test_folders_say_the_run_and_the_group_where_the_files_do_not(tmp_path: Path, folder: str, group: str | None) -> None:
    trace = _observations(3, run="a=b", group=group)
    (inner := tmp_path / "run=a%3Db" / folder).mkdir(parents=True)
    pq.write_table(pa.Table.from_batches([to_batch(trace)]).drop(["run", "group"]), inner / "part-0.parquet")

    assert list(read_parquet(tmp_path)) == trace


def test_what_the_file_says_counts_more_than_the_folder(tmp_path: Path) -> None:
    (inner := tmp_path / "group=other").mkdir()
    write_parquet(inner / "part-0.parquet", trace := _observations(2, group="g"))

    assert list(read_parquet(tmp_path)) == trace


def test_columns_may_be_missing_more_or_wider_or_without_a_value() -> None:
    table = {"kind": pa.array(["event"]), "at_ns": pa.array([5], pa.int32()), "seq": pa.array([1], pa.uint64()), "new": pa.array([1.5])}
    batch = pa.RecordBatch.from_pydict({**table, "node": pa.array([3], pa.int64()), "who": pa.array([None], pa.string()), "body": pa.array([""])})

    assert list(from_batch(batch)) == [Observation(seq=1, at_ns=5, kind="event", node=3)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seq": None}, "it lacks the column seq of a trace"),
        ({"seq": None, "kind": None}, "it lacks the columns seq, kind of a trace"),
        ({"node": (["two"], pa.string())}, "its column node is string, where a trace has int32"),
        ({"partitions": ([1], pa.int64())}, "its column partitions is int64, where a trace has list<"),
        ({"seq": ([None], pa.int64())}, "its column seq has rows without a value"),
        ({"body": (["{"], pa.string())}, "its column body has a row that is no JSON"),
        ({"body": (["[1]"], pa.string())}, "its column body has a row that is no JSON object: [1]"),
    ],
)
def test_a_wrong_schema_is_reported_in_one_line_with_the_file(
    tmp_path: Path, change: dict[str, tuple[list[object], pa.DataType] | None], message: str
) -> None:
    # Arrays are made here: the first one imports pandas, which every worker would do that collects the test.
    columns = {"seq": ([1], pa.int64()), "at_ns": ([1], pa.int64()), "kind": (["event"], pa.string()), **change}
    arrays = {name: pa.array(*column) for name, column in columns.items() if column is not None}
    pq.write_table(pa.table(arrays), file := tmp_path / "trace.parquet")

    with pytest.raises(NotColumns) as caught:
        list(read_parquet(file))
    assert str(caught.value).startswith(f"{file} holds no trace: {message}")


@pytest.mark.parametrize("kept", [0, 3, 500, -1])
def test_a_file_that_is_cut_off_is_reported_in_one_line(tmp_path: Path, kept: int) -> None:
    write_parquet(file := tmp_path / "trace.parquet", _observations(500))
    file.write_bytes(file.read_bytes()[:kept])

    with pytest.raises(NotColumns, match=r"^.*trace\.parquet can't be read as Parquet: [^\n]+$"):
        list(read_parquet(file))


def test_a_file_that_is_gone_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_parquet(tmp_path / "trace.parquet"))


def test_without_the_extra_one_line_names_it_and_nothing_else_needs_it() -> None:
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "import groupproof.protocol.trace_columns as columns\n"
        "try: columns.trace_schema()\n"
        "except columns.MissingArrow as error: print(error)"
    )
    text = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert text == "columns and Parquet need pyarrow, which comes with groupproof[spark]\n"


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64()])
def test_numbers_of_a_column_are_those_that_arrow_tells_and_another_where_there_is_none(kind: pa.DataType) -> None:
    column = pa.array([*range(9), None, -3, None, *range(20)], kind)

    for part in (column, column[9:], column[11:12], column[3:9], column[:0], pa.nulls(2, kind)):
        assert numbers_in(part, -1).tolist() == [-1 if number is None else number for number in part.to_pylist()]


def test_a_trace_in_columns_is_read_without_pandas(tmp_path: Path) -> None:
    file = tmp_path / "run=r7" / "trace.parquet"
    file.parent.mkdir()
    trace = _observations(3, group="g", offsets=(("t", 0, 1),), partitions=(("t", 0),))
    write_parquet(tmp_path / "all.parquet", [replace(obs, correlation=obs.seq or None) for obs in trace])
    pq.write_table(pq.read_table(tmp_path / "all.parquet").drop_columns(["run"]), file)
    program = (
        "import sys, numpy\n"
        "from pathlib import Path\n"
        "from groupproof.protocol.trace_column_blocks import blocks_of_parquet\n"
        "from groupproof.protocol.trace_parts import FileSlice\n"
        f"for block in blocks_of_parquet([FileSlice(Path({str(file)!r}))], Path({str(tmp_path)!r})):\n"
        "    places = numpy.arange(3)\n"
        "    print({obs.run for obs in block.observations(places)}, len(block.offsets(places).row), block.are_bare(places, {'members'}).all())\n"
        "    print(block.name_partitions(places).all(), 'pandas' in sys.modules)"
    )
    text = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert text == "{'r7'} 3 True\nTrue False\n"


def test_spark_and_duckdb_name_the_parts_of_a_place_by_name_not_by_position(tmp_path: Path) -> None:
    obs = replace(_observations(1)[0], offsets=(("t", 3, 7),))
    batch = to_batch([obs])
    turned = pa.array([[{"offset": 7, "topic": "t", "partition": 3}]])

    assert list(from_batch(batch.set_column(batch.schema.get_field_index("offsets"), "offsets", turned))) == [obs]
