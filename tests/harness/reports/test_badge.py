from __future__ import annotations

import subprocess
import sys

import pytest
from tests.harness.reports.making import a_case, a_result, known_failure, summary_of

from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.reports.badge import badge

CASE = a_case()


def test_a_badge_is_what_shields_reads() -> None:
    assert badge(summary_of(a_result())) == {
        "schemaVersion": 1,
        "label": "groupproof kafka-4.1",
        "message": "passed",
        "color": "brightgreen",
        "isError": False,
    }


@pytest.mark.parametrize(
    ("verdict", "message", "colour"),
    [
        (Verdict.FAILED, "failed, 1 failed", "red"),
        (Verdict.UNIMPLEMENTED, "no verdict", "lightgrey"),
        (Verdict.INCONCLUSIVE, "no verdict", "lightgrey"),
    ],
)
def test_a_badge_is_green_only_for_a_pass(verdict: Verdict, message: str, colour: str) -> None:
    made = badge(summary_of(a_result(verdict)))

    assert (made["message"], made["color"]) == (message, colour)


def test_a_partial_run_is_yellow_and_says_how_much_was_judged() -> None:
    made = badge(summary_of(a_result(), selected=[CASE, a_case("join/classic/other")]))

    assert (made["message"], made["color"]) == ("partial 1/2", "yellow")


def test_excuses_are_reported_and_doubts_prevent_green() -> None:
    excused = badge(summary_of(a_result(Verdict.FAILED), excused={CASE.id: known_failure(CASE.id)}))
    stale = badge(summary_of(a_result(), stale=["known.toml, entry 1: passes"]))
    interrupted = badge(summary_of(a_result(), interrupted=True))

    assert (excused["message"], excused["color"]) == ("passed, 1 excused", "brightgreen")
    assert (stale["message"], stale["color"]) == ("passed, stale expectations", "orange")
    assert (interrupted["message"], interrupted["color"]) == ("passed, interrupted", "orange")


def test_a_badge_is_made_without_what_runs_cases() -> None:
    program = "import sys, groupproof.harness.reports.badge; print(*sys.modules)"

    modules = set(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split())

    assert not modules & {"trio", "kio", "groupproof.coordinator.broker.reference_cluster", "groupproof.harness.running.case_runner"}
