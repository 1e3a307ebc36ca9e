from __future__ import annotations

import pytest

from groupproof.protocol.rules import profile, profiles
from groupproof.protocol.rules.classic.named_changes import NAMED_CHANGES, changes_beside
from groupproof.protocol.rules.profiles import UnknownProfile, base_of, mixed, root_of
from groupproof.protocol.rules.requirements import by_id

STATIC_RETURN = "JoinGroup/CompletingRebalance/instance-returns"


@pytest.mark.parametrize("name", profiles())
def test_each_release_has_every_named_change_or_another_release_does(name: str) -> None:
    changes = list(changes_beside(name))

    assert {change.part for change in changes} == NAMED_CHANGES
    assert all((profile(change.release).release > profile(name).release) or not change.mends for change in changes)
    assert [by_id(change.mends).id for change in changes if change.mends] == [change.mends for change in changes if change.mends]


def test_the_nearest_release_that_differs_is_named() -> None:
    assert {change.part: change.release for change in changes_beside("kafka-2.4")}["KAFKA-9801"] == "kafka-2.5"
    assert {change.part: change.release for change in changes_beside("kafka-4.1")}["KAFKA-9801"] == "kafka-2.4"


def test_a_profile_has_one_change_of_another_release_and_no_more() -> None:
    old, new = profile("kafka-2.4"), profile(mixed("kafka-2.4", "KAFKA-9801", "kafka-2.5"))

    assert new.rule(STATIC_RETURN).note == "KAFKA-9801 (2.5)"
    assert {rule for rule in new.named_rules()} - {rule for rule in old.named_rules()} == {(STATIC_RETURN, new.rule(STATIC_RETURN))}
    assert new.fields == old.fields


def test_changes_and_other_parts_go_together_in_any_order() -> None:
    cell, change = ("Heartbeat/CompletingRebalance", "kafka-4.1"), ("KAFKA-9801", "kafka-2.5")
    one = mixed(mixed("kafka-2.4", *cell), *change)
    other = mixed(mixed("kafka-2.4", *change), *cell)

    assert list(profile(one).named_rules()) == list(profile(other).named_rules())
    assert (root_of(one), base_of(one)) == ("kafka-2.4", mixed("kafka-2.4", *cell))


@pytest.mark.parametrize(
    ("name", "part"), [("kafka-2.5", "KAFKA-9232"), ("datalink", "KAFKA-14009"), (mixed("kafka-2.4", "KAFKA-9801", "kafka-2.5"), "KAFKA-9801")]
)
def test_a_change_that_changes_nothing_makes_no_profile(name: str, part: str) -> None:
    with pytest.raises(UnknownProfile):
        profile(mixed(name, part, "kafka-2.5"))
