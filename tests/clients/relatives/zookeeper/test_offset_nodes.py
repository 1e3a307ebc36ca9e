"""Where offsets are kept, when they are written, and who goes on from them."""

from __future__ import annotations

import pytest
from tests.clients.relatives.zookeeper.bench import PATHS, Bench, Player

from groupproof.clients.relatives.zookeeper.consumer_machine import ConsumerMachine
from groupproof.clients.relatives.zookeeper.consumer_outputs import CommitToKafka, FetchFromKafka, FindOffsetManager, OffsetsStored
from groupproof.protocol.relatives.zookeeper_messages import Set

FIRST = ("t", 0)


def consume(player: Player, *offsets: int) -> None:
    player.feed(FIRST, *offsets)
    assert [player.take() for _ in offsets] == list(offsets)


def commit(bench: Bench, player: Player, retries: int = 0) -> None:
    bench.do(player, player.machine.commit(bench.now_ms, retries=retries))
    bench.run()


def writes(player: Player) -> list[bytes]:
    return [operation.data for operation in player.operations if isinstance(operation, Set)]


@pytest.mark.requirement("ZK-27", "ZK-57")
def test_an_offset_is_written_only_when_it_differs_from_what_was_written_last() -> None:
    bench = Bench({"t": 2})
    player = bench.consumer("a").start()
    consume(player, 0, 1, 2)
    commit(bench, player)
    commit(bench, player)

    assert bench.data(PATHS.offset(FIRST)) == b"3"
    assert [committed.offsets for committed in player.outputs_of(OffsetsStored)] == [{FIRST: 3}]
    assert bench.data(PATHS.offset(("t", 1))) is None  # nothing was consumed of it
    assert writes(player) == [b"3"]


@pytest.mark.requirement("ZK-57")
def test_a_fresh_assignment_takes_what_is_stored_as_what_was_written() -> None:
    bench = Bench({"t": 1})
    player = bench.consumer("a").start()
    consume(player, 0)
    commit(bench, player)
    bench.put(PATHS.offset(FIRST), b"9")  # by a tool, while the consumer is at 1
    bench.grow("t", 2)

    assert player.machine.fetch_offset(FIRST) == 9
    commit(bench, player)
    assert writes(player) == [b"1"]


@pytest.mark.requirement("ZK-07", "ZK-47")
def test_the_next_owner_continues_where_the_last_one_was() -> None:
    bench = Bench({"t": 1})
    old = bench.consumer("b").start()
    consume(old, 0, 1, 2, 3)
    new = bench.consumer("a").start()
    bench.pass_time(2_000)

    assert new.machine.owned == {FIRST}
    assert not old.machine.owned
    assert (new.machine.fetch_offset(FIRST), new.machine.consumed_offset(FIRST)) == (4, 4)


@pytest.mark.requirement("ZK-06")
def test_another_group_has_offsets_of_its_own() -> None:
    bench = Bench({"t": 1})
    player = bench.consumer("a").start()
    consume(player, 0)
    other = Player(bench, "b", player.machine.settings)
    other.machine = ConsumerMachine(type(player.machine.settings)(group="h", topics={"t": 1}), consumer_id="b")
    other.start()

    assert player.machine.owned == other.machine.owned == {FIRST}
    assert (player.machine.fetch_offset(FIRST), other.machine.fetch_offset(FIRST)) == (1, -1)


@pytest.mark.requirement("TIMER-35")
def test_offsets_are_committed_every_sixty_seconds() -> None:
    bench = Bench({"t": 1})
    player = bench.consumer("a").start()
    consume(player, 0)
    bench.pass_time(59_999)
    assert writes(player) == []
    bench.pass_time(1)
    assert bench.data(PATHS.offset(FIRST)) == b"1"
    consume(player, 1)
    bench.pass_time(60_000)

    assert bench.data(PATHS.offset(FIRST)) == b"2"
    assert "kafka-consumer-autocommit" in player.machine.threads


@pytest.mark.requirement("TIMER-35")
def test_without_auto_commit_nothing_is_written_that_was_not_asked_for() -> None:
    bench = Bench({"t": 1})
    player = bench.consumer("a", auto_commit_enable=False).start()
    consume(player, 0)
    bench.pass_time(200_000)
    bench.grow("t", 2)
    player.close()

    assert bench.data(PATHS.offset(FIRST)) is None
    assert "kafka-consumer-autocommit" not in player.machine.threads


@pytest.mark.requirement("ZK-27")
@pytest.mark.reading("DISC-48")
def test_offsets_go_to_kafka_where_that_is_set_and_to_zookeeper_too_meanwhile() -> None:
    bench = Bench({"t": 1})
    player = bench.consumer("a", offsets_storage="kafka").start()
    consume(player, 0, 1)
    commit(bench, player)

    assert bench.kafka == {FIRST: 2}
    assert bench.data(PATHS.offset(FIRST)) == b"2"
    assert [committed.store for committed in player.outputs_of(OffsetsStored)] == ["kafka", "zookeeper"]
    assert len(player.outputs_of(FindOffsetManager)) == 1


@pytest.mark.reading("DISC-48")
def test_without_dual_commits_zookeeper_holds_no_offset() -> None:
    bench = Bench({"t": 1})
    bench.kafka[FIRST] = 5
    player = bench.consumer("a", offsets_storage="kafka", dual_commit_enabled=False).start()
    consume(player, 5)
    commit(bench, player)

    assert bench.kafka == {FIRST: 6}
    assert bench.data(PATHS.offset(FIRST)) is None


def test_of_two_stores_the_higher_offset_counts() -> None:
    bench = Bench({"t": 2})
    bench.kafka |= {("t", 0): 5, ("t", 1): 7}
    bench.put(PATHS.offset(("t", 1)), b"9")
    player = bench.consumer("a", offsets_storage="kafka").start()

    assert [player.machine.fetch_offset(("t", number)) for number in (0, 1)] == [5, 9]
    assert len(player.outputs_of(FetchFromKafka)) == 1


@pytest.mark.requirement("ZK-13")
@pytest.mark.parametrize(("retries", "tries"), [(0, 1), (3, 4)])
def test_a_commit_to_kafka_is_tried_again_as_often_as_was_asked_for(retries: int, tries: int) -> None:
    bench = Bench({"t": 1})
    player = bench.consumer("a", offsets_storage="kafka").start()
    consume(player, 0)
    bench.kafka_errors = None  # no answer
    commit(bench, player, retries)
    bench.pass_time(10_000)

    assert len(player.outputs_of(CommitToKafka)) == tries
    assert len(player.outputs_of(FindOffsetManager)) == tries  # the broker is looked for anew


@pytest.mark.parametrize(("error", "tries"), [(12, 1), (16, 2), (7, 2)])
def test_errors_other_than_metadata_that_are_too_long_are_tried_again(error: int, tries: int) -> None:
    bench = Bench({"t": 1})
    player = bench.consumer("a", offsets_storage="kafka").start()
    consume(player, 0)
    bench.kafka_errors = {FIRST: error}
    commit(bench, player, 1)
    bench.pass_time(1_000)

    assert len(player.outputs_of(CommitToKafka)) == tries
    assert len(player.outputs_of(FindOffsetManager)) == (2 if error == 16 else 1)
    assert player.outputs_of(OffsetsStored) == []
