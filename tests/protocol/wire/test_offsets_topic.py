"""The offsets topic as observations: what a record says stands in the columns, what cannot be read is counted and named, what is missing is counted."""

from __future__ import annotations

import json
from typing import Any

from tests.protocol.wire.test_log_batches import batch_of, only, with_attributes

from groupproof.protocol.schemas import validate
from groupproof.protocol.trace import Observation
from groupproof.protocol.wire.coordinator_records import encode_record
from groupproof.protocol.wire.log_batches import BrokenBatch, LogRecord
from groupproof.protocol.wire.offsets_topic import OffsetsTopic, Tally, TopicCommit

COMMIT = encode_record(
    "OffsetCommit", {"group": "g", "topic": "t", "partition": 3}, {"offset": 42, "metadata": "", "commit_timestamp": 1_000, "leader_epoch": -1}, 3
)
CURRENT = encode_record(
    "ConsumerGroupCurrentMemberAssignment",
    {"group_id": "g", "member_id": "m"},
    {"member_epoch": 5, "previous_member_epoch": 4, "state": 0, "assigned_partitions": (), "partitions_pending_revocation": ()},
)
MEMBER = encode_record(
    "ConsumerGroupMemberMetadata",
    {"group_id": "g", "member_id": "m"},
    {"instance_id": "i", "rack_id": None, "client_id": "c", "client_host": "/10.0.0.7", "subscribed_topic_names": ("t",),
     "subscribed_topic_regex": None, "rebalance_timeout_ms": 1, "server_assignor": None},
)  # fmt: skip


def read(*records: LogRecord, attributes: int = 0, topic: OffsetsTopic | None = None) -> list[Observation]:
    topic = topic or OffsetsTopic(500)
    return list(topic.follow(7, only(with_attributes(batch_of(list(records)), attributes, producer_id=11 if attributes & 0x10 else -1))))


def test_a_commit_stands_in_the_columns_of_a_trace() -> None:
    (obs,) = read((9, 2_000, *COMMIT))

    assert (obs.kind, obs.who, obs.group, obs.offsets, obs.version, obs.at_ms) == ("event", "coordinator", "g", (("t", 3, 42),), 3, 1_500.0)
    assert (obs.body["name"], obs.body["record"], obs.body["partition"], obs.body["offset"]) == ("record", "OffsetCommit", 7, 9)
    assert (obs.api, obs.connection, obs.member) == (None, None, None)


def test_members_of_a_consumer_group_stand_in_the_columns() -> None:
    current, member, gone = read((1, 600, *CURRENT), (2, 601, *MEMBER), (3, 602, MEMBER[0], None))

    assert (current.member, current.member_epoch) == ("m", 5)
    assert (member.member, member.instance, member.client) == ("m", "i", "c")
    assert (gone.member, gone.body["value"]) == ("m", None)


def test_a_tombstone_of_a_commit_names_its_partition() -> None:
    topic = OffsetsTopic(0)
    (obs,) = read((9, 2_000, COMMIT[0], None), topic=topic)

    assert (obs.partitions, obs.offsets) == ((("t", 3),), ())
    assert (topic.tally.tombstones, topic.tally.read) == (1, 1)


def test_commits_of_a_transaction_and_its_marker_have_their_producer() -> None:
    topic = OffsetsTopic(0)
    (commit,) = read((9, 1, *COMMIT), attributes=0x10, topic=topic)
    (marker,) = read((10, 2, b"\0\0\0\1", b"\0\0\0\0\0\1"), attributes=0x30, topic=topic)

    assert commit.body["producer_id"] == 11
    assert (marker.body["name"], marker.body["marker"], marker.body["producer_id"], topic.tally.markers) == ("marker", "COMMIT", 11, 1)


