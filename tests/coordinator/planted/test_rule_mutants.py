"""The mutants of the table: what they are called, and that each differs from the rule that it was made of."""

from __future__ import annotations

from groupproof.coordinator.machine.variant import profile_with
from groupproof.coordinator.planted.rule_mutants import mutants
from groupproof.protocol.rules import ClassicEvent, Effect, profile, rows, rule_name
from groupproof.protocol.vocabulary import ErrorCode, GroupState

MADE = {mutant.name: mutant for mutant in mutants(profile())}


def test_every_rule_of_a_request_is_left_out_and_answered_otherwise() -> None:
    requests = [rule_name(*rule) for rule in rows() if rule[0] in (ClassicEvent.HEARTBEAT, ClassicEvent.SYNC_GROUP, ClassicEvent.JOIN_GROUP)]

    assert [rule for rule in requests if f"gone/{rule}" not in MADE or f"code/{rule}" not in MADE] == []


def test_no_mutant_is_the_profile_itself() -> None:
    same = [
        name
        for name, variant in MADE.items()
        if all(
            (bent.cells, bent.before_group) == (table.cells, table.before_group)
            for bent, table in zip(profile_with(profile(), variant).tables.values(), profile().tables.values(), strict=True)
        )
    ]

    assert same == []


def test_a_mutant_breaks_the_requirement_of_its_rule() -> None:
    assert MADE["gone/Heartbeat/Stable/stranger"].breaks == (profile().rule("Heartbeat/Stable/stranger").requirement,)


def test_a_rule_answers_another_code() -> None:
    row = profile_with(profile(), MADE["code/Heartbeat/Stable/alive"]).rule("Heartbeat/Stable/alive")

    assert row.answer is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_rule_lacks_one_effect_and_keeps_the_others() -> None:
    rule = "SyncGroup/CompletingRebalance/leader-syncs"
    row = profile_with(profile(), MADE[f"without/{rule}/mark-synced"]).rule(rule)

    assert row.effects == (Effect.PARK_SYNC,)
    assert row.after == (Effect.STORE_ASSIGNMENT,)


def test_a_rule_leaves_the_group_where_it_is() -> None:
    rule = "Left/Stable/stable"

    assert profile().rule(rule).then is GroupState.PREPARING_REBALANCE
    assert profile_with(profile(), MADE[f"stays/{rule}"]).rule(rule).then is None


def test_a_check_before_the_group_is_left_out() -> None:
    cell = profile_with(profile(), MADE["gone/Heartbeat/before/not-coordinator"]).table.before_group[ClassicEvent.HEARTBEAT]

    assert [row.name for row in cell] == ["not-active", "group-id-empty", "loading"]
