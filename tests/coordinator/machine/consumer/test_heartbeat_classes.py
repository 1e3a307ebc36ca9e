from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any, cast

import pytest

from groupproof.coordinator.broker.topics import topic_id_of
from groupproof.coordinator.machine.bound_tables import bound_tables
from groupproof.coordinator.machine.consumer.consumer_event import ConsumerGroupEvent
from groupproof.coordinator.machine.consumer.heartbeat_classes import HEARTBEAT_CLASSES, class_of
from groupproof.coordinator.machine.coordinator import Coordinator
from groupproof.coordinator.machine.machine_outputs import Arrival
from groupproof.coordinator.machine.topics_image import TopicImage
from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.protocol.rules import profile
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent, ConsumerGuard, ConsumerState
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest, TopicPartitions

_T = topic_id_of("t")


def _requests() -> Iterator[ConsumerGroupHeartbeatRequest]:
    """Draw one in four of all combinations of what a field may say, with what guards look for among it."""
    chance = random.Random(848)
    owned = (None, (), (TopicPartitions(topic_id=_T, partitions=(0,)),))
    fields: tuple[tuple[str, tuple[Any, ...]], ...] = (
        ("member_id", ("", "dynamic", "static", "nobody")),
        ("member_epoch", (-3, -2, -1, 0, 1, 2, 9)),
        ("instance_id", (None, "", "i", "j")),
        ("rack_id", (None, "", "r")),
        ("server_assignor", (None, "uniform", "nothing")),
        ("subscribed_topic_regex", (None, "", "t.*", "(")),
        ("topic_partitions", owned),
    )
    for values in product(*(choices for _, choices in fields)):
        if chance.random() < 0.25:
            yield ConsumerGroupHeartbeatRequest(group_id="g", **dict(zip((name for name, _ in fields), values, strict=True)))


def _machine(name: str) -> Coordinator:
    """Return a machine with a group of a dynamic and a static member."""
    machine = Coordinator(profile=name, random=random.Random(1))
    machine.change_topics({"t": TopicImage(_T, 4)})
    for member_id, instance_id in (("dynamic", None), ("static", "i")):
        joining = ConsumerGroupHeartbeatRequest(
            group_id="g", member_id=member_id, instance_id=instance_id, rebalance_timeout_ms=1_000, subscribed_topic_names=("t",), topic_partitions=(),
        )  # fmt: skip
        machine.handle(cast(Any, joining), Arrival(token=member_id, api_version=1, client_id="c", client_host="h"), 0)
    return machine


@pytest.mark.parametrize("name", ["kafka-4.0", "kafka-4.4"])
def test_a_row_that_is_not_asked_would_not_have_held(name: str) -> None:
    machine, tables = _machine(name), bound_tables(profile(name), REFERENCE)
    group = machine.group("g")
    assert group is not None
    arrival, kind = Arrival(token=0, api_version=1, client_id="c", client_host="h"), ConsumerEvent.HEARTBEAT
    places = [(tables.cells[CONSUMER][kind, group.state], group, CONSUMER), (tables.none[kind, None], None, None)]
    classes = set()
    for request in _requests():
        number = class_of(request)
        classes.add(number)
        for rules, existing, dialect in places:
            event = ConsumerGroupEvent(
                kind=kind, now_ms=0, settings=machine.settings, group_id="g", group=existing, member_id=request.member_id,
                instance_id=request.instance_id, request=cast(Any, request), arrival=arrival,
            )  # fmt: skip
            event.member_epoch = request.member_epoch
            left = tables.of_class[dialect, kind, None if existing is None else existing.state, number]
            checks = [(tables.before_open[kind], tables.before_of_class[kind, number]), (rules, left)]
            wrong = [rule.name for whole, narrow in checks for rule in whole if rule not in narrow and rule.guard(event)]
            assert not wrong, (wrong, request)
    assert classes == set(range(1, HEARTBEAT_CLASSES.count + 1))


def test_a_plain_heartbeat_is_asked_a_few_rows_only() -> None:
    tables = bound_tables(profile("kafka-4.4"), REFERENCE)
    number = class_of(ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=3))
    state = ConsumerState.STABLE
    names = [rule.row.name for rule in tables.of_class[CONSUMER, ConsumerEvent.HEARTBEAT, state, number]]

    assert names == ["group-full", "stranger", "epoch-fenced", "state-unknown", "beats"]


def test_a_guard_that_a_variant_changes_is_asked_of_every_class() -> None:
    tables = bound_tables(profile("kafka-4.4"), Variant(name="x", says="x", guards={ConsumerGuard.JOIN_OWNS: lambda event: True}))
    rows = {rule.row.name for rule in tables.before_of_class[ConsumerEvent.HEARTBEAT, 1]}

    assert "joins-with-partitions" in rows
