"""Topics and logs: what they are filled with, what is read from where, and their bound."""

from __future__ import annotations

import pytest

from groupproof.coordinator.broker.topics import FIRST_TIMESTAMP_MS, Log, OutOfRange, Topics, topic_id_of
from groupproof.coordinator.machine.recorded_topics import RecordedTopic
from groupproof.coordinator.machine.topics_image import TopicImage
from groupproof.protocol.wire.records import Record, RecordsError, encode_batch, read_batches


def _log(topics: Topics, name: str = "t", index: int = 0) -> Log:
    topic = topics.named(name)
    assert topic is not None
    log = topic.log(index)
    assert log is not None
    return log


def _values(blob: bytes) -> list[bytes | None]:
    return [record.value for batch in read_batches(blob) for record in batch.records()]


def test_a_new_partition_is_filled_with_records_that_say_where_they_are() -> None:
    topics = Topics(records=25)
    topics.grow("t", 2)

    log = _log(topics, index=1)
    assert (log.start_offset, log.end_offset) == (0, 25)
    assert _values(log.read(0, 1_000_000)) == [f"t-1-{offset}".encode() for offset in range(25)]


def test_reading_begins_with_the_batch_that_holds_the_offset() -> None:
    topics = Topics(records=25)
    topics.grow("t", 1)

    assert _values(_log(topics).read(12, 1_000_000))[0] == b"t-0-10"
    assert _log(topics).read(25, 1_000_000) == b""


def test_reading_takes_whole_batches_and_at_least_one_if_asked() -> None:
    topics = Topics(records=25)
    topics.grow("t", 1)
    log = _log(topics)

    assert len(_values(log.read(0, 1))) == 10
    assert log.read(0, 1, at_least_one=False) == b""


@pytest.mark.parametrize("offset", [-1, 26])
def test_offsets_outside_the_log_are_out_of_range(offset: int) -> None:
    topics = Topics(records=25)
    topics.grow("t", 1)

    with pytest.raises(OutOfRange, match=f"offset {offset} is not within 0 to 25"):
        _log(topics).read(offset, 1)


def test_appended_batches_are_placed_at_the_end() -> None:
    log = Log()
    batch = encode_batch([Record(offset=0, timestamp_ms=5, value=b"a"), Record(offset=1, timestamp_ms=6, value=b"b")])

    assert [log.append(batch), log.append(batch + batch)] == [0, 2]
    assert log.end_offset == 6
    assert [record.offset for read_batch in read_batches(log.read(0, 10_000)) for record in read_batch.records()] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("blob", [b"", b"garbage", b"\0" * 61])
def test_what_is_no_batch_is_refused(blob: bytes) -> None:
    with pytest.raises(RecordsError):
        Log().append(blob)


def test_a_full_log_drops_its_oldest_batches() -> None:
    batch = encode_batch([Record(offset=0, timestamp_ms=5, value=b"x" * 100)])
    log = Log(bytes_max=len(batch) * 3)
    for _ in range(10):
        log.append(batch)

    assert (log.start_offset, log.end_offset) == (7, 10)
    with pytest.raises(OutOfRange):
        log.read(6, 1)


def test_records_are_found_by_time() -> None:
    topics = Topics(records=25)
    topics.grow("t", 1)
    log = _log(topics)

    since, newest = log.first_since(FIRST_TIMESTAMP_MS + 12), log.newest()
    assert since is not None
    assert since.offset == 12
    assert newest is not None
    assert newest.offset == 24
    assert log.first_since(FIRST_TIMESTAMP_MS + 25) is None


def test_records_are_appended_to_each_partition_behind_those_that_are_there() -> None:
    topics = Topics(records=3)
    topics.grow("t", 2)

    topics.append("t", 2)

    grown = topics.named("t")
    assert grown is not None
    assert [log.end_offset for log in grown.partitions] == [5, 5]
    with pytest.raises(ValueError, match="there is no topic x"):
        topics.append("x", 1)


def test_a_topic_that_is_deleted_and_created_again_has_another_id_and_is_announced() -> None:
    images: list[dict[str, object]] = []
    topics = Topics(records=1, on_change=lambda: images.append(dict(topics.image())))
    first = topics.grow("t", 2).topic_id
    topics.delete("t")
    second = topics.grow("t", 1).topic_id

    assert (topics.by_id(first), first == second, [len(image) for image in images]) == (None, False, [1, 0, 1])
    with pytest.raises(ValueError, match="there is no topic u to delete"):
        topics.delete("u")


def test_a_topic_keeps_its_id_and_grows_but_never_shrinks() -> None:
    topics = Topics(records=3)
    topic_id = topics.grow("t", 1).topic_id

    grown = topics.grow("t", 3)
    assert grown.topic_id == topic_id
    assert topics.by_id(topic_id) is grown
    assert topics.name_of(topic_id) == grown.name
    assert topics.name_of("an id of nobody") == "an id of nobody"
    assert [log.end_offset for log in grown.partitions] == [3, 3, 3]
    assert grown.log(3) is None
    with pytest.raises(ValueError, match="cannot shrink"):
        topics.grow("t", 2)


def test_partitions_are_led_by_all_nodes_in_turn() -> None:
    topic = Topics(records=0).grow("t", 3)

    assert [topic.leader_of(index, 2) for index in range(3)] == [0, 1, 0]


def test_a_restored_topic_continues_where_its_groups_are() -> None:
    topics = Topics(records=15)
    topics.restore(RecordedTopic("t", "some-id", 2, {1: (70, 90)}))

    log = _log(topics, index=1)
    assert topics.image()["t"] == TopicImage("some-id", 2)
    assert (log.start_offset, log.end_offset) == (70, 105)
    assert _values(log.read(70, 1_000_000)) == [f"t-1-{offset}".encode() for offset in range(90, 105)]
    assert _values(log.read(90, 1_000_000))[0] == b"t-1-90"
    assert (_log(topics).start_offset, _log(topics).end_offset) == (0, 15)


def test_a_restored_topic_whose_id_nothing_tells_has_that_of_its_name() -> None:
    topics = Topics(records=0)
    topics.restore(RecordedTopic("t", None, 1, {}))

    assert topics.image()["t"].topic_id == topic_id_of("t")
