"""One consumer process as a whole: how it starts, what new sessions do to it, how it leaves, and how groups of them share."""

from __future__ import annotations

import json

import pytest
from tests.clients.relatives.zookeeper.bench import PATHS, Bench, Player

from groupproof.clients.relatives.zookeeper.consumer_outputs import (
    Ask,
    AttemptBegan,
    Connect,
    ConsumerFailure,
    Disconnect,
    FindOffsetManager,
    OwnerNodesCreated,
    ShutdownResult,
    StopFetchers,
    StreamsReady,
)
from groupproof.clients.relatives.zookeeper.group_settings import WhiteList
from groupproof.clients.relatives.zookeeper.rebalancing import EXECUTOR
from groupproof.protocol.relatives.zookeeper_messages import Children, Code, Create, Delete, EventKind, Exists, GetEach, WatchEvent


def causes(player: Player) -> list[str]:
    return [began.cause for began in player.outputs_of(AttemptBegan)]


def settle(bench: Bench) -> None:
    bench.pass_time(9_000)


# Starting


@pytest.mark.requirement("ZK-12", "ZK-13")
def test_it_connects_finds_the_offset_manager_and_starts_the_auto_commits_before_it_registers() -> None:
    bench = Bench()
    player = bench.consumer("a", offsets_storage="kafka")
    bench.holds = lambda one, operation: True
    player.start()

    assert [type(output) for output in player.log] == [Connect, FindOffsetManager, Ask]
    assert player.log[0] == Connect(6_000)
    assert "kafka-consumer-autocommit" in player.machine.threads
    assert player.operations == [Create("/consumers")]


@pytest.mark.requirement("ZK-30", "ZK-31", "ZK-39")
def test_it_registers_then_watches_then_rebalances() -> None:
    bench = Bench()
    player = bench.consumer("a").start()

    assert player.operations[3].path == PATHS.id_of("a")  # type: ignore[union-attr]  # a Create
    assert player.operations[4:8] == [Exists(PATHS.ids, True), Children(PATHS.ids, True), Exists("/brokers/topics/t", True), Children("/brokers/ids")]
    assert causes(player) == ["start"]
    assert len(player.outputs_of(StreamsReady)) == 1


@pytest.mark.requirement("ZK-23")
def test_the_registration_is_ephemeral_and_says_what_it_subscribes_to() -> None:
    bench = Bench({"topic1": 1, "topic2": 1})
    player = bench.consumer("a", {"topic1": 2, "topic2": 3}).start()
    node = bench.zookeeper.tree().node(PATHS.id_of("a"))

    assert node is not None
    assert node.owner == player.session_id
    assert json.loads(node.data)["subscription"] == {"topic1": 2, "topic2": 3}


@pytest.mark.requirement("ZK-09", "ZK-14", "TIMER-38")
def test_creating_streams_consumes_nothing() -> None:
    bench = Bench({"topic1": 4, "topic2": 6})
    player = bench.consumer("a", {"topic1": 2, "topic2": 3}).start()

    assert {topic: len(streams) for topic, streams in player.machine.streams.items()} == {"topic1": 2, "topic2": 3}
    assert [player.take(topic, thread) for topic, threads in (("topic1", 2), ("topic2", 3)) for thread in range(threads)] == [None] * 5
    assert all(player.machine.consumed_offset(partition) == -1 for partition in bench.partitions)
    player.feed(("topic1", 3), 0)
    assert (player.take("topic1", 0), player.take("topic1", 1)) == (None, 0)


@pytest.mark.requirement("ZK-15", "ZK-02")
def test_topics_and_threads_are_all_that_an_application_says() -> None:
    bench = Bench({"topic1": 5, "topic2": 2})
    bench.consumer("a", {"topic1": 2, "topic2": 3}).start()

    assert bench.owners() == {
        ("topic1", 0): "a-0", ("topic1", 1): "a-0", ("topic1", 2): "a-0", ("topic1", 3): "a-1", ("topic1", 4): "a-1",
        ("topic2", 0): "a-0", ("topic2", 1): "a-1",
    }  # fmt: skip


