"""Which dialects there are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupproof.protocol.rules import UnknownProfile, known_profiles, profile, relatives
from groupproof.protocol.rules.cells import EventKind
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.datalink.datalink_dialect import DATALINK
from groupproof.protocol.rules.dialect_registry import dialect_named, dialect_of_rule, dialects, on_change, registered, relative_named

OTHER = replace(DATALINK, name="other", relatives=(replace(DATALINK.relatives[0], name="other-broker", beside=("classic",)),))


def test_a_dialect_is_found_by_its_name() -> None:
    assert [dialect_named(dialect.name) for dialect in dialects()] == [*dialects()]
    with pytest.raises(LookupError, match="no dialect is called 'modern'; there are classic, consumer, datalink"):
        dialect_named("modern")


def test_a_relative_is_found_with_its_dialect() -> None:
    found = relative_named("datalink-dead")

    assert found is not None
    assert (found[0], found[1].name) == (DATALINK, "datalink-dead")
    assert relative_named("kafka-4.1") is None


def test_a_dialect_that_is_registered_brings_its_profiles_along_and_takes_them_away() -> None:
    before = known_profiles()
    with registered(OTHER):
        assert known_profiles() == (*before, "other-broker")
        assert profile("other-broker").dialects == (OTHER, CLASSIC)
        assert dialects()[-1] is OTHER
    assert known_profiles() == before
    assert "other-broker" not in relatives()
    with pytest.raises(UnknownProfile, match="other-broker"):
        profile("other-broker")


def test_a_release_speaks_a_dialect_from_its_first_one_on() -> None:
    with registered(replace(OTHER, relatives=(), since=(4, 1))):
        assert list(profile("kafka-4.1").tables) == ["classic", "consumer", "other"]
        assert list(profile("kafka-4.0").tables) == ["classic", "consumer"]
    assert list(profile("kafka-4.1").tables) == ["classic", "consumer"]
    assert list(profile("kafka-3.9").tables) == ["classic"]


@pytest.mark.parametrize("dialect", [CLASSIC, replace(OTHER, relatives=DATALINK.relatives)], ids=["a dialect's", "a profile's"])
def test_a_name_that_is_another_s_is_refused(dialect: object) -> None:
    with pytest.raises(ValueError, match="already"), registered(dialect):  # type: ignore[arg-type]  # parameters of a test are objects
        raise AssertionError("it was registered")


def test_a_listener_of_the_dialects_is_notified_when_they_change() -> None:
    changes: list[int] = []
    on_change(lambda: changes.append(len(dialects())))
    with registered(OTHER):
        assert changes == [4]
    assert changes == [4, 3]


def test_a_rule_is_of_the_dialect_of_its_states_prefix_or_without_a_group_of_its_request() -> None:
    prefixed = replace(OTHER, state_prefix="other.", requests=(DatalinkOnly.ASK,))
    with registered(prefixed):
        assert dialect_of_rule("SessionEnd/other.Stable/session-ends") is prefixed
        assert dialect_of_rule("Ask/none/created") is dialect_of_rule("Ask/before/not-active") is prefixed
        assert dialect_of_rule("SessionEnd/Stable/session-ends") is dialect_of_rule("JoinGroup/none/created") is CLASSIC


class DatalinkOnly(EventKind):
    ASK = "Ask"
