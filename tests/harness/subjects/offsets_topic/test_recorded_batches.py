"""Real batches of real releases: our decoder reads in them what Kafka's own read, of each kind of record, compressed or not."""

from __future__ import annotations

import copy
from typing import Any, Final

import pytest
from tests.harness.subjects.offsets_topic.kafkas_own import written
from tests.harness.subjects.offsets_topic.recorded_batches import RECORDED, RecordedBatch, recorded_batches

from groupproof.protocol.wire.compression import CODECS
from groupproof.protocol.wire.coordinator_records import decode_record
from groupproof.protocol.wire.log_batches import LogBatch, read_log

RELEASES: Final = {"1.1.0-drawn": "none", "4.4.0": "none", "4.4.0-drawn": "none"}
"""The codec that each release's broker was told to compress the topic with. What was drawn (`drawn_topic.py`) no broker wrote, and Kafka's classes read it."""


def _differing(recorded: list[RecordedBatch]) -> tuple[list[dict[str, Any]], set[str]]:
    """Return the records that Kafka reads otherwise, and the codecs of the batches."""
    differing, codecs = [], set()
    for blob, reading in recorded:
        (batch,) = read_log(blob)
        assert isinstance(batch, LogBatch)
        codecs.add(CODECS[batch.codec])
        for (offset, _, key, value), line in zip(batch.records, reading, strict=True):
            expected = written(decode_record(key, value), by_schema="name" not in line["key"])
            if (offset, expected) != (line["o"], {side: line.get(side) for side in expected}):
                differing.append(line)
    return differing, codecs


def test_every_release_that_is_recorded_is_named_here() -> None:
    assert {file.name.removeprefix("kafka-").removesuffix(".ndjson.gz") for file in RECORDED.iterdir()} == set(RELEASES)


@pytest.mark.parametrize("release", RELEASES)
def test_every_record_is_read_as_kafka_reads_it(release: str) -> None:
    differing, codecs = _differing(recorded_batches(release))

    assert differing == []
    assert RELEASES[release] in codecs


def test_a_reading_that_differs_is_found() -> None:
    recorded = copy.deepcopy(recorded_batches("4.4.0"))
    line = next(line for batch in recorded for line in batch.reading if line["value"] and "offset" in line["value"]["data"])
    line["value"]["data"]["offset"] += 1

    assert _differing(recorded)[0] == [line]


def test_the_recorded_batches_hold_every_kind_of_record_that_was_harvested() -> None:
    names = {line["key"].get("name", "").removesuffix("Key") for release in RELEASES for batch in recorded_batches(release) for line in batch.reading}

    assert {
        "OffsetCommit", "GroupMetadata", "ConsumerGroupMetadata", "ConsumerGroupMemberMetadata", "ConsumerGroupTargetAssignmentMetadata",
        "ConsumerGroupTargetAssignmentMember", "ConsumerGroupCurrentMemberAssignment", "ConsumerGroupRegularExpression", "ShareGroupMetadata",
        "ShareGroupMemberMetadata", "ShareGroupTargetAssignmentMetadata", "ShareGroupTargetAssignmentMember", "ShareGroupCurrentMemberAssignment",
        "ConsumerGroupPartitionMetadata", "ShareGroupStatePartitionMetadata", "StreamsGroupMetadata", "StreamsGroupMemberMetadata",
        "StreamsGroupTargetAssignmentMetadata", "StreamsGroupTargetAssignmentMember", "StreamsGroupCurrentMemberAssignment", "StreamsGroupTopology",
    } <= names  # fmt: skip
