"""What makes a heartbeat more than a sign of life, though it says nothing and its member is settled."""

from __future__ import annotations

import pytest
from tests.coordinator.machine.twin_machines import TOPIC, History, Settled

from groupproof.coordinator.broker.topics import topic_id_of
from groupproof.coordinator.machine.coordinator import partition_of
from groupproof.coordinator.machine.topics_image import TopicImage


def test_another_heartbeat_interval_is_told_with_the_next_heartbeat() -> None:
    history = Settled()
    history.twins.both(lambda machine: machine.configure_group("g", {"consumer.heartbeat.interval.ms": "6000"}))
    history.beat_on()

    assert [history.answers[name].heartbeat_interval_ms for name in ("a", "b")] == [6_000, 6_000]


@pytest.mark.parametrize("profile", ["kafka-4.1", "kafka-4.4"])
def test_an_expression_is_looked_up_again_though_nobody_says_anything(profile: str) -> None:
    history = Settled(profile)
    history.beat_with({"a": {"subscribed_topic_regex": "t.*"}, "b": {"subscribed_topic_regex": "t.*"}})
    history.twins.both(lambda machine: machine.change_topics({name: TopicImage(topic_id_of(name), 4) for name in (TOPIC, "t2")}))
    before = dict(history.epochs)
    history.beat_on(rounds=4, after_ms=11_000)

    assert history.epochs["a"] > before["a"], "nobody has heard of the new topic"


def test_of_two_assignors_with_one_vote_each_either_may_be_the_groups_at_any_heartbeat() -> None:
    history = Settled()
    for votes in (("range", "uniform"), ("uniform", "range")):
        history.beat_with({name: {"server_assignor": vote} for name, vote in zip(("a", "b"), votes, strict=True)})
        before = dict(history.epochs)
        history.beat_on()

        assert all(history.epochs[name] > before[name] for name in ("a", "b")), (
            "the group's assignor is one at the one's heartbeat, another at the other's"
        )


def test_a_group_that_was_loaded_is_written_down_with_its_first_heartbeat() -> None:
    history = Settled()
    partition = partition_of("g", history.twins.keeping.settings.offsets_topic_num_partitions)
    for _ in range(2):
        for machine in (history.twins.keeping, history.twins.plain):
            stored = machine.stored(partition)
            machine.unload(partition, history.twins.now_ms)
            machine.load(partition, stored, history.twins.now_ms)
        history.beat_on(rounds=1)

        for machine in (history.twins.keeping, history.twins.plain):
            assert machine.stored(partition).groups[0].group is machine.group("g")


def test_heartbeats_repeat_while_the_next_target_waits_and_no_longer() -> None:
    history = History("kafka-4.4", 0)
    for name in ("a", "b"):
        history.beat(name, rebalance_timeout_ms=5_000, subscribed_topic_names=(TOPIC,), topic_partitions=())
    for _ in range(40):
        history.twins.now_ms += 50
        for name in ("a", "b"):
            history.beat(name, topic_partitions=history.owned.pop(name, None))
            history.twins.are_alike()

    repeated = [at_ms for _, at_ms, answer in history.twins.short if answer is not None]
    assert {at_ms // 1_000 for at_ms in repeated} == {0, 1, 2}, "while the target waits, and when it is reached"
    assert 1_000 not in repeated, "the target is computed at the end of the second"
    assert history.epochs == dict.fromkeys("ab", history.twins.keeping._engine.groups["g"].generation)
