from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.traces import Story

from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.running.trace_files import need_columns, stream, traces_in
from groupproof.protocol import trace_columns
from groupproof.protocol.trace import Trace, write_trace
from groupproof.protocol.trace_columns import write_parquet


def one_member_trace() -> Trace:
    return Story().member().trace


def test_lines_plain_or_packed_and_parquet_under_any_name_are_read(tmp_path: Path) -> None:
    text = "\n".join(write_trace(one_member_trace()))
    (tmp_path / "trace.ndjson").write_text(text)
    (tmp_path / "trace.ndjson.gz").write_bytes(gzip.compress(text.encode()))
    write_parquet(tmp_path / "trace.parquet", one_member_trace())
    (tmp_path / "columns").write_bytes((tmp_path / "trace.parquet").read_bytes())

    read = [list(stream(tmp_path / name)) for name in ("trace.ndjson", "trace.ndjson.gz", "trace.parquet", "columns")]

    assert all([obs.seq for obs in trace] == [0, 1, 2, 3] for trace in read)
    assert all(trace[1] == read[2][1] for trace in read)


def test_a_folder_of_parquet_is_one_trace(tmp_path: Path) -> None:
    (tmp_path / "run=r").mkdir()
    write_parquet(tmp_path / "run=r" / "part-0.parquet", one_member_trace())

    assert traces_in(tmp_path) == [tmp_path]
    assert len(list(stream(tmp_path))) == 4


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("trace.ndjson", b"no line\n", "is no trace in NDJSON: line 1 is no observation"),
        ("trace.ndjson.gz", gzip.compress(b'{"seq":0}', mtime=0)[:12], "is no whole gzip file"),
        ("trace.parquet", b"PAR1 cut off", "can't be read as Parquet"),
    ],
)
def test_what_is_no_trace_is_wrong_usage_in_one_line(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(WrongUsage, match=message) as caught:
        list(stream(tmp_path / name))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_gone_and_a_folder_without_traces_are_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match=r"can't read the trace .*: No such file"):
        list(stream(tmp_path / "trace.ndjson"))
    with pytest.raises(WrongUsage, match=r"there is no trace\.ndjson in .*, and no Parquet"):
        traces_in(tmp_path)


def test_without_pyarrow_the_environment_is_to_blame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise trace_columns.MissingArrow("columns need an extra")

    write_parquet(tmp_path / "trace.parquet", one_member_trace())
    monkeypatch.setattr(trace_columns, "_arrow", missing)

    with pytest.raises(BrokenEnvironment, match="columns need an extra"):
        list(stream(tmp_path / "trace.parquet"))
    trace_columns.trace_schema.cache_clear()
    with pytest.raises(BrokenEnvironment, match="columns need an extra"):
        need_columns()
