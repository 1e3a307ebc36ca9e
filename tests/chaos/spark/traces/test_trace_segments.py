from __future__ import annotations

import errno
from pathlib import Path

import pytest

from groupproof.chaos.spark.traces.trace_segments import NOBODY, SLOTS, NoRoom, Sealer, Segment, Stamp, folder_of, since
from groupproof.protocol.trace import Observation
from groupproof.protocol.trace_columns import parquet_files, read_parquet, write_parquet


def observation(seq: int, group: str | None = "g") -> Observation:
    return Observation(seq=seq, at_ns=seq, run="r", kind="event", group=group)


def test_numbers_rise_within_a_writer_and_meet_nowhere_else() -> None:
    instants = iter([0, 0, 5_000, 4_000, 5_000_000])
    one, other = Stamp(1, lambda: next(instants)), Stamp(2, lambda: 0)

    mine = [one()[0] for _ in range(5)]
    theirs = [other()[0] for _ in range(5)]

    assert mine == sorted(set(mine))
    assert not set(mine) & set(theirs)
    assert mine[-1] == 5_000 * SLOTS + 1


def test_there_is_no_slot_beyond_the_last() -> None:
    with pytest.raises(ValueError, match="4096 is none"):
        Stamp(SLOTS, lambda: 0)


def test_a_segment_for_each_group_is_there_when_it_is_whole(tmp_path: Path) -> None:
    entries: list[Segment] = []
    sealer = Sealer(tmp_path, "r", "task-0000-0", report=entries.append)
    for obs in (observation(1), observation(2, "a/b"), observation(3), observation(4, None)):
        sealer.add(obs)
    assert parquet_files(tmp_path) == []

    sealer.seal()
    sealer.add(observation(9))
    sealer.seal()

    assert (sealer.rows, sealer.segments) == (5, 4)
    assert entries[0] == Segment(path="run=r/group=g/task-0000-0-000000.parquet", group="g", rows=2, first_seq=1, last_seq=3)
    assert {segment.path.split("/")[1] for segment in entries} == {"group=g", "group=a%2Fb", f"group={NOBODY}"}
    assert [item.seq for item in read_parquet(tmp_path)] == [1, 2, 3, 4, 9]
    assert [item.group for item in read_parquet(tmp_path)] == ["g", "a/b", "g", None, "g"]


def test_many_observations_are_sealed_early(tmp_path: Path) -> None:
    sealer = Sealer(tmp_path, "r", "w", rows_max=3)
    for number in range(7):
        sealer.add(observation(number))

    assert (sealer.rows, len(parquet_files(tmp_path))) == (6, 2)


def test_without_room_what_was_sealed_stays_and_what_was_not_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sealer = Sealer(tmp_path, "r", "w")
    sealer.add(observation(1))
    sealer.seal()
    sealer.add(observation(2))
    real = write_parquet

    def full(path: Path, rows: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("groupproof.chaos.spark.traces.trace_segments.write_parquet", full)
    with pytest.raises(NoRoom, match="can't be written: No space left"):
        sealer.seal()
    assert [obs.seq for obs in read_parquet(tmp_path)] == [1]

    monkeypatch.setattr("groupproof.chaos.spark.traces.trace_segments.write_parquet", real)
    sealer.seal()
    assert [obs.seq for obs in read_parquet(tmp_path)] == [1, 2]


def test_the_clock_of_a_run_counts_from_its_start() -> None:
    now = since(0)
    first = now()

    assert first > 1_600_000_000 * 10**9
    assert now() >= first
    assert folder_of("a b", None) == "run=a%20b/group=__HIVE_DEFAULT_PARTITION__"
