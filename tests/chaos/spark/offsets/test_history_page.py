"""The page of a history: what is told stands on it, and nothing that a client said gets through as it is."""

from __future__ import annotations

from tests.chaos.spark.offsets.test_record_fold import storm_records
from tests.harness.judging.topic_history.stories import member
from tests.harness.subjects.offsets_topic.topic_logs import commit, generation

from groupproof.chaos.spark.offsets.history_page import page_of, summary_of
from groupproof.chaos.spark.offsets.record_fold import RecordFold, StoredRecord

MINUTE_MS = 60_000


def test_storms_causes_and_groups_stand_on_the_page() -> None:
    fold = RecordFold()
    summary = summary_of([*fold.take(storm_records(range(1, 8))), fold.count(0)], source="the topic")
    value, page = summary.to_json(), page_of(summary)

    assert (value["records"], value["unreadable"]) == (7, {})
    assert (value["groups"], value["rebalances"], value["causes"], value["certain"]) == (1, 7, {"leader-rejoined": 6, "first-member": 1}, 1)
    assert [storm["rebalances"] for storm in value["storms"]] == [7]
    assert "Storms" in page
    assert "the leader a member joined again" in page
    assert "1970-01-01 00:07:00" in page
    assert "Commits that stood still" not in page


def test_gaps_members_that_flap_and_time_without_an_owner_stand_there_where_there_are_any() -> None:
    stored = [commit(0, "g", 0, 0)]
    for number in range(3):
        stored.append(generation(number * 4 * MINUTE_MS, "g", 2 * number + 1, (member("a<b>-1", (0,)), member(f"b-{number}", (1,), client="b"))))
        stored.append(generation(number * 4 * MINUTE_MS + 20_000, "g", 2 * number + 2, (member("a<b>-1", (0,)),)))
    stored.append(commit(9 * MINUTE_MS, "g", 0, 1))
    summary = summary_of(RecordFold().take(StoredRecord(0, offset, *record) for offset, record in enumerate(stored)), source="the topic")
    page = page_of(summary)

    assert (len(summary.to_json()["flapping"]), len(summary.to_json()["commit_gaps"]), summary.to_json()["without_owner_ms"] > 0) == (1, 1, True)
    assert "never for a minute" in page
    assert "t-0" in page
    assert "Time without owner" in page
    assert "a<b>" not in page


def test_an_empty_topic_is_a_page_too() -> None:
    summary = summary_of([], source="the topic")

    assert summary.to_json()["groups"] == 0
    assert "What the groups of a cluster went through" in page_of(summary)


def test_what_could_not_be_read_is_counted_and_named() -> None:
    facts = []
    for partition in range(2):
        fold = RecordFold()
        fold.take([StoredRecord(partition, 0, 1, b"\0\x63", b"\0\0"), StoredRecord(partition, 1, *commit(2, "g", 0, 0))])
        facts.append(fold.count(partition))
    summary = summary_of(facts, source="the topic")

    assert (summary.records, summary.to_json()["unreadable"]) == (4, {"type 99": 2})
    assert "2 unreadable: type 99" in page_of(summary)
