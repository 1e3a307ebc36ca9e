"""A dialect brings the moves of its members, their wrong forms, and the settings of the broker."""

from __future__ import annotations

from dataclasses import replace

from tests.harness.running.fuzzing.drawn import Dice
from tests.harness.toy_dialect.lease_dialect import LEASE_BROKER
from tests.harness.toy_dialect.lease_functions import LEASE_FUNCTIONS
from tests.harness.toy_dialect.lease_histories import LEASE_HISTORIES

from groupproof.harness.model.dialect_parts import registered
from groupproof.harness.model.script import Ask, Group
from groupproof.harness.running.fuzzing.histories.coordinator_fuzz import KINDS, kinds_of
from groupproof.harness.running.fuzzing.histories.moves import Actor
from groupproof.protocol.vocabulary import Api


def test_one_field_of_a_request_goes_wrong() -> None:
    fields = {"group_id": Group(), "member_id": "id-m0", "member_epoch": 0}
    ask = Ask(member="m0", api=Api.CONSUMER_GROUP_HEARTBEAT, fields=fields)
    malformed = [LEASE_HISTORIES.malformed(Dice(), ask, Actor(name="m0")).fields for _ in range(30)]

    assert {sum(fields[name] != wrong[name] for name in fields) for wrong in malformed} == {1}


def test_settings_of_a_dialect_are_set_where_its_histories_are_drawn() -> None:
    part = replace(LEASE_HISTORIES, settings={"group.max.size": 7})

    with registered(LEASE_FUNCTIONS, part):
        assert {kind["group.max.size"] for kind in kinds_of(LEASE_BROKER)} == {7}
        assert [kind.get("group.max.size") for kind in kinds_of("kafka-4.1")] == [kind.get("group.max.size") for kind in KINDS]