def test_a_consumer_starts_once() -> None:
    player = Bench().consumer("a").start()

    with pytest.raises(AssertionError, match="at most once"):
        player.start()


# Consuming


@pytest.mark.requirement("TIMER-36")
def test_a_fetcher_may_hand_in_as_much_as_there_is_room_for() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a").start()
    player.feed(("t", 0), 0, 1)
    assert player.machine.room(("t", 1))
    player.feed(("t", 1), 0)

    assert not player.machine.room(("t", 0))  # one queue for both
    assert player.machine.fetch_offset(("t", 0)) == 2
    assert player.machine.settings.fetch_message_max_bytes == 1_048_576
    assert player.machine.settings.consumer_timeout_ms == -1
    assert player.take() == 0
    assert player.machine.room(("t", 1))


def test_what_belongs_to_nobody_is_dropped() -> None:
    player = Bench({"t": 1}).consumer("a").start()
    player.feed(("t", 7), 0)
    player.feed(("t", 0))

    assert player.take() is None
    assert (player.machine.room(("t", 7)), player.machine.fetch_offset(("t", 7)), player.machine.consumed_offset(("t", 7))) == (False, None, None)


def test_without_a_committed_offset_fetching_begins_where_the_fetcher_says() -> None:
    player = Bench({"t": 1}).consumer("a").start()
    assert player.machine.fetch_offset(("t", 0)) == -1
    player.machine.reset(("t", 0), 30)
    player.machine.reset(("t", 7), 30)

    assert (player.machine.fetch_offset(("t", 0)), player.machine.consumed_offset(("t", 0))) == (30, 30)


@pytest.mark.requirement("ZK-59")
def test_queues_survive_a_rebalance() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a").start()
    stream = player.machine.streams["t"][0]
    bench.grow("t", 3)
    player.feed(("t", 2), 0)

    assert player.machine.streams["t"][0] is stream
    assert player.take() == 0


# Sessions


@pytest.mark.requirement("ZK-24", "ZK-32")
def test_a_new_session_registers_again_and_rebalances_at_once() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a").start()
    old = player.session_id
    player.cut()
    bench.pass_time(9_000)
    assert bench.data(PATHS.id_of("a")) is None
    assert bench.owners() == {}
    assert player.machine.owned  # it knows nothing of that yet
    mark = len(player.log)
    player.heal()

    assert player.log[mark] == Connect(6_000)
    assert causes(player) == ["start", "session", "event", "event"]  # once more for each listener: they are all told after it
    event = next(at for at, output in enumerate(player.log) if getattr(output, "cause", "") == "event")
    assert not any(isinstance(output, Ask) and isinstance(output.operation, Delete) for output in player.log[:event])  # there was nothing to release
    node = bench.zookeeper.tree().node(PATHS.id_of("a"))
    assert node is not None
    assert (node.owner, set(bench.owners().values())) == (player.session_id, {"a-0"})
    assert player.session_id != old


@pytest.mark.requirement("ZK-24", "TIMER-34")
def test_a_dead_consumer_is_found_by_its_session_timeout_and_its_partitions_go_to_others() -> None:
    bench = Bench({"t": 2})
    first, dead = bench.consumer("a").start(), bench.consumer("b").start()
    settle(bench)
    assert first.log[0] == Connect(6_000)
    before_ms = bench.now_ms
    dead.cut()
    bench.pass_time(5_999)
    assert set(bench.owners().values()) == {"a-0", "b-0"}
    while bench.data(PATHS.id_of("b")) is not None:
        bench.pass_time(1)

    assert 6_000 <= bench.now_ms - before_ms <= 8_000  # the server looks every tick of 2 s
    assert set(bench.owners().values()) == {"a-0"}


