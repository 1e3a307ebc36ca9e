"""Kept records: a file that has its name is whole, the names say where to go on, and what could not be read stays countable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.chaos.spark.offsets.test_partition_files import offsets_of
from tests.harness.subjects.offsets_topic.topic_logs import commit

from groupproof.chaos.spark.offsets.kept_records import KeptRecords, pieces_in, rows_of
from groupproof.chaos.spark.offsets.partition_files import PartitionFiles
from groupproof.harness.model.errors import WrongUsage
from groupproof.protocol.wire.log_batches import BrokenBatch, LogRecord


def _rows(offsets: Sequence[int]) -> list[LogRecord]:
    return [(offset, *commit(offset, "g", 0, offset)) for offset in offsets]


def _part(folder: Path, partition: int) -> PartitionFiles:
    return PartitionFiles(partition, tuple(piece.path.as_uri() for piece in pieces_in(folder) if piece.partition == partition), 0)


def test_reading_continues_behind_what_was_kept_and_keeps_nothing_twice(tmp_path: Path) -> None:
    kept = KeptRecords(tmp_path)
    kept.take(3, _rows([7, 8]))
    kept.take(3, _rows([10]))
    kept.flush()
    again = KeptRecords(tmp_path)

    assert (again.positions, again.begins) == ({3: 11}, {3: 7})
    again.take(3, _rows([8, 10, 11, 15]))
    again.take(3, _rows([11]))
    again.flush()
    assert [(piece.first, piece.after) for piece in pieces_in(tmp_path)] == [(7, 11), (11, 16)]
    assert offsets_of(_part(tmp_path, 3)) == [7, 8, 10, 11, 15]


def test_memory_is_bounded_and_the_largest_partition_goes_first(tmp_path: Path) -> None:
    kept = KeptRecords(tmp_path, held_max=5)
    kept.take(0, _rows(range(2)))
    kept.take(1, _rows(range(4)))

    assert [(piece.partition, piece.first, piece.after) for piece in pieces_in(tmp_path)] == [(1, 0, 4)]
    kept.flush()
    assert {piece.partition for piece in pieces_in(tmp_path)} == {0, 1}


def test_what_was_being_written_when_the_process_was_killed_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(file: int) -> None:
        raise KeyboardInterrupt

    kept = KeptRecords(tmp_path)
    kept.take(0, _rows(range(2)))
    monkeypatch.setattr("os.fsync", cut)
    with pytest.raises(KeyboardInterrupt):
        kept.flush()

    assert [path.name[0] for path in tmp_path.rglob("*.parquet")] == ["."]
    assert KeptRecords(tmp_path).positions == {}


def test_a_batch_that_cannot_be_read_is_kept_with_its_reason(tmp_path: Path) -> None:
    kept = KeptRecords(tmp_path)
    for rows in (_rows([0]), rows_of(BrokenBatch(1, 70, "the checksum is another")), _rows([2])):
        kept.take(0, rows)
    kept.flush()

    batches = [batch for chunk in _part(tmp_path, 0).chunks() for batch in chunk]
    assert [batch.why for batch in batches if isinstance(batch, BrokenBatch)] == ["the checksum is another"]
    assert offsets_of(_part(tmp_path, 0)) == [0, 2]


def test_a_folder_belongs_to_one_cluster(tmp_path: Path) -> None:
    KeptRecords(tmp_path).begin_cluster("abc")
    again = KeptRecords(tmp_path)

    again.begin_cluster("abc")
    again.begin_cluster("")
    with pytest.raises(WrongUsage, match="has the records of cluster abc, and this is cluster xyz; name another --output"):
        again.begin_cluster("xyz")
    assert pieces_in(tmp_path) == []
