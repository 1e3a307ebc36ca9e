"""ZkClient: operations that wait out a lost connection, listeners, and the one event thread."""

from __future__ import annotations

import pytest
from tests.clients.relatives.zookeeper.bench import PATHS, Bench

from groupproof.clients.relatives.zookeeper.consumer_outputs import Ask, ConsumerFailure, StreamsReady
from groupproof.clients.relatives.zookeeper.consumer_threads import Threads
from groupproof.clients.relatives.zookeeper.zkclient import NodeTrouble, ZkClient
from groupproof.protocol.relatives.zookeeper_messages import (
    OK,
    Answer,
    Children,
    Code,
    Create,
    Delete,
    EventKind,
    Exists,
    Get,
    GetEach,
    Set,
    WatchEvent,
)

ME = PATHS.id_of("a")


def test_an_operation_whose_connection_is_lost_is_asked_again_when_it_is_back() -> None:
    bench = Bench()
    player = bench.consumer("a").start()
    bench.holds = lambda one, operation: isinstance(operation, Delete)
    bench.grow("t", 6)  # a rebalance, in the midst of its release
    player.cut()
    bench.holds = lambda one, operation: False
    bench.let_go()
    assert len(bench.owners()) == 5
    player.heal()

    assert len(bench.owners()) == 6
    assert player.operations.count(Delete(PATHS.owner(("t", 0)))) == 2


def test_a_node_that_this_session_created_before_the_connection_was_lost_is_its_own() -> None:
    bench = Bench()
    player = bench.consumer("a")
    owner = PATHS.owner(("t", 2))
    bench.holds = lambda one, operation: isinstance(operation, Create) and operation.path == owner
    player.start()
    (held,) = bench.held
    bench.zookeeper.ask(player.session_id, None, held[1].operation, 0)  # it arrives, its answer does not
    bench.holds, bench.held = (lambda one, operation: False), []
    player.cut()
    bench.do(player, player.machine.answered(held[1].ask_id, Answer(Code.CONNECTION_LOSS), bench.now_ms))
    player.heal()

    assert bench.owners()["t", 2] == "a-0"
    assert player.outputs_of(StreamsReady)


@pytest.mark.requirement("ZK-25")
def test_a_registration_that_another_session_has_is_refused() -> None:
    bench = Bench()
    bench.consumer("a").start()
    twin = bench.consumer("a").start()

    (failed,) = twin.outputs_of(ConsumerFailure)
    assert (failed.error, failed.message, failed.cause) == ("ZkException", f"Create {ME}: node exists", "start")


def test_a_registration_whose_answer_was_lost_counts_as_done() -> None:
    bench = Bench()
    player = bench.consumer("a")
    bench.holds = lambda one, operation: isinstance(operation, Create) and operation.path == ME
    player.start()
    (held,) = bench.held
    bench.zookeeper.ask(player.session_id, None, held[1].operation, 0)
    bench.holds = lambda one, operation: False
    bench.let_go()

    assert Get(ME) in player.operations
    assert player.outputs_of(StreamsReady)


def test_parents_are_created_where_they_are_missing() -> None:
    bench = Bench()
    player = bench.consumer("a").start()

    first = player.operations.index(Create(PATHS.owner(("t", 0)), b"a-0", is_ephemeral=True))
    assert player.operations[first - 1 : first + 5] == [
        Exists("/"),  # is there a namespace? Once
        Create(PATHS.owner(("t", 0)), b"a-0", is_ephemeral=True),
        Create("/consumers/g/owners/t"),
        Create("/consumers/g/owners"),
        Create("/consumers/g/owners/t"),
        Create(PATHS.owner(("t", 0)), b"a-0", is_ephemeral=True),
    ]


def test_an_offsets_node_that_comes_between_is_written_all_the_same() -> None:
    bench = Bench()
    player = bench.consumer("a").start()
    player.feed(("t", 0), 0)
    player.take()
    bench.holds = lambda one, operation: isinstance(operation, Create)
    bench.do(player, player.machine.commit(bench.now_ms))
    bench.run()
    bench.put(PATHS.offset(("t", 0)), b"7")  # another was faster, parents and all
    while bench.held:
        bench.let_go()

    assert bench.data(PATHS.offset(("t", 0))) == b"1"
    assert player.operations.count(Set(PATHS.offset(("t", 0)), b"1")) == 2


@pytest.mark.requirement("ZK-30")
def test_a_listeners_watch_is_set_by_every_read_of_its_node() -> None:
    bench = Bench()
    player = bench.consumer("a").start()

    watched = {operation for operation in player.operations if getattr(operation, "is_watched", False)}
    assert watched == {Exists(PATHS.ids, True), Children(PATHS.ids, True), Exists("/brokers/topics/t", True), Get("/brokers/topics/t", True)}


def client_of(threads: Threads) -> ZkClient:
    client = ZkClient(threads)
    client.connected(1)
    return client


def test_events_are_handled_one_after_the_other() -> None:
    threads = Threads()
    client = client_of(threads)
    lines: list[str] = []
    threads.start("events", client.run_events())
    threads.run(0)
    threads.start("subscribe", client.subscribe_data("/p", lambda: lines.append("p")))
    (exists,) = threads.run(0)
    assert exists == Ask(1, Exists("/p", True))
    threads.answer(1, OK)
    threads.run(0)
    for _ in range(2):
        client.watched(WatchEvent(EventKind.DATA_CHANGED, "/p"))
    client.watched(WatchEvent(EventKind.DATA_CHANGED, "/not mine"))

    assert threads.run(0) == [Ask(2, Exists("/p", True))]
    assert not client.is_idle
    for ask_id in (2, 3, 4, 5):
        threads.answer(ask_id, OK)
        threads.run(0)
    assert (lines, client.is_idle) == (["p", "p"], True)


def test_a_topic_that_is_deleted_sets_nothing_off() -> None:
    bench = Bench()
    player = bench.consumer("a").start()
    asked = len(player.operations)
    bench.delete("/brokers/topics/t")

    assert player.operations[asked:] == [Exists("/brokers/topics/t", True), Get("/brokers/topics/t", True)]
    assert player.machine.is_idle


def test_trouble_says_what_was_done_where_and_how_it_ended() -> None:
    assert str(NodeTrouble(GetEach("/p", ("a",)), Code.NO_NODE)) == "GetEach /p: no node"
    assert NodeTrouble(Set("/p", b""), Code.BAD_VERSION).code is Code.BAD_VERSION
