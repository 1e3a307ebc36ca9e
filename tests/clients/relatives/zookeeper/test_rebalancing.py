"""How one consumer rebalances, step by step, and what becomes of it when something is in the way."""

from __future__ import annotations

import pytest
from tests.clients.relatives.zookeeper.bench import BROKER, PATHS, Bench, Player

from groupproof.clients.relatives.zookeeper.consumer_outputs import (
    Ask,
    AttemptBegan,
    AttemptEnded,
    BeforeReleasing,
    BeforeStarting,
    ConsumerFailure,
    Fetch,
    FindLeaders,
    OwnerNodesCreated,
    OwnerNodesDeleted,
    StopFetchers,
    StreamsReady,
)
from groupproof.clients.relatives.zookeeper.group_settings import WhiteList
from groupproof.clients.relatives.zookeeper.paths import broker_data, broker_path
from groupproof.protocol.relatives.zookeeper_messages import Children, Create, Delete, Get, GetEach, Operation, Set

OWNER_0, OWNER_1 = PATHS.owner(("t", 0)), PATHS.owner(("t", 1))


def attempts(player: Player) -> list[int]:
    return [began.attempt for began in player.outputs_of(AttemptBegan)]


def log_since(player: Player, mark: int) -> list[object]:
    """Return what the player did: operations bare, everything else as it is."""
    return [output.operation if isinstance(output, Ask) else output for output in player.log[mark:]]


@pytest.mark.requirement("ZK-40", "ZK-41", "ZK-42", "ZK-45", "ZK-47", "ZK-50")
@pytest.mark.reading("DISC-45")
def test_the_steps_of_a_rebalance_come_in_their_order() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a").start()
    player.feed(("t", 0), 0, 1)
    player.take()
    mark = len(player.log)
    bench.grow("t", 2)
    done = log_since(player, mark)

    order = [
        next(at for at, one in enumerate(done) if isinstance(one, StopFetchers)),
        done.index(Set(PATHS.offset(("t", 0)), b"1")),  # stopped, cleared, and still the owner: now it commits
        next(at for at, one in enumerate(done) if isinstance(one, BeforeReleasing)),
        done.index(Delete(OWNER_0)),
        done.index(Delete(OWNER_1)),
        next(at for at, one in enumerate(done) if isinstance(one, OwnerNodesDeleted)),
        done.index(Get("/brokers/topics/t", True), done.index(Delete(OWNER_1))),
        next(at for at, one in enumerate(done) if isinstance(one, GetEach) and one.parent == PATHS.ids),
        done.index(Get(PATHS.offset(("t", 0)))),
        done.index(Create(OWNER_0, b"a-0", is_ephemeral=True)),
        done.index(Create(OWNER_1, b"a-0", is_ephemeral=True)),
        next(at for at, one in enumerate(done) if isinstance(one, OwnerNodesCreated)),
        next(at for at, one in enumerate(done) if isinstance(one, BeforeStarting)),
        next(at for at, one in enumerate(done) if isinstance(one, FindLeaders)),
        next(at for at, one in enumerate(done) if isinstance(one, Fetch)),
    ]
    assert order == sorted(order)
    assert player.take() is None  # what was queued behind the first record is gone, and is fetched anew
    assert player.machine.fetch_offset(("t", 0)) == 1


@pytest.mark.requirement("ZK-44")
def test_releasing_deletes_every_owner_node_and_empties_the_registry() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a").start()
    bench.holds = lambda one, operation: isinstance(operation, GetEach) and operation.parent == PATHS.ids
    bench.grow("t", 3)

    assert bench.owners() == {}
    assert player.machine.owned == frozenset()
    assert [entry.partitions for entry in player.outputs_of(OwnerNodesDeleted)] == [{("t", 0), ("t", 1)}]


@pytest.mark.requirement("ZK-42")
def test_the_callbacks_get_what_is_released_and_who_gets_what() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a").start()
    bench.consumer("b").start()
    bench.pass_time(4_000)

    assert [entry.partitions for entry in player.outputs_of(BeforeReleasing)][:2] == [set(), {("t", 0), ("t", 1)}]
    last = player.outputs_of(BeforeStarting)[-1]
    assert (last.consumer_id, last.assignment) == ("a", {"a": {("t", 0): "a-0"}, "b": {("t", 1): "b-0"}})


