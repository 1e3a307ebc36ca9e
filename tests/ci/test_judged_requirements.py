from __future__ import annotations

from dataclasses import replace

from judged_requirements import judged_in, unjudged
from tests.harness.running.virtual import played

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding

STEADY = next(case for case in CASES if case.id == "heartbeat/classic/steady")
SPOKEN = Claim(requirement="HB-03", expected="A sentence.")


def speaks(ev: Evidence) -> list[Finding]:
    assert ev.sent
    return [SPOKEN.ok("Another sentence.")]


def never_gets_there(ev: Evidence) -> list[Finding]:
    raise NotReached("it came to nothing")


def test_a_case_judges_what_its_judges_speak_of_and_not_what_it_lists() -> None:
    trace = played(STEADY).trace
    case = replace(STEADY, judges=(speaks, never_gets_there), requirements=("HB-03", "LEAVE-07"))

    assert "HB-03" in judged_in(case, trace)
    assert "HB-03" not in judged_in(replace(case, judges=(never_gets_there,)), trace)
    assert unjudged(case, judged_in(case, trace)) == ["LEAVE-07"]


def test_what_is_judged_of_every_case_counts_where_the_trace_has_any_of_it() -> None:
    trace = played(STEADY).trace
    case = replace(STEADY, judges=(never_gets_there,), requirements=("CLIENT-11", "CLIENT-66"))

    assert unjudged(case, judged_in(case, trace)) == ["CLIENT-66"], "no commit was made"
    assert unjudged(case, judged_in(case)) == ["CLIENT-11", "CLIENT-66"], "nothing was played"