def test_a_connection_that_comes_back_in_time_costs_nothing() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a").start()
    player.cut()
    bench.pass_time(3_000)
    player.heal()

    assert (causes(player), len(bench.owners())) == (["start"], 2)


def test_a_registration_that_fails_in_a_new_session_is_reported_and_waits_for_the_next() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a").start()
    player.cut()
    bench.pass_time(9_000)
    bench.create(PATHS.id_of("a"))  # by somebody else
    player.heal()

    failed = player.outputs_of(ConsumerFailure)[0]
    assert (failed.cause, failed.message) == ("session", f"Create {PATHS.id_of('a')}: {Code.NODE_EXISTS.value}")


# Groups


@pytest.mark.requirement("ZK-03", "ZK-70", "ZK-73", "ZK-34")
@pytest.mark.parametrize("size", [2, 5])
def test_a_consumer_that_comes_or_goes_starts_a_rebalance_in_every_consumer(size: int) -> None:
    bench = Bench({"t": 10})
    group = [bench.consumer(f"c{number}").start() for number in range(size)]
    settle(bench)
    before = [len(player.outputs_of(OwnerNodesCreated)) for player in group]
    new = bench.consumer("c9").start()
    settle(bench)
    joined = [len(player.outputs_of(OwnerNodesCreated)) for player in group]
    assert all(after > earlier for earlier, after in zip(before, joined, strict=True))
    assert len({thread for thread in bench.owners().values()}) == size + 1
    new.close()
    settle(bench)

    assert all(len(player.outputs_of(OwnerNodesCreated)) > earlier for earlier, player in zip(joined, group, strict=True))
    assert len(bench.owners()) == 10


@pytest.mark.requirement("ZK-03", "ZK-33")
def test_partitions_that_are_added_start_a_rebalance_in_every_consumer() -> None:
    bench = Bench({"t": 2})
    group = [bench.consumer(f"c{number}").start() for number in range(3)]
    settle(bench)
    assert not group[2].machine.owned
    bench.grow("t", 3)
    settle(bench)

    assert [player.machine.owned for player in group] == [{("t", 0)}, {("t", 1)}, {("t", 2)}]


@pytest.mark.requirement("ZK-05")
def test_a_partition_has_one_owner_who_alone_believes_to_be_it() -> None:
    bench = Bench({"t": 7, "u": 3})
    group = [bench.consumer(f"c{number}", {"t": 1, "u": 2}).start() for number in range(4)]
    settle(bench)

    believed = [partition for player in group for partition in player.machine.owned]
    assert sorted(believed) == sorted(bench.owners()) == sorted(bench.partitions)
    for player in group:
        assert {bench.owners()[partition].rpartition("-")[0] for partition in player.machine.owned} <= {player.name}


@pytest.mark.requirement("ZK-71")
def test_views_that_differ_lead_to_claims_that_overlap_and_the_owner_nodes_let_one_through() -> None:
    bench = Bench({"t": 4})
    stale = bench.consumer("a").start()
    bench.holds = lambda one, operation: one is stale and isinstance(operation, GetEach | Create)
    bench.grow("t", 4)  # a is about to read the group: it is alone
    (held,) = bench.held
    assert held[1].operation == GetEach("/brokers/ids", ("1",))
    bench.holds = lambda one, operation: one is stale and isinstance(operation, Create)
    bench.let_go()
    other = bench.consumer("b").start()  # but a's claim on all four is on its way

    assert {operation.path for operation in (ask.operation for _, ask in bench.held) if isinstance(operation, Create)} == {PATHS.owner(("t", 0))}
    assert set(bench.owners().values()) == {"b-0"}
    bench.holds = lambda one, operation: False
    bench.let_go()
    settle(bench)

    conflicts = [ended for player in (stale, other) for ended in player.log if getattr(ended, "is_conflict", False)]
    assert conflicts
    assert bench.owners() == {("t", 0): "a-0", ("t", 1): "a-0", ("t", 2): "b-0", ("t", 3): "b-0"}


