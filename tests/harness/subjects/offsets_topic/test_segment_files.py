"""Segments of the offsets topic on a disk: told from other files, read in the order of time, each partition in the order of its log."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.subjects.offsets_topic.topic_logs import TopicLogs, commit

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.subjects.offsets_topic.segment_files import is_segment, partition_of_segment, read_segments, segments_in
from groupproof.protocol.wire.log_batches import BrokenBatch


def _written(folder: Path) -> list[Path]:
    logs = TopicLogs()
    logs.append(0, commit(1_000, "a", 0, 1), commit(3_000, "a", 0, 2))
    logs.append(17, commit(2_000, "b", 0, 1), commit(1_500, "b", 0, 2), commit(4_000, "b", 0, 3))
    logs.write(folder)
    (folder / "orders-0").mkdir()
    (folder / "orders-0" / "00000000000000000000.log").write_bytes(b"other")
    return segments_in(folder)


def test_the_segments_of_a_brokers_folder_are_those_of_the_offsets_topic(tmp_path: Path) -> None:
    segments = _written(tmp_path)

    assert [partition_of_segment(segment) for segment in segments] == [0, 17]
    assert partition_of_segment(tmp_path / "copied.log") == 0


def test_batches_come_in_the_order_of_time_and_within_a_partition_in_that_of_the_log(tmp_path: Path) -> None:
    placed = [(ms, partition) for ms, partition, _ in read_segments(_written(tmp_path))]

    assert placed == [(1_000, 0), (2_000, 17), (2_000, 17), (3_000, 0), (4_000, 17)]


def test_a_segment_that_is_written_to_ends_with_a_batch_that_is_cut_off(tmp_path: Path) -> None:
    segments = _written(tmp_path)
    segments[0].write_bytes(segments[0].read_bytes()[:-3])
    (last,) = [batch for _, partition, batch in read_segments(segments) if partition == 0 and isinstance(batch, BrokenBatch)]

    assert last.is_cut


def test_an_empty_segment_holds_nothing_and_one_that_is_gone_is_one_clear_error(tmp_path: Path) -> None:
    empty = tmp_path / "empty.log"
    empty.touch()

    assert list(read_segments([empty])) == []
    with pytest.raises(WrongUsage, match="can't be read"):
        list(read_segments([tmp_path / "gone.log"]))


@pytest.mark.parametrize("head", [b"", b"[2026-11-23 08:00:00,000] INFO Preparing", b'{"seq":0,"at_ns":0,"kind":"event"}', b"PAR1" * 5, b"\0" * 20])
def test_no_other_file_is_treated_as_a_segment(tmp_path: Path, head: bytes) -> None:
    assert not is_segment(head)
    assert is_segment(_written(tmp_path)[0].read_bytes()[:17])
