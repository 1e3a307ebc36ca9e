from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.chaos.spark.traces import growing_trace as module
from groupproof.chaos.spark.traces.growing_trace import Growing, read_piece
from groupproof.chaos.spark.traces.trace_segments import Sealer
from groupproof.harness.model.errors import WrongUsage
from groupproof.protocol.trace import Observation, write_trace
from groupproof.protocol.trace_columns import write_parquet

TRACE = [Observation(seq=seq, at_ns=seq, run="r", kind="event", group="g", detail="x" * (seq % 7)) for seq in range(40)]


def lines(trace: list[Observation]) -> str:
    return "".join(f"{line}\n" for line in write_trace(trace))


def held(growing: Growing, start: dict[str, int] | None = None, end: dict[str, int] | None = None) -> list[int]:
    """Return the numbers of what is between two places, in the order of the pieces."""
    pieces = growing.pieces(start or {}, growing.position() if end is None else end)
    return [obs.seq for piece in pieces for some in read_piece(piece, 3) for obs in some]


def test_a_line_that_is_half_written_is_left_for_later(tmp_path: Path) -> None:
    file, whole = tmp_path / "trace.ndjson", lines(TRACE)
    file.write_text(whole[:-10])
    growing = Growing(tmp_path)
    before = growing.position()

    assert held(growing) == list(range(39))
    file.write_text(whole)
    assert held(growing, before) == [39]
    assert held(growing, before, before) == []


def test_a_line_longer_than_what_is_looked_at_is_found_to_be_half_written(tmp_path: Path) -> None:
    file = tmp_path / "one.ndjson"
    file.write_text(lines(TRACE[:2]) + "x" * 200_000)

    assert held(Growing(file)) == [0, 1]


@pytest.mark.slow
@given(size=st.integers(1, 400))
def test_every_line_is_in_one_piece_wherever_it_is_cut(size: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("cut") / "trace.ndjson"
    file.write_text(lines(TRACE))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "PIECE_BYTES", size)
        assert held(Growing(file)) == list(range(40))


def test_segments_are_read_in_the_order_of_their_writers(tmp_path: Path) -> None:
    sealers = [Sealer(tmp_path, "r", f"0-{number}") for number in range(2)]
    growing, places = Growing(tmp_path), []
    for obs in TRACE[:12]:
        sealers[obs.seq % 2].add(replace(obs, group="ab"[obs.seq % 2]))
        if obs.seq % 4 == 3:
            for sealer in sealers:
                sealer.seal()
            places.append(growing.position())

    assert sorted(held(growing, {}, places[0])) == [0, 1, 2, 3]
    assert sorted(held(growing, places[0], places[1])) == [4, 5, 6, 7]
    assert sorted(held(growing, places[1])) == [8, 9, 10, 11]
    assert len(places[-1]) == 2


def test_files_of_spark_and_packed_files_are_read_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "parquet" / "run=007").mkdir(parents=True)
    write_parquet(tmp_path / "parquet" / "run=007" / "part-0.parquet", TRACE)
    (tmp_path / "trace.ndjson.gz").write_bytes(gzip.compress(lines(TRACE).encode()))

    assert held(Growing(tmp_path / "parquet")) == list(range(40))
    assert held(Growing(tmp_path)) == list(range(40))


def test_a_file_that_has_become_shorter_is_another_trace(tmp_path: Path) -> None:
    file = tmp_path / "trace.ndjson"
    file.write_text(lines(TRACE))
    growing = Growing(file)
    position = growing.position()
    file.write_text(lines(TRACE[:3]))

    with pytest.raises(WrongUsage, match="has become shorter since the last read"):
        growing.pieces({}, position)


def test_what_is_not_there_and_what_is_no_trace_are_reported_by_name(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match=r"there is no trace at .*/none"):
        Growing(tmp_path / "none")
    file = tmp_path / "trace.ndjson"
    file.write_text('{"seq": 1}\n')
    with pytest.raises(WrongUsage, match=r"trace\.ndjson is no trace in NDJSON: line 1 is no observation"):
        held(Growing(file))
