"""Profiles: resolved once, told apart by name, and refused when a delta is stale."""

from __future__ import annotations

import pytest

from groupproof.protocol.rules import ClassicEvent, UnknownProfile, api_versions, profile, profiles, rows
from groupproof.protocol.rules import profiles as names
from groupproof.protocol.rules.profiles import mixed, spoken_in
from groupproof.protocol.vocabulary import Api


def test_the_default_is_the_newest_profile_that_clients_are_certified_by() -> None:
    assert profile() is profile("kafka-4.1")
    assert rows() == rows("kafka-4.1")
    assert names()[-1] == "kafka-4.4", "it is the default when a run has compared it in both dialects"


def test_an_unknown_profile_is_refused_with_those_that_exist() -> None:
    with pytest.raises(UnknownProfile, match=r"no profile is called 'kafka-9'; there are kafka-1\.1, kafka-2\.0, kafka-2\.1, .*kafka-4\.1"):
        profile("kafka-9")


def test_a_rule_is_found_by_its_name() -> None:
    assert profile().rule("Heartbeat/Stable/alive").requirement == "TR-118"
    with pytest.raises(KeyError, match=r"kafka-4\.1 has no rule Heartbeat/Stable/dead"):
        profile().rule("Heartbeat/Stable/dead")


@pytest.mark.parametrize("name", profiles())
def test_every_profile_is_whole(name: str) -> None:
    table = profile(name)

    assert {Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.METADATA, Api.FETCH, Api.API_VERSIONS} <= table.api_versions.keys()
    assert api_versions(name) == dict(table.api_versions)
    assert table.defaults["group.initial.rebalance.delay.ms"] == 3_000


@pytest.mark.parametrize("name", profiles())
def test_a_cell_is_there_or_sworn_unreachable_and_never_both(name: str) -> None:
    cells = {(kind, state) for kind, states in profile(name).table.cells.items() for state in states}

    assert not cells & profile(name).table.unreachable.keys()
    assert all(cell for states in profile(name).table.cells.values() for cell in states.values())


def test_a_profile_is_its_own_table() -> None:
    assert profile("kafka-4.0").table.cells[ClassicEvent.JOIN_GROUP] == profile("kafka-4.1").table.cells[ClassicEvent.JOIN_GROUP]
    assert profile("kafka-3.9").table.cells[ClassicEvent.JOIN_GROUP] != profile("kafka-4.0").table.cells[ClassicEvent.JOIN_GROUP]


def test_the_dialects_of_a_release_are_reported_without_its_tables() -> None:
    assert all(spoken_in(name) == profile(name).dialects for name in profiles())
    assert len({len(spoken_in(name)) for name in profiles()}) > 1
    with pytest.raises(KeyError):
        spoken_in("datalink")


def test_a_profile_may_have_a_part_of_another_and_is_its_own_for_the_rest() -> None:
    newest, older = profile("kafka-4.4"), profile("kafka-4.2")
    name = mixed(mixed("kafka-4.4", "first_group_epoch", "kafka-4.2"), "OffsetCommit/consumer.Stable", "kafka-4.2")
    found = profile(name)

    assert (found.name, found.release, found.fields["first_group_epoch"]) == (name, newest.release, 0)
    assert {**found.fields, "first_group_epoch": 1} == newest.fields
    differing = {rule for rule, row in found.named_rules() if row not in [other for place, other in newest.named_rules() if place == rule]}
    assert {rule.rpartition("/")[0] for rule in differing} == {"OffsetCommit/consumer.Stable"}
    assert differing <= {rule for rule, _ in older.named_rules()}
    assert (
        profile(mixed("kafka-4.1", "ConsumerGroupHeartbeat/before", "kafka-4.0")).tables["consumer"].before_group
        != newest.tables["consumer"].before_group
    )


@pytest.mark.parametrize("part", ["OffsetFetch/consumer.Stable", "Heartbeat/Nowhere", "no_field", "Heartbeat"])
def test_a_part_in_which_releases_do_not_differ_makes_no_profile(part: str) -> None:
    with pytest.raises(UnknownProfile, match="that it could have"):
        profile(mixed("kafka-4.4", part, "kafka-4.2"))