def test_what_cannot_be_read_is_counted_and_named_and_what_follows_is_read() -> None:
    topic = OffsetsTopic(0)
    unknown, commit = read((0, 1, b"\0\x63", b"\0\0"), (1, 1, *COMMIT), topic=topic)
    (broken,) = topic.follow(7, BrokenBatch(2, 80, "the checksum is another"))

    assert (unknown.body["name"], unknown.body["reason"], commit.group) == ("unreadable", "type 99", "g")
    assert (broken.body["reason"], broken.body["text"], broken.body["offset"]) == ("broken batch", "the checksum is another", 2)
    assert topic.tally.unreadable == {"type 99": 1, "broken batch": 1}


def test_offsets_that_compaction_took_are_counted_by_partition() -> None:
    topic = OffsetsTopic(0)
    read((5, 1, *COMMIT), (8, 1, *COMMIT), topic=topic)
    read((20, 1, *COMMIT), topic=topic)
    list(topic.follow(1, only(batch_of([(900, 1, *COMMIT)]))))

    assert topic.tally.missing == 2 + 11


def test_every_observation_is_a_line_of_a_trace_and_comes_back_from_it() -> None:
    topic = OffsetsTopic(0)
    observations = [topic.begin(), *read((1, 600, *CURRENT), (2, 601, *MEMBER), (3, 602, *COMMIT), (4, 1, b"", None), topic=topic)]
    lines = [json.loads(json.dumps(obs.to_json())) for obs in observations]

    for line in lines:
        validate("trace", line)
    assert [Observation.from_json(line).offsets for line in lines] == [obs.offsets for obs in observations]
    assert [obs.seq for obs in observations] == list(range(5))
    assert observations[0].body == {"name": "clock", "epoch_ms": 0}


def test_what_is_older_than_the_beginning_stands_at_it_and_keeps_its_own_time() -> None:
    (obs,) = read((1, 400, *COMMIT))

    assert (obs.at_ns, obs.body["timestamp_ms"]) == (0, 400)


def test_a_tally_tells_everything_as_json() -> None:
    topic = OffsetsTopic(0)
    read((0, 1, *COMMIT), (1, 1, COMMIT[0], None), (2, 1, b"\0\x63", None), topic=topic)
    tally: dict[str, Any] = topic.tally.to_json()

    assert tally == {"records": {"OffsetCommit": 2}, "tombstones": 1, "markers": 0, "unreadable": {"type 99": 1}, "missing": 0}


def test_what_reads_tersely_reads_the_same_and_counts_the_same() -> None:
    stored = [(0, 1, *COMMIT), (1, 1, COMMIT[0], None), (2, 1, *MEMBER), (3, 1, COMMIT[0], b"\0\x03\0"), (4, 1, b"\0\x63", None), (9, 5, *COMMIT)]
    plain, terse = OffsetsTopic(0), OffsetsTopic(0)
    whole = read(*stored, topic=plain)
    found = list(terse.follow_tersely(7, only(batch_of(list(stored)))))

    assert [entry for entry in found if isinstance(entry, TopicCommit)] == [("g", "t", 3, 42, 1, 7, 0), ("g", "t", 3, 42, 5, 7, 9)]
    assert [entry.body for entry in found if isinstance(entry, Observation)] == [obs.body for obs in whole if not obs.offsets]
    assert terse.tally == plain.tally


def test_a_commit_of_a_transaction_is_never_terse() -> None:
    batch = only(with_attributes(batch_of([(9, 1, *COMMIT)]), 0x10, producer_id=11))

    assert list(OffsetsTopic(0).follow_tersely(7, batch)) == list(OffsetsTopic(0).follow(7, batch))


def test_what_was_observed_before_is_counted_as_it_was_then() -> None:
    topic, again = OffsetsTopic(0), Tally()
    for obs in read((0, 1, *COMMIT), (1, 1, COMMIT[0], None), (2, 1, b"\0\x63", None), topic=topic):
        again.count(obs)
    for obs in read((10, 2, b"\0\0\0\1", b"\0\0\0\0\0\1"), attributes=0x30, topic=topic):
        again.count(obs)

    assert again == Tally(records=topic.tally.records, tombstones=1, markers=1, unreadable=topic.tally.unreadable)
