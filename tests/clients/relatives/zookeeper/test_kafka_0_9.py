"""What a consumer computes is what Kafka 0.9.0.1 computes from the same nodes: random groups, range and round robin, lists and patterns."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.clients.relatives.zookeeper.bench import PATHS, Bench
from tests.clients.relatives.zookeeper.kafka_0_9 import Assigned, Case, assigned_by_kafka
from tests.soaking import SEED

from groupproof.clients.relatives.zookeeper.consumer_outputs import AttemptEnded, BeforeStarting
from groupproof.clients.relatives.zookeeper.group_settings import WhiteList
from groupproof.clients.relatives.zookeeper.paths import topic_data, topic_path
from groupproof.clients.relatives.zookeeper.registration import Registration

CASES = 200
TOPICS = ("orders", "orders.eu", "logs", "logs_2", "clicks", "a-b", "__consumer_offsets")
PATTERNS = ("orders.*", "logs.*", "orders,logs", ".*", "clicks|a-b")
THREADS_MAX = 12


def subscribed(chance: random.Random, topics: list[str], common: int) -> dict[str, int] | WhiteList:
    """Return one consumer's wish: a list of topics with threads, or a pattern; `common` threads for all topics make round robin possible."""
    if common:
        return dict.fromkeys(topics, common)
    if chance.random() < 0.3:
        return WhiteList(pattern=chance.choice(PATTERNS), threads=chance.randint(1, 4), is_black=chance.random() < 0.2)
    return {topic: chance.randint(1, THREADS_MAX) for topic in chance.sample(topics, chance.randint(1, len(topics)))}


def drawn(chance: random.Random) -> tuple[Case, dict[str, dict[str, int] | WhiteList]]:
    topics = chance.sample(TOPICS, chance.randint(1, 5))
    content = {topic: topic_data({number: [1] for number in range(chance.choice((1, 2, 3, 5, 8, 13, 40)))}) for topic in topics}
    assignor = chance.choice(("range", "roundrobin"))
    common = chance.choice((0, 1, 2)) if assignor == "roundrobin" else 0
    names = [f"g_host{chance.randint(1, 12)}-{chance.randint(10**12, 2 * 10**12)}-{chance.getrandbits(32):08x}" for _ in range(chance.randint(1, 6))]
    wishes = {name: subscribed(chance, topics, common and chance.randint(1, 3)) for name in names}
    consumers = {name: Registration.of(wish).to_data(0) for name, wish in wishes.items()}
    return Case(topics=content, consumers=consumers, assignor=assignor), wishes


def computed(case: Case, name: str, wish: dict[str, int] | WhiteList) -> Assigned:
    """Let one consumer start among the others' registrations, and return what it computed, or the error of its first attempt."""
    bench = Bench({})
    for topic, data in case.topics.items():
        bench.create(topic_path(topic), data)
    for other, data in case.consumers.items():
        if other != name:
            bench.create(PATHS.id_of(other), data)
    player = bench.consumer(name, wish, assignor=case.assignor).start()
    for started in player.outputs_of(BeforeStarting):
        return {consumer: dict(partitions) for consumer, partitions in started.assignment.items()}
    return str(player.outputs_of(AttemptEnded)[0].error)


def test_a_case_of_the_source_is_computed_by_each_consumer_alike() -> None:
    wish = {"t": 2}
    data = Registration.of(wish).to_data(0)
    case = Case(topics={"t": topic_data({number: [1] for number in range(5)})}, consumers={"C1": data, "C2": data}, assignor="range")

    expected = {"C1": {("t", 0): "C1-0", ("t", 1): "C1-0", ("t", 2): "C1-1"}, "C2": {("t", 3): "C2-0", ("t", 4): "C2-1"}}
    assert computed(case, "C1", wish) == computed(case, "C2", wish) == expected


@pytest.mark.soak
@pytest.mark.java
@pytest.mark.network
@pytest.mark.requirement("ZK-46", "ZK-60", "ZK-63")
def test_random_groups_come_out_as_kafka_has_them(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    cases = [drawn(chance) for _ in range(CASES)]
    answers = assigned_by_kafka([case for case, _ in cases], tmp_path)

    assert len(answers) == CASES
    failed = 0
    for (case, wishes), answer in zip(cases, answers, strict=True):
        for name, wish in wishes.items():
            ours, theirs = computed(case, name, wish), answer[name]
            if isinstance(theirs, str):
                failed += 1
                assert isinstance(ours, str), f"Kafka refuses {case}: {theirs}"
                assert ours.startswith("Round-robin assignment is allowed only") == ("Round-robin assignment is allowed only" in theirs), (
                    ours,
                    theirs,
                )
            else:
                assert ours == theirs, f"{name} in {case}"
    assert failed < CASES
