from __future__ import annotations

from tests.harness.reports.making import REBALANCE, a_case, a_result, known_failure, played, summary_of

from groupproof.harness.judging.summary.run_summary import SubjectInfo, SuiteInfo
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.verdicts import Finding, Goodbye, Grounds, Verdict
from groupproof.protocol.rules.requirements import catalogue_sha256
from groupproof.protocol.schemas import validate

FIRST, SECOND, THIRD = (a_case(f"join/classic/{name}") for name in ("first", "second", "third"))


def test_a_report_is_what_the_contract_says() -> None:
    run = summary_of(
        a_result(Verdict.FAILED, FIRST, traces=[[]], observed="It left.", fingerprint="0123456789ab", receipts=2, goodbye=Goodbye.UNCLEAN)
    )

    assert run.to_json("out") == {
        "schema": "groupproof.report/1",
        "suite": {"version": "0.1.0", "catalogue_sha256": "ab" * 32, "profile": "kafka-4.1", "dialect": "classic"},
        "subject": {"side": "client", "name": "example", "version": "1.2", "language": "python", "capabilities": ["classic", "commit"]},
        "run": {
            "seed": 7,
            "started": "2026-01-02T03:04:05+00:00",
            "duration_s": 12.346,
            "jobs": 16,
            "faults": "frames",
            "environment": {"python": "3.11.2"},
            "command": ["groupproof", "certify", "client", "example"],
            "interrupted": False,
        },
        "totals": {
            "OK": 0, "NON_STRICT": 0, "INFORMATIONAL": 0, "FAILED": 1, "UNIMPLEMENTED": 0, "INCONCLUSIVE": 0, "BROKEN": 0, "EXCUSED": 0,
        },
        "grade": "FAILED",
        "cases": [
            {
                "id": "join/classic/first",
                "title": "A member joins.",
                "requirements": ["HB-03"],
                "level": "MUST",
                "preview": False,
                "time": "wall",
                "verdict": "FAILED",
                "goodbye": "UNCLEAN",
                "stability": "1/1",
                "expected": "It joins.",
                "observed": "It left.",
                "fingerprint": "0123456789ab",
                "receipts": 2,
                "duration_s": 1.25,
                "trace": "cases/join/classic/first/trace.ndjson",
                "seq": None,
                "run": 1,
                "grounds": "seen in 1 of 1 run · 2 receipts · the kit did not lag",
                "lag_ms": 0.0,
                "replay": "groupproof replay out/cases/join/classic/first/plan.json",
            }
        ],
    }  # fmt: skip


def test_a_real_run_is_as_its_schema_says() -> None:
    run = summary_of(*played(REBALANCE), *played(REBALANCE, variant="ignores-heartbeat-27"), clock="virtual")

    validate("report", run.to_json())

    assert {case["time"] for case in run.to_json()["cases"]} == {"virtual"}


def test_the_trace_and_the_place_in_it_are_of_the_run_that_shows_the_verdict() -> None:
    finding = Finding(verdict=Verdict.FAILED, requirement="HB-03", expected="", observed="It left.", seq=777, grounds=Grounds(run=2, lag_ms=7.0))
    run = summary_of(a_result(Verdict.FAILED, FIRST, traces=[[], [], []], findings=[finding], stability="1/3", run=2, lag_ms=7.0))

    (case,) = run.to_json()["cases"]
    assert (case["trace"], case["seq"], case["run"], case["stability"]) == ("cases/join/classic/first/trace-2.ndjson", 777, 2, "1/3")
    assert case["grounds"] == "proven on the wire in 1 of 3 runs, run 2 · 0 receipts · the kit lagged 7 ms at most"


def test_what_no_trace_tells_is_not_in_the_report() -> None:
    run = summary_of(a_result(Verdict.FAILED, FIRST, blurs=("the machine was late",)))

    assert "the machine was late" not in str(run.to_json())
    assert "repeated alone, because at first the machine was late" in run.cases[0].grounds


def test_crashes_beside_other_cases_are_reported_by_how_the_process_ended() -> None:
    ends = ("exited with status 1: panic <7>", "exited with status 1: panic 8"), ("killed by signal 11: nothing on stderr",), ()
    run = summary_of(*(a_result(case=case, shared_ends=item) for case, item in zip((FIRST, SECOND, THIRD), ends, strict=True)))

    text = "a process of the shim that hosts several cases ended unasked in {}, repeated alone: {}"
    assert run.shared_ends == [text.format("2 runs", ends[0][0]), text.format("1 run", ends[1][0])]
    assert [case.get("shared_ends") for case in run.to_json()["cases"]] == [list(ends[0]), list(ends[1]), None]
    assert [item.ended_shared for item in run.counted] == [True, True, False]


def test_cases_stand_in_the_order_of_the_selection_whatever_ended_first() -> None:
    run = summary_of(a_result(case=THIRD), a_result(case=FIRST), selected=[FIRST, SECOND, THIRD])

    assert [case.case.id for case in run.cases] == [FIRST.id, THIRD.id]
    assert run.unreached == [SECOND]


def test_an_excused_case_counts_as_excused_and_keeps_what_was_found() -> None:
    run = summary_of(a_result(Verdict.FAILED, FIRST, fingerprint="0123456789ab"), excused={FIRST.id: known_failure(FIRST.id)})

    case = run.to_json()["cases"][0]
    assert (case["verdict"], case["observed"], case["fingerprint"]) == ("EXCUSED", "It did.", "0123456789ab")
    assert case["excused"] == {"verdict": "FAILED", "reason": "drops its id on 27", "source": "https://example.org/1"}
    assert run.totals["EXCUSED"] == 1
    assert run.totals["FAILED"] == 0
    assert run.grade == "PASSED"


def test_a_preview_is_shown_and_not_counted() -> None:
    run = summary_of(a_result(Verdict.FAILED, a_case(preview=True)), a_result(case=FIRST))

    assert [case["preview"] for case in run.to_json()["cases"]] == [True, False]
    assert run.totals["FAILED"] == 0


def test_a_case_without_a_run_names_no_trace() -> None:
    run = summary_of(a_result(Verdict.INCONCLUSIVE, FIRST, trouble=BrokenEnvironment("no port is free")))

    assert run.to_json()["cases"][0]["trace"] is None
    assert isinstance(run.counted[0].trouble, BrokenEnvironment)


def test_the_catalogue_that_judged_is_named_by_its_digest() -> None:

    assert SuiteInfo(version="1", profile="kafka-4.1").catalogue_sha256 == catalogue_sha256()


def test_a_subject_without_a_release_is_called_by_its_name_alone() -> None:

    assert SubjectInfo(name="mine", version=None, language=None, capabilities=(), spec=["./mine"]).title == "mine"


def test_the_dialects_of_a_run_are_those_of_its_cases() -> None:
    both = summary_of(a_result(), a_result(case=a_case("join/consumer/example")))

    assert both.dialect == "classic, consumer"
    assert both.to_json()["suite"]["dialect"] == both.dialect
    assert summary_of().dialect == "classic", "the first that the profile speaks"
