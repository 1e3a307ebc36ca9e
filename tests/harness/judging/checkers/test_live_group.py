from __future__ import annotations

import pickle
from dataclasses import replace

import msgspec
import pytest
from tests.epoch_traces import EpochStory
from tests.harness.judging.checkers.fleets import PLANTED_EPOCHS
from tests.harness.judging.checkers.stories import PLANTED, Group, busy_group, keeping
from tests.traces import Story

from groupproof.harness.judging.checkers.live_group import EXAMPLES_MAX, GroupChecker, GroupResult
from groupproof.harness.judging.observed.observed_group import judge_live
from groupproof.harness.model.verdicts import Finding, Goodbye
from groupproof.protocol.trace import Trace


def told_of(trace: Trace) -> GroupResult:
    fold = GroupChecker("r", "", "g")
    for obs in trace:
        fold.feed(obs)
        fold = pickle.loads(pickle.dumps(fold))
    return fold.result()


def kinds(findings: list[Finding]) -> set[tuple[str, str, str]]:
    return {(finding.verdict.value, finding.requirement, finding.observed) for finding in findings}


def test_the_folded_group_shows_what_the_whole_trace_shows() -> None:
    # Of what an application is told, only members that say of which group they speak are heard in a fleet.
    trace = [obs for obs in busy_group() if obs.group is not None or obs.kind == "response"]
    (whole,) = judge_live(trace)

    group = told_of(trace)

    mine = [example for count in group.members for example in count.examples]
    assert kinds(mine) == kinds([finding for finding in whole.ruling.findings if finding.verdict.value != "OK"])
    assert group.goodbye is whole.ruling.goodbye


@pytest.mark.parametrize("requirements", sorted(PLANTED_EPOCHS))
def test_a_group_of_epochs_shows_what_it_breaks_and_nothing_else(requirements: str) -> None:
    group = told_of([replace(obs, group="g") for obs in PLANTED_EPOCHS[requirements]().trace])

    counts = [*group.members, *group.invariants]
    assert {example.requirement for count in counts for example in count.examples} == set(requirements.split())


def test_findings_are_counted_and_the_first_few_are_kept() -> None:
    story = keeping()
    for number in range(10):
        story.at(20_000 + 1_000 * number).beat("m0", member="stranger")

    (count,) = told_of(story.trace).members

    assert (count.count, len(count.examples)) == (10, EXAMPLES_MAX)


def test_a_row_that_goes_to_two_dialects_is_blamed_once() -> None:
    story = EpochStory()
    for number in range(30):
        story.at(10 * number).find(error=15)
    story.at(2_000).settled()

    (count,) = told_of([replace(obs, group="g") for obs in story.trace]).members

    assert (count.count, [finding.requirement for finding in count.examples]) == (1, ["CLIENT-06"])


def test_what_is_there_twice_counts_once() -> None:
    trace = keeping().trace
    twice = [obs for obs in trace for _ in range(2)]

    assert told_of(twice).duplicates == len(trace)
    assert replace(told_of(twice), duplicates=0) == told_of(trace)


def test_a_member_that_is_gone_without_a_leave_is_unclean() -> None:
    story = Story().member()
    story.see("event", who="link", connection=1, body={"name": "closed"})

    assert told_of(story.trace).goodbye is Goodbye.UNCLEAN
    assert told_of(Story().member().trace).goodbye is Goodbye.NONE


def test_what_a_group_showed_survives_json() -> None:
    for make in PLANTED.values():
        group = told_of(make().trace)

        assert msgspec.json.decode(msgspec.json.encode(group), type=GroupResult) == group


def test_a_member_that_joined_before_the_trace_is_judged_when_it_joins_again() -> None:
    story = Group()
    story.beat("m1", member="m1-1", generation=6, connection=2)
    story.commit(("t", 0, 3), client="m0", member="m0-1", generation=6)
    story.rebalance(7, 1_000)
    assert told_of(story.trace).members == ()
    assert [result.ruling.verdict.value for result in judge_live(story.trace, is_whole=False)] == ["OK"]
    assert [result.ruling.verdict.value for result in judge_live(story.trace)] == ["FAILED"]

    story.at(2_000).beat("m1", member="m1-1", generation=9, connection=2)
    (count,) = told_of(story.trace).members
    assert [example.requirement for example in count.examples] == ["CLIENT-11"]