@pytest.mark.requirement("ZK-48", "ZK-49", "ZK-50", "ZK-71")
@pytest.mark.reading("DISC-43")
def test_an_owner_node_in_the_way_rolls_the_whole_attempt_back() -> None:
    bench = Bench({"t": 3})
    bench.create(OWNER_1, b"z-0")
    player = bench.consumer("a").start()

    assert bench.owners() == {("t", 1): "z-0"}  # 0 and 2 were created, and deleted again
    assert [operation for operation in player.operations if isinstance(operation, Delete)] == [Delete(PATHS.owner(("t", 2))), Delete(OWNER_0)]
    (ended,) = player.outputs_of(AttemptEnded)
    assert ended.is_conflict
    assert (player.machine.owned, player.outputs_of(OwnerNodesCreated, Fetch, BeforeStarting)) == (frozenset(), [])
    bench.delete(OWNER_1)
    bench.pass_time(2_000)
    assert set(bench.owners().values()) == {"a-0"}


@pytest.mark.requirement("ZK-51", "TIMER-33", "ZK-72")
@pytest.mark.reading("DISC-44")
def test_four_attempts_two_seconds_apart_and_then_it_is_given_up() -> None:
    bench = Bench({"t": 2})
    bench.create(OWNER_1, b"z-0")
    player = bench.consumer("a").start()
    at_ms = [0]
    while player.machine.is_rebalancing:
        bench.pass_time(1)
        if attempts(player)[-1] == len(at_ms):
            at_ms.append(bench.now_ms)

    (failed,) = player.outputs_of(ConsumerFailure)
    assert (at_ms, bench.now_ms) == ([0, 2_000, 4_000, 6_000], 8_000)
    assert (failed.error, failed.message) == ("ConsumerRebalanceFailedException", "a can't rebalance after 4 retries")
    assert player.outputs_of(StreamsReady) == []
    assert len(player.outputs_of(StopFetchers)) == 8  # in each attempt, and after it


@pytest.mark.requirement("ZK-72")
def test_after_the_last_attempt_partitions_stay_without_an_owner_until_something_else_happens() -> None:
    bench = Bench({"t": 2})
    first, second = bench.consumer("a").start(), bench.consumer("b").start()
    bench.pass_time(4_000)
    bench.holds = lambda one, operation: one is second  # it hangs for a while, as processes do
    bench.grow("t", 3)
    bench.pass_time(8_000)

    (failed,) = first.outputs_of(ConsumerFailure)
    assert (failed.cause, bench.owners()) == ("event", {("t", 1): "b-0"})
    bench.holds = lambda one, operation: False
    bench.let_go()
    bench.pass_time(600_000)
    assert bench.owners() == {("t", 2): "b-0"}  # all went well for b; that nobody has 0 and 1, nobody knows
    assert first.machine.is_idle
    bench.grow("t", 3)
    bench.pass_time(4_000)
    assert len(bench.owners()) == 3


@pytest.mark.requirement("ZK-35", "ZK-37")
def test_events_that_are_queued_together_cost_one_rebalance_at_once() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a").start()
    bench.holds = lambda one, operation: isinstance(operation, GetEach)
    bench.grow("t", 3)  # the first is being handled
    for partitions in (4, 5, 6, 7, 8):
        bench.grow("t", partitions)
    bench.holds = lambda one, operation: False
    bench.let_go()

    assert attempts(player) == [0, 0, 0]  # the start, the first, and the other five as one
    assert (bench.now_ms, len(bench.owners())) == (0, 8)


@pytest.mark.requirement("ZK-36", "TIMER-32")
def test_the_executor_wakes_every_second_and_does_nothing_without_an_event() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a", auto_commit_enable=False).start()
    mark = len(player.log)
    bench.pass_time(500)

    assert player.machine.next_deadline_ms == 1_000
    assert player.machine.next_work_ms is None
    bench.pass_time(9_700)
    assert player.machine.next_deadline_ms == 11_000
    assert len(player.log) == mark


@pytest.mark.requirement("ZK-33", "ZK-34")
def test_listeners_only_queue_an_event_and_the_executor_rebalances() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a").start()
    bench.holds = lambda one, operation: isinstance(operation, Get | GetEach)
    bench.grow("t", 3)

    assert player.operations[-1] == Get("/brokers/topics/t", True)  # the listener's own look
    assert not player.machine.is_rebalancing
    bench.holds = lambda one, operation: isinstance(operation, GetEach)
    bench.let_go()
    assert [began.cause for began in player.outputs_of(AttemptBegan)] == ["start", "event"]
    assert not player.machine._process.client._events  # the listener's thread is free, while the executor's waits


@pytest.mark.requirement("ZK-38")
@pytest.mark.reading("DISC-42")
def test_without_a_broker_it_waits_for_one_and_calls_that_a_success() -> None:
    bench = Bench({"t": 2}, has_broker=False)
    player = bench.consumer("a").start()

    assert player.outputs_of(StreamsReady)
    assert player.outputs_of(AttemptEnded) == [AttemptEnded(attempt=0)]
    assert Children("/brokers/ids", True) in player.operations
    bench.put(broker_path(1), broker_data(BROKER, 0))
    assert len(bench.owners()) == 2


