from __future__ import annotations

from groupproof.chaos.spark.streaming.streaming_reads import Batch, QueryReads, asked_by, drivers_of, given_by_coordinator, joins_of, who_read
from groupproof.protocol.trace import Observation


def observation(seq: int, kind: str, api: str, client: str, **columns: object) -> Observation:
    fields: dict[str, object] = {"seq": seq, "at_ns": seq * 1_000_000_000, "kind": kind, "api": api, "client": client, "group": "g", **columns}
    return Observation(**fields)  # type: ignore[arg-type]  # played, or of any type by nature


def synced(seq: int, client: str, generation: int, *partitions: int, error: int = 0) -> Observation:
    return observation(
        seq, "response", "SyncGroup", client, generation=generation, error=error, partitions=tuple(("t", partition) for partition in partitions)
    )


def read(offsets: dict[tuple[int, int], int], due: dict[int, int]) -> QueryReads:
    return QueryReads(query="a", batches=(Batch(partition=0, at_s=1.0, first=0, last=1, rows=2),), offsets=offsets, due=due)


def test_what_was_missed_and_what_was_read_again_is_counted_by_partition() -> None:
    query_read = who_read(read({(0, 0): 1, (0, 1): 3}, {0: 2, 1: 5}))

    assert [(partition.partition, partition.distinct, partition.missed, partition.twice) for partition in query_read.partitions] == [
        (0, 2, 0, 2),
        (1, 0, 5, 0),
    ]
    assert (query_read.due, query_read.distinct, query_read.missed, query_read.twice, query_read.is_whole) == (7, 2, 5, 2, False)


def test_a_query_that_read_every_record_once_read_the_whole() -> None:
    assert who_read(read({(0, 0): 1, (0, 1): 1}, {0: 2})).is_whole


def test_records_that_came_after_the_end_count_for_nothing() -> None:
    query_read = who_read(read({(0, 0): 1, (0, 1): 1, (0, 2): 1}, {0: 2}))

    assert (query_read.distinct, query_read.is_whole) == (2, True)


def test_drivers_are_named_by_the_order_in_which_they_join() -> None:
    trace = [
        observation(1, "request", "Fetch", "consumer-g-2"), observation(2, "request", "JoinGroup", "consumer-g-1"), observation(3, "request", "JoinGroup", "consumer-g-7"),
        observation(4, "request", "JoinGroup", "consumer-g-1"),
    ]  # fmt: skip

    assert drivers_of(trace, ("a", "b")) == {"consumer-g-1": "a", "consumer-g-7": "b"}
    assert joins_of(trace) == 3


def test_requests_are_counted_by_driver_and_those_of_the_kit_by_nobody() -> None:
    trace = [
        observation(1, "request", "JoinGroup", "x"), observation(2, "request", "Fetch", "y"), observation(3, "request", "Fetch", "z"), observation(4, "request", "Produce", "groupproof"),
        observation(5, "response", "Fetch", "y"),
    ]  # fmt: skip

    assert asked_by(trace, {"x": "a"}) == {"a": {"JoinGroup": 1}, "others": {"Fetch": 2}}


def test_a_generation_is_split_where_two_queries_were_given_different_partitions() -> None:
    trace = [synced(1, "x", 1, 0, 1), synced(2, "x", 2, 0), synced(3, "y", 2, 1), synced(4, "y", 3, 1, error=27), synced(5, "x", 3, 1, 0)]

    owners = given_by_coordinator(trace, {"x": "a", "y": "b"})

    assert [(assignment.generation, assignment.at_s, assignment.is_split) for assignment in owners] == [
        (1, 1.0, False),
        (2, 2.0, True),
        (3, 5.0, False),
    ]
    assert owners[1].partitions == {"a": (0,), "b": (1,)}
    assert owners[2].partitions == {"a": (0, 1)}


def test_a_generation_in_which_one_of_two_has_nothing_is_not_split() -> None:
    (owners,) = given_by_coordinator([synced(1, "x", 1, 0, 1), synced(2, "y", 1)], {"x": "a", "y": "b"})

    assert not owners.is_split
