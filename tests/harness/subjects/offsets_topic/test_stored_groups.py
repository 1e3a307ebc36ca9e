"""The groups that segments of the offsets topic come to."""

from __future__ import annotations

from pathlib import Path

import pytest
from crc32c import crc32c
from tests.harness.subjects.offsets_topic.recorded_batches import recorded_batches
from tests.harness.subjects.offsets_topic.topic_logs import TopicLogs, commit, generation

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.subjects.offsets_topic.stored_groups import read_stored_groups
from groupproof.protocol.wire.offsets_topic import TOPIC
from groupproof.protocol.wire.records import Record, encode_batch


def test_groups_and_commits_of_all_partitions_are_read(tmp_path: Path) -> None:
    logs = TopicLogs()
    logs.append(0, commit(1_000, "a", 0, 1), commit(3_000, "a", 0, 2), generation(4_000, "a", 3))
    logs.append(17, commit(2_000, "b", 1, 5))
    logs.write(tmp_path)

    records = read_stored_groups(tmp_path)

    assert records.classic_groups == ("a",)
    assert [(topic.name, topic.partitions, topic.commits) for topic in records.topics()] == [("t", 2, {0: (2, 2), 1: (5, 5)})]
    assert records.left_out == {}


def test_the_end_of_a_segment_that_is_written_to_is_no_loss(tmp_path: Path) -> None:
    logs = TopicLogs()
    logs.append(0, commit(1_000, "a", 0, 1), commit(3_000, "a", 0, 2))
    logs.write(tmp_path)
    (segment,) = tmp_path.rglob("*.log")
    segment.write_bytes(segment.read_bytes()[:-3])

    records = read_stored_groups(tmp_path)

    assert (records.commits, records.left_out) == (1, {})
    assert records.topics()[0].commits == {0: (1, 1)}


def test_what_cannot_be_read_is_counted(tmp_path: Path) -> None:
    logs = TopicLogs()
    logs.append(0, (1_000, b"\x00\x63", b""), commit(1_000, "a", 0, 1))
    logs.write(tmp_path)

    assert read_stored_groups(tmp_path).left_out == {"unreadable": 1}


_COMMIT = (1_000, b"\0\0\0\1", b"\0\0\0\0\0\0")
"""The marker of a transaction that is committed."""


@pytest.mark.parametrize(("log", "commits"), [([7], 0), ([7, None], 1), ([8, None], 0)])
def test_a_commit_within_a_transaction_counts_with_its_marker(log: list[int | None], commits: int, tmp_path: Path) -> None:
    segment = tmp_path / f"{TOPIC}-0" / "00000000000000000000.log"
    segment.parent.mkdir()
    segment.write_bytes(
        b"".join(
            _in_transaction(
                _COMMIT if producer_id is None else commit(1_000, "a", 0, 5), 7 if producer_id is None else producer_id, is_marker=producer_id is None
            )
            for producer_id in log
        )
    )

    assert read_stored_groups(tmp_path).commits == commits


def _in_transaction(record: tuple[int, bytes, bytes | None], producer_id: int, *, is_marker: bool) -> bytes:
    """Return a batch of one record as a transactional producer appends it, or the coordinator of transactions."""
    at_ms, key, value = record
    blob = bytearray(encode_batch([Record(offset=0, timestamp_ms=at_ms, key=key, value=value)]))
    blob[21:23] = (0x30 if is_marker else 0x10).to_bytes(2, "big")
    blob[43:51] = producer_id.to_bytes(8, "big")
    blob[17:21] = crc32c(bytes(blob[21:])).to_bytes(4, "big")
    return bytes(blob)


def test_the_topic_of_a_real_broker_is_read(tmp_path: Path) -> None:
    segment = tmp_path / f"{TOPIC}-0" / "00000000000000000000.log"
    segment.parent.mkdir()
    segment.write_bytes(b"".join(recorded.blob for recorded in recorded_batches("4.4.0")))

    records = read_stored_groups(tmp_path)

    assert records.consumer_groups
    assert records.classic_groups
    assert records.left_out.keys() <= {name for name in records.left_out if name.startswith(("Share", "Streams"))}


def test_a_folder_without_segments_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="holds no segment of __consumer_offsets"):
        read_stored_groups(tmp_path)
