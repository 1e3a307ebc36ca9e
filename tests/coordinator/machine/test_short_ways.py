from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest

from groupproof.coordinator.machine.coordinator import Coordinator
from groupproof.coordinator.planted.variants import LEGAL
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest
from groupproof.protocol.wire.messages import HeartbeatRequest, JoinGroupRequest, OffsetCommitRequest, SyncGroupRequest


@pytest.mark.parametrize(
    ("profile", "repeating"),
    [
        ("kafka-3.3", {HeartbeatRequest, SyncGroupRequest, OffsetCommitRequest}),
        ("kafka-4.4", {HeartbeatRequest, SyncGroupRequest, OffsetCommitRequest, ConsumerGroupHeartbeatRequest}),
    ],
)
def test_heartbeats_of_all_dialects_and_what_a_rebalance_has_n_times_go_a_short_way(profile: str, repeating: set[Any]) -> None:
    machine = Coordinator(profile=profile, random=random.Random(1))

    assert set(machine._repeating) == repeating
    assert set(machine._parking) == {JoinGroupRequest, SyncGroupRequest}
    assert isinstance(machine._repeating[HeartbeatRequest], partial)


def test_a_variant_asks_its_table_for_everything() -> None:
    machine = Coordinator(random=random.Random(1), variant=LEGAL[0])

    assert (machine._repeating, machine._parking) == ({}, {})