@pytest.mark.reading("DISC-42")
def test_brokers_that_come_later_set_nothing_off() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a").start()
    bench.put(broker_path(2), broker_data(BROKER, 0))

    assert attempts(player) == [0]
    assert not any(getattr(operation, "is_watched", False) and getattr(operation, "path", "") == "/brokers/ids" for operation in player.operations)


@pytest.mark.requirement("ZK-54")
def test_threads_of_the_whole_group_count_but_only_for_topics_of_ones_own() -> None:
    bench = Bench({"t": 4, "u": 4})
    bench.consumer("a", {"t": 1}).start()
    other = bench.consumer("b", {"t": 1, "u": 2}).start()
    bench.pass_time(4_000)

    assert bench.owners() == {
        ("t", 0): "a-0", ("t", 1): "a-0", ("t", 2): "b-0", ("t", 3): "b-0",
        ("u", 0): "b-0", ("u", 1): "b-0", ("u", 2): "b-1", ("u", 3): "b-1",
    }  # fmt: skip
    assert not any("/topics/u" in str(operation) for operation in bench.players[2].operations)
    assert other.machine.owned >= {("u", 0)}


@pytest.mark.requirement("ZK-55", "ZK-01")
def test_a_consumer_without_partitions_succeeds_with_nothing() -> None:
    bench = Bench({"t": 1})
    bench.consumer("a").start()
    player = bench.consumer("b").start()
    bench.pass_time(2_000)

    assert player.outputs_of(OwnerNodesCreated)[-1].partitions == frozenset()
    assert player.outputs_of(StreamsReady)
    assert bench.owners() == {("t", 0): "a-0"}


def reads_of_others(player: Player) -> list[Operation]:
    return [operation for operation in player.operations if isinstance(operation, GetEach) and operation.parent == PATHS.ids]


def test_a_registration_that_goes_while_it_is_read_fails_the_attempt_and_the_next_one_knows() -> None:
    bench = Bench({"t": 2})
    other = bench.consumer("b").start()
    bench.holds = lambda one, operation: one.name == "a" and isinstance(operation, GetEach) and operation.parent == PATHS.ids
    player = bench.consumer("a").start()
    assert reads_of_others(player) == [GetEach(PATHS.ids, ("a", "b"))]
    other.close()
    bench.holds = lambda one, operation: False
    bench.let_go()

    (ended,) = player.outputs_of(AttemptEnded)
    assert (ended.error, ended.is_conflict) == ("GetEach /consumers/g/ids: no node", False)
    bench.pass_time(2_000)
    assert set(bench.owners().values()) == {"a-0"}


@pytest.mark.parametrize("data", [b"nonsense", b'{"version":1,"subscription":{"t":1},"timestamp":"0"}'])
def test_a_registration_that_cannot_be_read_fails_every_attempt(data: bytes) -> None:
    bench = Bench({"t": 2})
    bench.create(PATHS.id_of("z"), data)
    player = bench.consumer("a").start()
    bench.pass_time(8_000)

    assert {ended.error for ended in player.outputs_of(AttemptEnded)} == {f"error constructing TopicCount: {PATHS.ids} holds {data!r}"}
    assert player.outputs_of(ConsumerFailure)


def test_uneven_threads_fail_round_robin_and_say_so() -> None:
    bench = Bench({"t": 2, "u": 2})
    player = bench.consumer("a", {"t": 1, "u": 2}, assignor="roundrobin").start()

    (ended,) = player.outputs_of(AttemptEnded)
    assert ended.error.startswith("Round-robin assignment is allowed only if all consumers")


@pytest.mark.requirement("ZK-63")
def test_the_setting_chooses_the_assignor() -> None:
    bench = Bench({"t": 2, "u": 2})
    for name in ("a", "b"):
        bench.consumer(name, {"t": 1, "u": 1}, assignor="roundrobin").start()
    bench.pass_time(4_000)

    assert bench.owners() == {("t", 0): "a-0", ("u", 0): "a-0", ("t", 1): "b-0", ("u", 1): "b-0"}


def test_a_pattern_reads_the_topics_for_each_consumer_that_has_one() -> None:
    bench = Bench({"t1": 1, "t2": 1, "u": 1})
    bench.consumer("a", WhiteList(pattern="t.")).start()
    player = bench.consumer("b", {"t1": 1}).start()
    bench.pass_time(4_000)

    assert Children("/brokers/topics") in player.operations
    assert bench.owners() == {("t1", 0): "a-0", ("t2", 0): "a-0"}


def test_a_topic_that_is_not_there_has_no_partitions() -> None:
    bench = Bench({"t": 1})
    player = bench.consumer("a", {"t": 1, "gone": 1}).start()

    assert player.machine.owned == {("t", 0)}
