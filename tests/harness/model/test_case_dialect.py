"""The dialect of a case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groupproof.harness.cases.catalogue import every_case
from groupproof.harness.cases.embedded import EMBEDDED_CASES
from groupproof.harness.model.case_dialect import CLASSIC_CAPABILITY, case_id, dialect_of_apis, dialect_of_case
from groupproof.protocol.rules.cells import EventKind
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.dialect_registry import dialects, registered


class Ask(EventKind):
    SHARE = "ShareGroupHeartbeat"


OTHER = replace(CLASSIC, name="other", since=None, events=tuple(Ask), requests=tuple(Ask))


def test_an_id_names_the_dialect_that_it_was_made_with() -> None:
    assert case_id("join", CLASSIC, "first") == "join/classic/first"
    assert dialect_of_case(case_id("join", OTHER, "first")) == "other"


@pytest.mark.parametrize("id", ["join", "join/first", "join/classic/first/again"])
def test_what_is_no_case_s_id_names_no_dialect(id: str) -> None:
    assert dialect_of_case(id) == ""


def test_every_case_is_of_a_dialect_that_is_known_and_a_client_case_asks_for_it() -> None:
    names = {dialect.name for dialect in dialects()}

    assert {dialect_of_case(case.id) for case in every_case()} <= names
    assert all(dialect_of_case(case.id) in case.needs or case.needs & EMBEDDED_CASES.keys() for case in every_case() if case.side == "client")
    assert CLASSIC_CAPABILITY in names


def test_members_speak_the_dialect_of_their_requests() -> None:
    assert dialect_of_apis(["Metadata", "JoinGroup", None]) is CLASSIC
    assert dialect_of_apis(["ShareGroupHeartbeat"]) is CLASSIC, "nobody knows that request"
    with registered(OTHER):
        assert dialect_of_apis(["ShareGroupHeartbeat", "Fetch"]) is OTHER
        assert dialect_of_apis(["OffsetCommit"]) is CLASSIC