def test_a_pattern_takes_topics_in_that_come_later_and_lets_go_of_those_that_went() -> None:
    bench = Bench({"logs1": 1})
    player = bench.consumer("a", WhiteList(pattern="logs.*")).start()
    assert player.outputs_of(StreamsReady)
    bench.grow("logs2", 2)
    bench.grow("other", 2)
    assert player.machine.owned == {("logs1", 0), ("logs2", 0), ("logs2", 1)}
    player.feed(("logs2", 1), 0)
    assert player.take("logs.*") == 0
    bench.grow("logs2", 3)
    assert len(player.machine.owned) == 4
    bench.delete("/brokers/topics/logs1")

    assert ("logs1", 0) not in player.machine.owned


def test_a_rebalance_and_its_failure_have_one_cause_where_a_pattern_matches_other_topics() -> None:
    bench = Bench({"logs1": 1})
    player = bench.consumer("a", WhiteList(pattern="logs.*"), rebalance_max_retries=1).start()
    bench.create(PATHS.owner(("logs2", 0)), b"z-0")
    bench.grow("logs2", 1)
    bench.pass_time(4_000)

    (failed,) = player.outputs_of(ConsumerFailure)
    assert (causes(player), failed.cause) == (["start", "topics"], "topics")


def test_a_pattern_is_looked_for_again_in_a_new_session() -> None:
    bench = Bench({"logs1": 1})
    player = bench.consumer("a", WhiteList(pattern="logs.*")).start()
    player.cut()
    bench.pass_time(9_000)
    bench.grow("logs2", 1)
    player.heal()

    assert player.machine.owned == {("logs1", 0), ("logs2", 0)}


# Leaving


@pytest.mark.requirement("ZK-13", "ZK-24")
def test_closing_stops_commits_and_ends_the_session_with_all_its_nodes() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a").start()
    player.feed(("t", 1), 0, 1)
    assert player.take() == 0
    mark = len(player.log)
    player.close()

    assert next(type(output) for output in player.log[mark:] if not isinstance(output, Ask)) is StopFetchers
    assert [type(output) for output in player.log[-2:]] == [Disconnect, ShutdownResult]
    assert bench.data(PATHS.offset(("t", 1))) == b"1"
    assert bench.owners() == {}
    assert bench.data(PATHS.id_of("a")) is None
    assert player.machine.is_closed
    assert player.take() is None
    player.close()
    assert isinstance(player.log[-1], ShutdownResult)


@pytest.mark.requirement("TIMER-32", "ZK-36")
def test_the_executor_sees_the_shutdown_within_a_second() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a").start()
    bench.pass_time(300)
    player.close()
    assert EXECUTOR in player.machine.threads
    bench.pass_time(699)
    assert EXECUTOR in player.machine.threads
    bench.pass_time(1)

    assert player.machine.threads == frozenset()


def test_a_rebalance_that_continues_ends_before_the_shutdown_does() -> None:
    bench = Bench({"t": 2})
    bench.create(PATHS.owner(("t", 0)), b"z-0")
    player = bench.consumer("a").start()
    player.close()
    assert not player.machine.is_closed
    bench.pass_time(2_000)

    assert player.machine.is_closed
    assert len(player.outputs_of(AttemptBegan)) == 1


def test_a_start_that_has_not_come_far_ends_with_the_shutdown() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a")
    bench.holds = lambda one, operation: isinstance(operation, Create)
    player.start()
    player.close()
    bench.holds = lambda one, operation: False
    bench.let_go()

    assert player.machine.is_closed
    assert player.operations == [Create("/consumers")]
    assert player.machine.threads <= {EXECUTOR}


def test_events_after_the_end_do_nothing() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a").start()
    player.close()
    bench.pass_time(1_000)

    assert player.machine.watched(WatchEvent(EventKind.CHILDREN_CHANGED, PATHS.ids), bench.now_ms) == []
    assert player.machine.next_deadline_ms is None
