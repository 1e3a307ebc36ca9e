"""Facts of groups: what each kind is, and that batches of any size come to the same."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable
from typing import Any

import pytest
from tests.harness.judging.topic_history.stories import member
from tests.harness.judging.topic_history.test_topic_history import _simulated
from tests.harness.subjects.offsets_topic.topic_logs import Stored, commit, generation

from groupproof.chaos.spark.offsets.record_fold import (
    COMMIT_GAP,
    FLAPPING,
    REBALANCE,
    STORMING,
    UNOWNED,
    Fact,
    RecordFold,
    StoredRecord,
    batch_of,
    newest_of,
)
from groupproof.harness.simulation.stored_records import topic_of
from groupproof.protocol.wire.coordinator_records import encode_record
from groupproof.protocol.wire.log_batches import LogBatch, LogRecord

MINUTE_MS = 60_000


def _records(*stored: Stored) -> list[StoredRecord]:
    return [StoredRecord(0, offset, at_ms, key, value) for offset, (at_ms, key, value) in enumerate(stored)]


def newest(facts: Iterable[Fact]) -> dict[tuple[str, str, int], tuple[int, str]]:
    """Keep of each fact what was told last, without where."""
    return {(fact.group, fact.kind, fact.number): (fact.at_ms, fact.text) for fact in newest_of(facts)}


def _of(kind: str, records: list[StoredRecord]) -> list[dict[str, Any]]:
    return [
        json.loads(text) | {"at_ms": at_ms} for (_, found_kind, _), (at_ms, text) in newest(RecordFold().take(records)).items() if found_kind == kind
    ]


def storm_records(minutes: Iterable[float]) -> list[StoredRecord]:
    return _records(*(generation(round(at * MINUTE_MS), "g", number, (member("a-1", (0,)),)) for number, at in enumerate(minutes, 1)))


def test_five_rebalances_within_ten_minutes_are_a_storm_that_grows_and_ends() -> None:
    (first, second) = _of(STORMING, storm_records([1, 2, 3, 4, 5, 6, 60, 61, 62, 63, 64]))

    assert (first["at_ms"], first["rebalances"], first["until_ms"]) == (MINUTE_MS, 6, 6 * MINUTE_MS)
    assert (second["at_ms"], second["rebalances"]) == (60 * MINUTE_MS, 5)
    assert _of(STORMING, storm_records([1, 4, 7, 10, 12])) == [], "four within any ten minutes"


def test_every_rebalance_is_a_fact_with_its_cause() -> None:
    causes = [(row["generation"], row["cause"], row["certain"]) for row in _of(REBALANCE, storm_records([1, 2]))]

    assert causes == [(1, "first-member", True), (2, "leader-rejoined", False)]


def test_a_member_that_was_lost_three_times_within_an_hour_flaps() -> None:
    stored: list[Stored] = []
    for number in range(3):
        stored.append(generation(number * 4 * MINUTE_MS, "g", 2 * number + 1, (member("a-1"), member(f"b-{number}", (), client="b"))))
        stored.append(generation(number * 4 * MINUTE_MS + 20_000, "g", 2 * number + 2, (member("a-1"),)))

    (fact,) = _of(FLAPPING, _records(*stored))
    assert (fact["member"], fact["host"], fact["times"], fact["keeps_nothing"]) == ("b", "10.0.0.1", 3, True)
    assert _of(FLAPPING, _records(*stored[:4])) == []


def test_partitions_without_an_owner_are_reported_when_they_have_one_again() -> None:
    gone = (generation(1_000, "g", 1, (member("a-1", (0, 1)),)), generation(5_000, "g", 2))
    back = generation(9_000, "g", 3, (member("a-2", (0, 1)),))

    assert _of(UNOWNED, _records(*gone)) == []
    assert _of(UNOWNED, _records(*gone, back)) == [{"partitions": 2, "lasted_ms": 4_000, "spent_ms": 8_000, "at_ms": 5_000}]


def test_a_partition_that_was_not_committed_for_five_minutes_is_a_gap_when_it_is_committed_again() -> None:
    quick, slow = [commit(at * MINUTE_MS, "g", 0, at) for at in range(8)], [commit(0, "g", 1, 0), commit(7 * MINUTE_MS, "g", 1, 1)]
    (gap,) = _of(COMMIT_GAP, _records(*quick, *slow))

    assert gap == {"topic": "t", "partition": 1, "lasted_ms": 7 * MINUTE_MS, "at_ms": 0}


def test_what_no_release_writes_harms_nothing() -> None:
    records = [StoredRecord(0, 0, 1, b"\0\x63", b"\0\0"), *_records(generation(2, "g", 1, (member("a-1"),)))]

    assert [fact.kind for fact in RecordFold().take(records)] == [REBALANCE]


def _stored(seed: int) -> list[StoredRecord]:
    return [
        StoredRecord(0, number, obs.body["timestamp_ms"], *encode_record(obs.body["record"], obs.body["key"], obs.body["value"], obs.version or 0))
        for number, obs in enumerate(obs for obs in topic_of(_simulated(seed, 120_000)) if obs.body["name"] == "record")
    ]


@pytest.mark.parametrize("size", [1, 7, 100])
def test_batches_of_any_size_and_a_state_that_was_kept_come_to_the_same(size: int) -> None:
    records = _stored(3)
    whole = newest(RecordFold().take(records))

    fold, facts = RecordFold(), []
    for first in range(0, len(records), size):
        fold = pickle.loads(pickle.dumps(fold))
        facts += fold.take(records[first : first + size])
    assert {kind for _, kind, _ in whole} >= {REBALANCE, UNOWNED}
    assert newest(facts) == whole


def test_old_rebalances_are_forgotten_and_numbers_continue() -> None:
    fold = RecordFold()
    facts = fold.take(storm_records(number * 20 for number in range(200)))
    facts += fold.take([record._replace(offset=999, at_ms=10**9) for record in _records(generation(0, "g", 500, (member("a-1"),)))])

    assert sorted(fact.number for fact in facts if fact.kind == REBALANCE) == list(range(1, 202))
    assert len(fold.history.groups["g"].rebalances) <= 65


def test_a_commit_of_a_transaction_counts_when_that_is_committed_and_not_when_it_is_aborted() -> None:
    def batch(offset: int, at_ms: int, *, marker: str | None = None) -> LogBatch:
        records: list[LogRecord] = [] if marker else [(offset, *commit(at_ms, "g", 0, offset))]
        made = batch_of([(offset, at_ms, b"", b"")])
        return made._replace(producer_id=7, is_transactional=True, marker=marker, records=records)

    begun = [batch(0, 0), batch(1, 1_000, marker="COMMIT"), batch(2, 7 * MINUTE_MS)]
    fold = RecordFold()

    assert fold.take_log((0, log) for log in begun) == []
    assert fold.take_log([(0, batch(3, 8 * MINUTE_MS, marker="ABORT"))]) == []
    assert [fact.kind for fact in fold.take_log((0, log) for log in (batch(4, 9 * MINUTE_MS), batch(5, 10 * MINUTE_MS, marker="COMMIT")))] == [
        COMMIT_GAP
    ]
    assert fold.tally.markers == 3


def _tombstone(record: StoredRecord, offset: int, at_ms: int) -> StoredRecord:
    return StoredRecord(0, offset, at_ms, record.key, None)


def test_of_a_group_that_was_deleted_while_commits_are_left_the_last_number_is_kept() -> None:
    fold = RecordFold()
    stored = storm_records(range(1, 8))
    left = StoredRecord(0, 7, 8 * MINUTE_MS, *commit(0, "g", 0, 1)[1:])
    fold.take([*stored, left, _tombstone(stored[0], 8, 8 * MINUTE_MS)])
    assert not fold.is_over
    again = fold.take([record._replace(offset=9, at_ms=9 * MINUTE_MS) for record in stored[:1]])

    assert [rebalance.number for rebalance in fold.history.groups["g"].rebalances] == [7, 8]
    assert [fact.number for fact in again if fact.kind == REBALANCE] == [8]


def two_lives() -> list[StoredRecord]:
    """Return the records of a group that commits, is deleted with its commits, and comes again."""
    life = [*storm_records(range(1, 8)), StoredRecord(0, 7, 8 * MINUTE_MS, *commit(0, "g", 0, 1)[1:])]
    ended = [*life, _tombstone(life[0], 8, 9 * MINUTE_MS), _tombstone(life[7], 9, 9 * MINUTE_MS)]
    return ended + [record._replace(offset=record.offset + 20, at_ms=record.at_ms + 20 * MINUTE_MS) for record in ended]


def test_a_group_that_was_deleted_with_its_commits_is_over_and_another_one_if_it_comes_again() -> None:
    records, fold = two_lives(), RecordFold(begins={0: 0})
    facts = fold.take(records[:10])
    assert fold.is_over
    facts += fold.take(records[10:])

    assert fold.is_over
    assert [json.loads(fact.text)["number"] for fact in facts if fact.kind == REBALANCE] == [*range(1, 8), *range(1, 8)]
    assert len({fact.number for fact in facts if fact.kind == REBALANCE}) == 14
    forgetful = [fact for part in (records[:10], records[10:]) for fact in RecordFold(begins={0: 0}).take(part)]
    assert newest(facts) == newest(RecordFold().take(records)) == newest(forgetful)


def test_a_group_that_changes_its_protocol_in_one_batch_continues() -> None:
    stored = storm_records([1, 2])
    made = [_tombstone(stored[0], 2, 3 * MINUTE_MS), stored[0]._replace(offset=3, at_ms=3 * MINUTE_MS)]

    assert [json.loads(fact.text)["number"] for fact in RecordFold().take([*stored, *made]) if fact.kind == REBALANCE] == [1, 2, 3]


def test_names_that_another_keeps_are_not_stored_with_the_checker() -> None:
    fold = RecordFold({"id-1": "orders", "id-2": "payments"})
    fold.history.name_topics({"id-3": "found"})
    fold.forget_names({"id-1": "orders", "id-2": "other"})

    assert fold.history.topic_names == {"id-2": "payments", "id-3": "found"}


def test_a_checker_says_which_records_it_read() -> None:
    records = storm_records(range(1, 8))
    fold = RecordFold()
    fold.take(records[:4])

    assert [fold.has_taken(record) for record in records] == [True] * 4 + [False] * 3
    assert not fold.has_taken(records[0]._replace(partition=records[0].partition + 1))
