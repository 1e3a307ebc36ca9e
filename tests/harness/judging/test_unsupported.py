from __future__ import annotations

from groupproof.harness.cases.catalogue import cases_of, every_case
from groupproof.harness.judging.unsupported import lack_of, unimplemented
from groupproof.harness.model.verdicts import Goodbye, Verdict

NEWEST = "kafka-4.1"
CASE = next(case for case in every_case() if case.needs == {"classic", "static"} or {"classic", "static"} < case.needs)


def test_a_client_that_declares_what_a_case_needs_lacks_nothing() -> None:
    assert lack_of(CASE, CASE.needs, NEWEST) == ""
    assert lack_of(CASE, [*CASE.needs, "regex"], NEWEST) == ""


def test_what_it_does_not_declare_is_reported_in_order() -> None:
    assert lack_of(CASE, CASE.needs - {"static"}, NEWEST) == "Its shim declares no static."
    assert lack_of(CASE, CASE.needs - {"static", "classic"}, NEWEST) == "Its shim declares no classic and no static."


def test_a_case_that_was_never_run_is_unimplemented_and_shows_no_clean_close() -> None:
    result = unimplemented(CASE, "why")

    assert (result.ruling.verdict, result.ruling.goodbye, result.ruling.stability) == (Verdict.UNIMPLEMENTED, Goodbye.NONE, "0/0")
    assert (result.ruling.observed, result.plays, result.trouble) == ("why", [], None)


def test_brokers_from_before_static_members_and_size_limits_are_asked_for_neither() -> None:
    lacks = {case.id: lack_of(case, case.needs, "kafka-2.1") for case in cases_of("client")}
    by_name = {name: lack for name, lack in lacks.items() if lack}

    assert by_name["join/classic/group-max-size-reached"] == "kafka-2.1 has no group.max.size (KIP-389 came with 2.2)."
    assert {name for name, lack in by_name.items() if "KIP-345" in lack} == {case.id for case in cases_of("client") if "static" in case.needs}
    assert not any(lack_of(case, case.needs, "kafka-2.3") for case in cases_of("client"))
