from __future__ import annotations

from dataclasses import replace

from judged_requirements import judged_in, requirements_judged, unjudged
from tests.epoch_traces import EpochStory
from tests.harness.judging.checkers.classic.test_universal import long_story
from tests.harness.running.virtual import played

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.consumer.consumer_checkers import CONSUMER_CHECKERS
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


def test_a_trace_is_judged_only_by_what_stands_in_it() -> None:
    trace = long_story(2).trace
    without_commits = [obs for obs in trace if obs.api != "OffsetCommit" and obs.body.get("name") != "offsets_committed"]

    assert requirements_judged(trace) - requirements_judged(without_commits) == {"CLIENT-62", "CLIENT-66", "CLIENT-69", "COMMIT-27"}
    assert "STATIC-10" not in requirements_judged(trace), "no member is static"
    assert "LEAVE-55" not in requirements_judged(trace), "nobody leaves"
    assert requirements_judged([]) == frozenset()


def test_what_is_held_of_members_with_epochs_is_judged_only_where_somebody_has_one() -> None:
    with_epochs = EpochStory().settled().trace
    commits = [obs for obs in long_story(2).trace if obs.api == "OffsetCommit"]

    assert {"CGC-01", "CGC-07", "CGI-17", "CGI-18", "CGI-19"} <= requirements_judged(with_epochs)
    assert "CGP-04" not in requirements_judged(with_epochs), "nobody commits"
    assert "CGP-04" in requirements_judged([*with_epochs, *commits])
    assert requirements_judged(commits).isdisjoint(CONSUMER_CHECKERS.member_requirements)
