from __future__ import annotations

import pytest

from groupproof.clients.member.policy import REFERENCE
from groupproof.clients.member.streams_leader import AT_ONCE_MS, Deal, Dealer, StreamsClient, task_of
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.embedded.streams_protocol import INCOMPLETE_SOURCE_TOPICS, NO_REBALANCE_MS, SHUTDOWN_REQUESTED, SubscriptionInfo, Task

COUNTS = {"t": 4}
ALL = tuple(("t", number) for number in range(4))


def client(*owned: TopicPartition, version: int = 11, latest: int = 11, error: int = 0, process: str = "") -> StreamsClient:
    return StreamsClient(info=SubscriptionInfo(version=version, latest=latest, error=error, process=process), owned=frozenset(owned))


def deal(members: dict[str, StreamsClient], *, latest: int = 11, standbys: int = 0, topics: tuple[str, ...] = ("t",)) -> dict[str, Deal]:
    return Dealer(policy=REFERENCE, topics=topics, latest=latest, standbys=standbys).deal(members, COUNTS)


@pytest.mark.requirement("STREAMS-08")
def test_each_task_is_given_to_one_member_with_its_partition() -> None:
    dealt = deal({"a": client(), "b": client()})

    assert sorted(partition for partitions, _ in dealt.values() for partition in partitions) == list(ALL)
    assert all(info.active == tuple(task_of(partition, ("t",)) for partition in partitions) for partitions, info in dealt.values())
    assert {len(partitions) for partitions, _ in dealt.values()} == {2}


@pytest.mark.requirement("STREAMS-09")
def test_a_task_that_moves_is_withheld_and_its_next_owner_is_to_come_at_once() -> None:
    dealt = deal({"a": client(*ALL), "b": client()})

    assert [partitions for partitions, _ in dealt.values()] == [(("t", 0), ("t", 1)), ()]
    assert [info.next_rebalance_ms for _, info in dealt.values()] == [NO_REBALANCE_MS, AT_ONCE_MS]


def test_a_task_stays_where_it_is_as_far_as_the_balance_allows() -> None:
    dealt = deal({"a": client(("t", 2), ("t", 3)), "b": client(("t", 0))})

    assert [partitions for partitions, _ in dealt.values()] == [(("t", 2), ("t", 3)), (("t", 0), ("t", 1))]


@pytest.mark.requirement("STREAMS-05")
@pytest.mark.parametrize(
    ("own", "version", "latest", "agreed"),
    [(11, 11, 11, (11, 11)), (11, 8, 8, (8, 8)), (11, 8, 11, (8, 11)), (9, 12, 12, (9, 9))],
)
def test_the_lowest_version_that_was_used_is_written_and_the_lowest_that_is_known_named(
    own: int, version: int, latest: int, agreed: tuple[int, int]
) -> None:
    dealt = deal({"a": client(version=own, latest=own), "b": client(version=version, latest=latest)}, latest=own)

    assert {(info.version, info.commonly) for _, info in dealt.values()} == {agreed}


@pytest.mark.requirement("STREAMS-11")
def test_a_standby_is_at_another_member_than_the_task() -> None:
    dealt = deal({"a": client(process="1" * 32), "b": client(process="2" * 32)}, standbys=1)

    assert {task for _, info in dealt.values() for task, _ in info.standby} == {Task(0, number) for number in range(4)}
    assert [task for _, info in dealt.values() for task, _ in info.standby if task in info.active] == []


@pytest.mark.requirement("STREAMS-22")
def test_threads_of_one_process_keep_no_standby_of_what_runs_in_it() -> None:
    dealt = deal({"a": client(process="1" * 32), "b": client(process="1" * 32), "c": client(process="2" * 32)}, standbys=1)
    run = {task for name in "ab" for task in dealt[name][1].active}

    assert {task for name in "ab" for task, _ in dealt[name][1].standby} == set(dealt["c"][1].active)
    assert {task for task, _ in dealt["c"][1].standby} == run


@pytest.mark.requirement("STREAMS-12")
def test_a_missing_source_topic_is_an_error_for_all() -> None:
    dealt = deal({"a": client(), "b": client()}, topics=("t", "u"))

    assert {(partitions, info.error) for partitions, info in dealt.values()} == {((), INCOMPLETE_SOURCE_TOPICS)}


@pytest.mark.requirement("STREAMS-14")
def test_a_shutdown_that_a_member_asks_for_is_an_error_for_all() -> None:
    dealt = deal({"a": client(*ALL), "b": client(error=SHUTDOWN_REQUESTED)})

    assert {(partitions, info.error) for partitions, info in dealt.values()} == {((), SHUTDOWN_REQUESTED)}
