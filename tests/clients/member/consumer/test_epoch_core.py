"""The core: member ids, and names that are never forgotten."""

from __future__ import annotations

import itertools
import random

import pytest
from tests.clients.member.consumer.epoch_bench import EpochBench

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.member.consumer.epoch_core import EpochCore, EpochState
from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.epoch_policy import EpochPolicy
from groupproof.clients.member.policy import REFERENCE, Policy

SETTINGS = MemberSettings(group="g", topics=("t",), by_epochs=True)


@pytest.mark.requirement("CGC-05", "CGV-23")
def test_member_ids_are_drawn_as_kafka_writes_uuids() -> None:
    ids = {EpochCore(SETTINGS, REFERENCE, random.Random(seed).random).member_id for seed in range(500)}
    assert len(ids) == 500
    assert all(len(member_id) == 22 and not member_id.startswith("-") for member_id in ids)


def test_the_name_of_a_topic_outlives_metadata_without_it() -> None:
    b = EpochBench()
    b.joined(0)
    b.do(b.member.metadata(Cluster(), b.now))
    b.next_beat()
    b.beaten(2, 0, 1)
    b.poll_through()
    assert b.member.owned == {("t", 0), ("t", 1)}


def test_no_dash_is_changed_but_the_first() -> None:
    dashes = itertools.cycle((0xFB, 0xEF, 0xBE))  # in base 64: four dashes
    core = EpochCore(SETTINGS, REFERENCE, lambda: next(dashes) / 256)

    assert core.member_id.startswith("A---")


@pytest.mark.requirement("CGC-06")
@pytest.mark.parametrize(("choice", "epoch_before", "epoch"), [("zero", 7, 0), ("kept", 7, 7), ("kept", -1, 0)])
def test_a_member_that_joins_again_begins_at_epoch_0_whatever_epoch_it_had(choice: str, epoch_before: int, epoch: int) -> None:
    core = EpochCore(SETTINGS, Policy(epochs=EpochPolicy(join_epoch=choice)), random.Random(1).random)  # type: ignore[arg-type]  # a parameter of the test
    core.previous_generation = epoch_before
    core.begin_membership()

    assert core.generation == epoch


@pytest.mark.requirement("CGC-06")
@pytest.mark.parametrize(("choice", "keeps"), [("kept", True), ("renewed", False)])
def test_a_member_that_joins_again_keeps_its_id_unless_it_renews_it(choice: str, keeps: bool) -> None:
    core = EpochCore(SETTINGS, Policy(epochs=EpochPolicy(member_id=choice)), random.Random(1).random)  # type: ignore[arg-type]  # a parameter of the test
    first = core.member_id
    core.begin_membership()
    assert core.member_id == first
    core.end_membership(EpochState.FENCED)
    core.begin_membership()

    assert (core.member_id == first) is keeps
