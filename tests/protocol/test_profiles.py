"""Profiles: resolved once, told apart by name, and refused when a delta is stale."""

from __future__ import annotations

import pytest

from groupproof.protocol.spec import Guard, On, Row, UnknownProfile, api_versions, profile, profiles, rows
from groupproof.protocol.spec import profiles as names
from groupproof.protocol.spec.profiles import applied
from groupproof.protocol.spec.releases import Change
from groupproof.protocol.vocabulary import Api, GroupState

ROWS = (Row("a", Guard.NO_MEMBER_ID, None, "TR-001"), Row("b", Guard.ALWAYS, None, "TR-001"))


def test_the_newest_profile_is_the_default() -> None:
    assert profile() is profile("kafka-4.1")
    assert rows() == rows("kafka-4.1")
    assert names()[-1] == "kafka-4.1"


def test_an_unknown_profile_is_refused_with_those_that_exist() -> None:
    with pytest.raises(UnknownProfile, match=r"no profile is called 'kafka-9'; there are kafka-1\.1, kafka-2\.4, kafka-4\.1"):
        profile("kafka-9")


def test_a_rule_is_found_by_its_name() -> None:
    assert profile().rule("Heartbeat/Stable/alive").requirement == "TR-118"
    with pytest.raises(KeyError, match=r"kafka-4\.1 has no rule Heartbeat/Stable/dead"):
        profile().rule("Heartbeat/Stable/dead")


def test_a_change_puts_rows_in_the_place_of_one() -> None:
    new = Row("new", Guard.LEADER, None, "TR-001")

    assert applied(Change(on=On.HEARTBEAT, states=(), name="a", rows=(new, ROWS[0])), ROWS) == (new, *ROWS)
    assert applied(Change(on=On.HEARTBEAT, states=(), name="a"), ROWS) == ROWS[1:]
    assert applied(Change(on=On.HEARTBEAT, states=(), name="b", rows=(new,), keeps=True), ROWS) == (ROWS[0], new, ROWS[1])
    assert applied(Change(on=On.HEARTBEAT, states=(), name=None, rows=(new,)), ROWS) == (new,)


def test_a_stale_change_fails_where_it_is_applied() -> None:
    with pytest.raises(ValueError, match=r"a delta changes Heartbeat/\?/gone, which is not there: \['a', 'b'\]"):
        applied(Change(on=On.HEARTBEAT, states=(GroupState.STABLE,), name="gone"), ROWS, where="Heartbeat/?")


@pytest.mark.parametrize("name", profiles())
def test_every_profile_is_whole(name: str) -> None:
    table = profile(name)

    assert {Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.METADATA, Api.FETCH, Api.API_VERSIONS} <= table.api_versions.keys()
    assert api_versions(name) == dict(table.api_versions)
    assert table.defaults["group.initial.rebalance.delay.ms"] == 3_000
