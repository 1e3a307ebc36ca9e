"""A cell of a release's table is printed as the release keeps it."""

from __future__ import annotations

import pytest
from tests.harness.commands.calling import Call


def test_a_cell_is_printed_with_its_rules_in_order(groupproof: Call) -> None:
    called = groupproof("explain", "SyncGroup/PreparingRebalance", "--profile", "kafka-2.4")
    assert called.code == 0
    names = [
        line.split(". ")[1].split(":")[0] for line in called.out.partition("SyncGroup/PreparingRebalance")[2].splitlines() if line[2:3].isdigit()
    ]
    assert names == ["fenced", "stranger", "other-generation", "rebalancing"]
    assert "answer: 27 REBALANCE_IN_PROGRESS" in called.out
    assert "requirement: TR-054" in called.out


def test_a_release_has_the_rules_of_its_time(groupproof: Call) -> None:
    newest, older = (groupproof("explain", "syncgroup/preparingrebalance", *of).out for of in ((), ("--profile", "kafka-2.4")))
    assert "protocol-differs" in newest
    assert "protocol-differs" not in older


def test_an_input_alone_is_printed_in_every_state(groupproof: Call) -> None:
    out = groupproof("explain", "Heartbeat").out
    assert [state for state in ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead") if f"\nHeartbeat/{state}\n" not in out] == []


def test_one_rule_is_printed_alone(groupproof: Call) -> None:
    out = groupproof("explain", "SyncGroup/Stable/fenced").out
    assert "82 FENCED_INSTANCE_ID" in out
    assert "syncs-again" not in out


def test_what_cannot_come_up_says_why(groupproof: Call) -> None:
    from groupproof.protocol.rules.classic.classic_terms import state_name
    from groupproof.protocol.rules.profiles import profile

    (event, state), reason = next(iter(profile().table.unreachable.items()))
    assert f"cannot come up: {reason}" in groupproof("explain", f"{event.value}/{state_name(state)}").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("SyncGroup/Stabel",), "did you mean Stable"),
        (("SyncGroup/Stable/fence",), "did you mean fenced"),
        (("SyncGroup/Stable", "--profile", "kafka-9"), "kafka-9"),
        (("SyncGrup",), "is no case, requirement, profile, subject or input of the table"),
    ],
)
def test_what_does_not_exist_is_one_clear_error(groupproof: Call, arguments: tuple[str, ...], words: str) -> None:
    called = groupproof("explain", *arguments)
    assert called.code == 3
    assert words in called.complaint


def test_an_event_of_another_dialect_is_said_to_be_one(groupproof: Call) -> None:
    called = groupproof("explain", "Forced/Stable")
    assert called.code == 3
    assert "Forced comes to a group of DataLink's workers, and kafka-4.1 has no such group; say --profile datalink\n" in called.err
    assert "then: PreparingRebalance" in groupproof("explain", "Forced/Stable", "--profile", "datalink").out
