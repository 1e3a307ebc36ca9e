from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from judged import DATA
from judged_requirements import judged_in, requirements_judged, unjudged
from tests.epoch_traces import EpochStory
from tests.harness.judging.checkers.classic.test_universal import long_story
from tests.harness.running.virtual import played

from groupproof.harness.cases.client import CASES
from groupproof.harness.cases.consumer import CONSUMER_CASES
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.classic.universal import UNIVERSAL_CHECKERS
from groupproof.harness.judging.checkers.consumer.consumer_checkers import CONSUMER_CHECKERS
from groupproof.harness.model.case_dialect import dialect_of_case
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.trace import Observation

STEADY = next(case for case in CASES if case.id == "heartbeat/classic/steady")
SPOKEN = Claim(requirement="HB-03", expected="A sentence.")


HAND_OVER = next(case for case in CONSUMER_CASES if case.id == "rebalance/consumer/hand-over")


def _of_classic(trace: Iterable[Observation]) -> frozenset[str]:
    return requirements_judged(trace, UNIVERSAL_CHECKERS)


def _of_epochs(trace: Iterable[Observation]) -> frozenset[str]:
    return requirements_judged(trace, CONSUMER_CHECKERS.members)


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

    assert _of_classic(trace) - _of_classic(without_commits) == {"CLIENT-62", "CLIENT-66", "CLIENT-69", "COMMIT-27"}
    assert "STATIC-10" not in _of_classic(trace), "no member is static"
    assert "LEAVE-55" not in _of_classic(trace), "nobody leaves"
    assert _of_classic([]) == frozenset()


def test_what_is_held_of_members_with_epochs_is_judged_only_where_somebody_has_one() -> None:
    with_epochs = EpochStory().settled().trace
    commits = [obs for obs in long_story(2).trace if obs.api == "OffsetCommit"]

    assert {"CGC-01", "CGC-07", "CGI-17", "CGI-18", "CGI-19"} <= _of_epochs(with_epochs)
    assert "CGP-04" not in _of_epochs(with_epochs), "nobody commits"
    assert "CGP-04" in _of_epochs([*with_epochs, *commits])


def test_a_trace_is_judged_only_by_the_checkers_of_its_dialect() -> None:
    """A consumer case lists no requirement of a checker that never ran on its trace, though its trace has callbacks, fetches and records."""
    trace = played(HAND_OVER).trace

    assert {"CGP-13", "CGT-03", "CGC-24"} <= judged_in(HAND_OVER, trace)
    assert judged_in(HAND_OVER, trace).isdisjoint({"ASSIGN-09", "CLIENT-10", "CLIENT-30", "CLIENT-63", "CLIENT-66"})
    assert judged_in(STEADY, trace).isdisjoint({"CGP-13", "CGT-03", "CGC-24"})


def test_the_data_names_in_no_consumer_case_what_only_classic_checkers_judge() -> None:
    rows = json.loads(DATA.read_text())["client"]
    judged = {name for case, row in rows.items() if dialect_of_case(case) == CONSUMER.name for name in row["judged"]}

    assert "CGP-13" in judged
    assert judged.isdisjoint({"ASSIGN-09", "CLIENT-30", "CLIENT-63"})
