from __future__ import annotations

from tests.traces import ID, Story

from groupproof.harness.judging.record_claims import refuted_records
from groupproof.protocol.vocabulary import Api


def reading(*steps: tuple[str, int]) -> list[str]:
    """Tell of Fetch requests from an offset on, of records up to one, and of rejoins."""
    story = Story().member()
    for step, offset in steps:
        if step == "fetch":
            story.request(Api.FETCH, offsets=(("t", 0, offset),))
        elif step == "join":
            story.join(member=ID, generation=2)
        elif step == "assigned":
            story.partitions("assigned", ("t", 0))
        else:
            fields = {"topic": "t", "partition": 0, "minOffset": 0, "maxOffset": offset, "count": 1}
            story.tell("records_consumed", count=1, partitions=[fields])
    return list(refuted_records(story.end().trace))


def test_a_member_that_fetches_the_record_after_the_last_has_got_the_last() -> None:
    assert reading(("fetch", 0), ("records", 19), ("fetch", 20), ("fetch", 20)) == []
    assert reading(("fetch", 0), ("fetch", 20), ("records", 19), ("fetch", 20)) == []


def test_records_that_the_client_never_asked_beyond_were_made_up() -> None:
    assert reading(("fetch", 0), ("records", 22), ("fetch", 20), ("fetch", 20)) == [
        "records of t-0 were told up to offset 22, yet m0 never asked for one beyond 20"
    ]


def test_a_client_that_asks_for_nothing_more_refutes_nothing() -> None:
    assert reading(("fetch", 0), ("records", 22)) == []
    assert reading(("records", 22)) == []


def test_one_fetch_may_have_been_made_before_the_records_reached_the_application() -> None:
    assert reading(("fetch", 0), ("records", 19), ("fetch", 0)) == []
    assert reading(("fetch", 0), ("records", 19), ("fetch", 0), ("fetch", 20)) == []


def test_a_fetch_before_the_report_of_the_assignment_counts_too() -> None:
    # kafka-node fetches at once, reports the assignment then, and sends one Fetch more from the old offset when another broker answers first.
    assert reading(("join", 0), ("fetch", 0), ("assigned", 0), ("records", 19), ("fetch", 0)) == []
    assert reading(("join", 0), ("fetch", 20), ("assigned", 0), ("records", 19), ("fetch", 0), ("fetch", 0)) == [
        "records of t-0 were told up to offset 19, yet m0 never asked for one beyond 0"
    ]


def test_a_member_that_joins_again_may_start_at_an_older_offset() -> None:
    assert reading(("fetch", 0), ("records", 19), ("join", 0), ("fetch", 10)) == []


def test_records_that_are_reported_after_the_rejoin_refute_nothing_that_the_next_assignment_begins_with() -> None:
    assert reading(("fetch", 0), ("join", 0), ("records", 19), ("assigned", 0), ("fetch", 0)) == []
    assert reading(("fetch", 0), ("join", 0), ("records", 19), ("fetch", 0), ("fetch", 0)) == [
        "records of t-0 were told up to offset 19, yet m0 never asked for one beyond 0"
    ]


def test_what_was_refuted_before_a_rejoin_stays_so() -> None:
    assert reading(("fetch", 0), ("records", 22), ("fetch", 20), ("join", 0), ("fetch", 30)) == [
        "records of t-0 were told up to offset 22, yet m0 never asked for one beyond 20"
    ]
