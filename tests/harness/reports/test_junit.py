from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as xml

import pytest
from tests.harness.reports.making import a_case, a_result, known_failure, summary_of

from groupproof.harness.judging.summary.baseline import Change, Delta
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.reports.junit import junit

CASE = a_case()


def suite_of(*results: Any, **run: Any) -> xml.Element:
    suites = xml.fromstring(junit(summary_of(*results, **run), "out"))
    suite = suites.find("testsuite")
    assert suite is not None
    assert all(suites.get(name) == suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time"))
    return suite


def counts(suite: xml.Element) -> dict[str, str | None]:
    return {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}


@pytest.mark.parametrize(
    ("verdict", "element"),
    [
        (Verdict.OK, None),
        (Verdict.NON_STRICT, None),
        (Verdict.INFORMATIONAL, None),
        (Verdict.FAILED, "failure"),
        (Verdict.BROKEN, "error"),
        (Verdict.INCONCLUSIVE, "error"),
        (Verdict.UNIMPLEMENTED, "skipped"),
    ],
)
def test_each_verdict_is_reported_in_the_words_of_junit(verdict: Verdict, element: str | None) -> None:
    suite = suite_of(a_result(verdict, observed="It left."))

    entries = [child for child in suite.findall("testcase/*") if child.tag != "system-out"]
    assert [(child.tag, child.get("type"), child.get("message")) for child in entries] == ([(element, verdict.value, "It left.")] if element else [])
    assert counts(suite) == {
        "tests": "1",
        **{f"{tag}s".replace("skippeds", "skipped"): str(int(tag == element)) for tag in ("failure", "error", "skipped")},
    }


def test_a_failure_tells_what_was_expected_and_what_was_observed_and_how_to_see_it_again() -> None:
    suite = suite_of(a_result(Verdict.FAILED, traces=[[]], observed="It left.", stability="3/3", fingerprint="0123456789ab"))

    text = suite.findtext("testcase/failure")
    assert text == (
        "\nFAILED · MUST · A member joins.\nrequirements: HB-03\nexpected: It joins.\nobserved: It left.\n"
        "grounds: seen in 3 of 3 runs · 0 receipts · the kit did not lag\nstability: 3/3\n"
        "fingerprint: 0123456789ab\ntrace: out/cases/join/classic/example/trace.ndjson\nreplay: groupproof replay out/cases/join/classic/example/plan.json\n"
    )
    case = suite.find("testcase")
    assert case is not None
    assert (case.get("classname"), case.get("name"), case.get("time")) == ("join.classic", "example", "1.250")


def test_the_counts_are_those_of_the_elements() -> None:
    cases = [a_case(f"join/classic/n{number}") for number in range(6)]
    verdicts = (Verdict.OK, Verdict.FAILED, Verdict.FAILED, Verdict.BROKEN, Verdict.UNIMPLEMENTED)
    results = [a_result(verdict, case) for verdict, case in zip(verdicts, cases, strict=False)]

    suite = suite_of(*results, selected=cases, interrupted=True, stale=["known.toml, entry 2 (join): passes"])

    assert counts(suite) == {"tests": "7", "failures": "3", "errors": "1", "skipped": "2"}
    for tag in ("failure", "error", "skipped"):
        assert len(suite.findall(f"testcase/{tag}")) == int(suite.get({"failure": "failures", "error": "errors"}.get(tag, tag)) or -1)


def test_a_case_that_was_not_reached_is_skipped_and_says_so() -> None:
    suite = suite_of(selected=[CASE], interrupted=True)

    skipped = suite.find("testcase/skipped")
    assert skipped is not None
    assert (skipped.get("type"), skipped.get("message")) == ("NOT_REACHED", "not reached: the run was interrupted")


def test_an_excused_case_is_skipped_with_the_reason() -> None:
    suite = suite_of(a_result(Verdict.FAILED), excused={CASE.id: known_failure(CASE.id)})

    skipped = suite.find("testcase/skipped")
    assert skipped is not None
    assert (skipped.get("type"), skipped.get("message")) == ("EXCUSED", "known: drops its id on 27 (https://example.org/1)")
    assert counts(suite)["failures"] == "0"


def test_a_stale_expectation_is_a_failure_of_its_own() -> None:
    suite = suite_of(a_result(), stale=["known.toml, entry 2 (join/classic/x): join/classic/x is OK, not FAILED any more"])

    failed = suite.find("testcase[@classname='expectations']/failure")
    assert failed is not None
    assert "not FAILED any more" in (failed.get("message") or "")
    assert counts(suite) == {"tests": "2", "failures": "1", "errors": "0", "skipped": "0"}


@pytest.mark.parametrize("fail_on", [frozenset(), frozenset({"non-strict", "unclean"})])
def test_what_fail_on_adds_is_a_failure(fail_on: frozenset[str]) -> None:
    lax = a_result(Verdict.NON_STRICT, a_case("join/classic/lax"))
    unclean = a_result(Verdict.OK, a_case("leave/classic/rude"), goodbye=Goodbye.UNCLEAN, goodbye_reason="m0 closed without a LeaveGroup")

    suite = suite_of(lax, unclean, fail_on=fail_on)

    assert [child.get("message") for child in suite.findall("testcase/failure")] == (["It did.", "m0 closed without a LeaveGroup"] if fail_on else [])


def test_a_preview_that_fails_is_skipped() -> None:
    preview: Case = a_case(preview=True)

    suite = suite_of(a_result(Verdict.FAILED, preview))

    assert counts(suite) == {"tests": "1", "failures": "0", "errors": "0", "skipped": "1"}


def test_trouble_that_is_not_the_subjects_is_an_error_named_by_its_kind() -> None:
    suite = suite_of(a_result(Verdict.INCONCLUSIVE, trouble=BrokenEnvironment("port 9092 is in use")))

    error = suite.find("testcase/error")
    assert error is not None
    assert (error.get("type"), error.get("message")) == ("BrokenEnvironment", "port 9092 is in use")


def test_whatever_a_client_says_the_file_can_be_read() -> None:
    hostile = "]]> <b>&amp; \x00\x1b[31m \ud800 \uffff ü"

    suite = suite_of(a_result(Verdict.FAILED, observed=hostile))

    failure = suite.find("testcase/failure")
    assert failure is not None
    assert (failure.get("message") or "").startswith("]]> <b>&amp; \N{REPLACEMENT CHARACTER}")


def test_against_a_baseline_only_what_is_worse_fails() -> None:
    cases = {name: a_case(f"join/classic/{name}") for name in ("known", "sloppy", "fell")}
    results = [a_result(Verdict.FAILED, cases["known"]), a_result(Verdict.NON_STRICT, cases["sloppy"]), a_result(Verdict.FAILED, cases["fell"])]
    delta = Delta(
        name="old.json",
        moved=(Change(id=cases["sloppy"].id, before="OK", now="NON_STRICT"), Change(id=cases["fell"].id, before="OK", now="FAILED")),
        vanished=(Change(id="join/classic/gone", before="OK", now=""),),
        known_cases=frozenset({cases["known"].id}),
    )

    suite = xml.fromstring(junit(replace(summary_of(*results), delta=delta), "out"))[0]

    by_name = {case.get("name"): (case[0].tag, case[0].get("type")) for case in suite.findall("testcase")}
    assert by_name == {
        "known": ("skipped", "FAILED"), "sloppy": ("failure", "MOVED"), "fell": ("failure", "FAILED"), "gone": ("failure", "VANISHED"),
    }  # fmt: skip
