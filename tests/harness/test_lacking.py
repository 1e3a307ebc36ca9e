from __future__ import annotations

from groupproof.harness.catalogue import CASES
from groupproof.harness.lacking import lack_of, unimplemented
from groupproof.harness.verdicts import Goodbye, Verdict

CASE = next(case for case in CASES if case.needs == {"classic", "static"} or {"classic", "static"} < case.needs)


def test_a_client_that_declares_what_a_case_needs_lacks_nothing() -> None:
    assert lack_of(CASE, CASE.needs) == ""
    assert lack_of(CASE, [*CASE.needs, "regex"]) == ""


def test_what_it_does_not_declare_is_told_in_order() -> None:
    assert lack_of(CASE, CASE.needs - {"static"}) == "Its shim declares no static."
    assert lack_of(CASE, CASE.needs - {"static", "classic"}) == "Its shim declares no classic and no static."


def test_a_case_that_was_never_run_is_unimplemented_and_shows_no_goodbye() -> None:
    result = unimplemented(CASE, "why")

    assert (result.ruling.verdict, result.ruling.goodbye, result.ruling.stability) == (Verdict.UNIMPLEMENTED, Goodbye.NONE, "0/0")
    assert (result.ruling.observed, result.plays, result.trouble) == ("why", [], None)
