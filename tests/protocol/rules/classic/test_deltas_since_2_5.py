"""What the releases from 2.5 on changed."""

from __future__ import annotations

import pytest

from groupproof.protocol.rules import ClassicEvent, Effect, Guard, profile, rows, rule_name
from groupproof.protocol.rules.cells import EffectName
from groupproof.protocol.rules.classic.deltas_since_2_5 import DELTAS_SINCE_2_5, SCALA_ORDER
from groupproof.protocol.vocabulary import GroupState

STABLE = GroupState.STABLE


def _effects(name: str) -> set[EffectName]:
    return {effect for _, _, row in rows(name) for effect in (*row.effects, *row.after)}


def test_every_delta_is_of_2_5_or_newer() -> None:
    assert all(delta.since >= (2, 5) for delta in DELTAS_SINCE_2_5)
    assert SCALA_ORDER.keys() == {ClassicEvent.JOIN_GROUP, ClassicEvent.SYNC_GROUP, ClassicEvent.HEARTBEAT, ClassicEvent.LEAVE_GROUP}


@pytest.mark.parametrize(("effect", "having"), [
    (Effect.TAKE_TIMEOUTS, ["kafka-3.9", "kafka-4.0", "kafka-4.1"]),
    (Effect.START_SYNC_DEADLINE, ["kafka-2.8", "kafka-3.9", "kafka-4.0", "kafka-4.1"]),
    (Effect.LEAVE_EACH, ["kafka-4.0", "kafka-4.1"]),
    (Effect.LEAVE_ONE_BY_ONE, ["kafka-1.1", "kafka-2.4", "kafka-2.8", "kafka-3.9"]),
    (Effect.END_NEWCOMER, ["kafka-4.0", "kafka-4.1"]),
    (Effect.ANSWER_JOINS_SPARING_NEWCOMERS, ["kafka-2.4"]),
    (Effect.FORGET_INSTANCE, ["kafka-2.4"]),
])  # fmt: skip
def test_which_profiles_have_an_effect(effect: Effect, having: list[str]) -> None:
    names = ("kafka-1.1", "kafka-2.4", "kafka-2.8", "kafka-3.9", "kafka-4.0", "kafka-4.1")

    assert [name for name in names if effect in _effects(name)] == having


@pytest.mark.parametrize(("name", "returns"), [
    ("kafka-2.4", ["instance-returns"]),
    ("kafka-2.8", ["instance-returns", "instance-returns-changed"]),
    ("kafka-3.9", ["instance-returns-skipping", "instance-returns", "instance-returns-changed"]),
])  # fmt: skip
def test_how_an_instance_returns_to_a_stable_group(name: str, returns: list[str]) -> None:
    cell = profile(name).table.cells[ClassicEvent.JOIN_GROUP][STABLE]

    assert [row.name for row in cell if row.name.startswith("instance-returns")] == returns


def test_subscriptions_that_cannot_be_read_break_nothing_before_2_7() -> None:
    broken = {rule_name(kind, state, row) for kind, state, row in rows("kafka-2.8") if row.name == "subscription-breaks"}

    assert len(broken) == 4
    assert not [row for _, _, row in rows("kafka-2.4") if row.name == "subscription-breaks"]


def test_a_sync_must_name_its_protocol_from_2_5_on_before_anything_else() -> None:
    first = {
        name: profile(name).table.before_group[ClassicEvent.SYNC_GROUP][0].guard for name in ("kafka-4.1", "kafka-3.9", "kafka-2.8", "kafka-2.4")
    }

    assert [name for name, guard in first.items() if guard is Guard.PROTOCOL_UNNAMED] == ["kafka-4.1", "kafka-3.9", "kafka-2.8"]
