"""What makes a heartbeat more than a sign of life, though it says nothing and its member is settled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.coordinator.machine.twin_machines import TOPIC, History, Settled

from groupproof.coordinator.broker.topics import topic_id_of
from groupproof.coordinator.machine.consumer.consumer_group import ConsumerGroup
from groupproof.coordinator.machine.consumer.consumer_members import ClassicSide, ConsumerMember
from groupproof.coordinator.machine.consumer.heartbeats_at_rest import session_ms_again
from groupproof.coordinator.machine.coordinator import Arrival, partition_of
from groupproof.coordinator.machine.topics_image import TopicImage
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest


def test_another_heartbeat_interval_is_reported_with_the_next_heartbeat() -> None:
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


BEAT = ConsumerGroupHeartbeatRequest(group_id="g", member_id="a", member_epoch=3, instance_id="i")
ARRIVAL = Arrival(None, 1, "c", "/h")
OTHERS: dict[str, Callable[[ConsumerGroup, ConsumerMember], object]] = {
    "the member has gone": lambda group, member: group.members.clear(),
    "its epoch is another": lambda group, member: setattr(member, "epoch", 4),
    "the group moves": lambda group, member: setattr(group, "state", ConsumerState.ASSIGNING),
    "a topic has changed": lambda group, member: setattr(group, "is_stale", True),
    "an expression is subscribed by": lambda group, member: group.regexes.update(["t.*"]),
    "two assignors are named": lambda group, member: group.votes.update(["range", "uniform"]),
    "it speaks the classic protocol": lambda group, member: group.speak(member, ClassicSide(session_timeout_ms=1, protocols=())),
    "its client is another": lambda group, member: setattr(member, "client_id", "d"),
    "its host is another": lambda group, member: setattr(member, "client_host", "/i"),
    "its instance is another": lambda group, member: setattr(member, "instance_id", "j"),
}


def _settled() -> tuple[ConsumerGroup, ConsumerMember]:
    group, member = ConsumerGroup(group_id="g", state=ConsumerState.STABLE), ConsumerMember(member_id="a", instance_id="i", epoch=3)
    member.client_id, member.client_host = ARRIVAL.client_id, ARRIVAL.client_host
    group.add(member)
    return group, member


def test_a_repeated_heartbeat_goes_the_short_way_with_or_without_its_instance() -> None:
    group, _ = _settled()

    assert session_ms_again(group, BEAT, ARRIVAL, 7) == session_ms_again(group, replace(BEAT, instance_id=None), ARRIVAL, 7) == 7


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
def test_a_repeated_heartbeat_is_processed_in_full_if_anything_differs(change: Callable[[ConsumerGroup, ConsumerMember], object]) -> None:
    group, member = _settled()
    change(group, member)

    assert session_ms_again(group, BEAT, ARRIVAL, 7) is None
