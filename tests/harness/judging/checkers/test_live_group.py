from __future__ import annotations

import pickle
from dataclasses import replace

import msgspec
import pytest
from tests.epoch_traces import EpochStory
from tests.harness.judging.checkers.fleets import PLANTED_EPOCHS
from tests.harness.judging.checkers.stories import PLANTED, Group, busy_group, keeping
from tests.traces import ID, Story

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.checkers.live_group import EXAMPLES_MAX, GroupChecker, GroupResult
from groupproof.harness.judging.observed.group_results import results_of
from groupproof.harness.judging.observed.observed_group import judge_live
from groupproof.harness.model.verdicts import Finding, Goodbye
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Api


def told_of(trace: Trace) -> GroupResult:
    fold = GroupChecker("r", "", "g")
    for obs in trace:
        fold.feed(obs)
        fold = pickle.loads(pickle.dumps(fold))
    return fold.result()


def kinds(findings: list[Finding]) -> set[tuple[str, str, str]]:
    return {(finding.verdict.value, finding.requirement, finding.observed) for finding in findings}


def adverse_in(result: CaseResult) -> list[Finding]:
    return [finding for finding in result.ruling.findings if finding.verdict.value != "OK"]


def test_the_folded_group_shows_what_the_whole_trace_shows() -> None:
    # Of what an application is told, only members that say of which group they speak are heard in a fleet.
    trace = [obs for obs in busy_group() if obs.group is not None or obs.kind == "response"]
    (whole,) = judge_live(trace)

    group = told_of(trace)

    mine = results_of(group)[0]
    assert kinds(adverse_in(mine)) == kinds(adverse_in(whole))
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


# Commits of KIP-848 members on any connection --------------------------------------------------------------------------------------


def commits_elsewhere(client: str = "m0", *, classic: bool = False, member: str = ID, connection: int = 2, leaves_first: bool = False) -> EpochStory:
    """Tell of a KIP-848 member that commits on a connection without a heartbeat: a reconnected one, or one of its own (KIP-848: the commit names the
    member epoch). With `classic`, a classic member is in the group too.
    """
    story = EpochStory()
    story.hb(0, gets=1, gives=[("t", 0)])
    story.hb(1, owns=[("t", 0)])
    if classic:
        asked = story.request(Api.JOIN_GROUP, "c1", connection=9, body={"session_timeout_ms": 30_000, "rebalance_timeout_ms": 30_000})
        granted = {"member_id": "C-1", "generation_id": 2, "leader": "", "protocol_name": "range"}
        story.answer(asked, member="C-1", generation=2, body=granted)
    story.at(5_000)
    if leaves_first:
        story.hb(-1, gets=-1)
        story.at(10_000)
    story.exchange(Api.OFFSET_COMMIT, client, member=member, generation=1, connection=connection, offsets=(("t", 0, 5),))
    if not leaves_first:
        story.at(6_000)
        story.hb(-1, gets=-1)
    return story


def adverse(story: Story) -> tuple[list[str], list[str]]:
    """Return the requirements that members broke, by both ways of judging."""
    (whole,) = judge_live(story.trace)
    counts = told_of(story.trace).members
    by_whole = {finding.requirement for finding in whole.ruling.findings if finding.verdict.value != "OK"}
    return sorted(by_whole), sorted({example.requirement for count in counts for example in count.examples})


@pytest.mark.parametrize("classic", [False, True])
def test_a_member_of_kip_848_commits_on_a_connection_without_a_heartbeat(classic: bool) -> None:
    assert adverse(commits_elsewhere(classic=classic)) == ([], [])


@pytest.mark.parametrize("classic", [False, True])
def test_both_ways_find_its_commit_after_its_leave_on_such_a_connection(classic: bool) -> None:
    assert adverse(commits_elsewhere(classic=classic, leaves_first=True)) == (["CGP-15"], ["CGP-15"])


def test_both_ways_find_a_commit_with_an_id_that_a_classic_member_never_got() -> None:
    by_whole, by_parts = adverse(commits_elsewhere("c1", classic=True, member="made-up", connection=9))

    assert by_whole == by_parts
    assert "CLIENT-66" in by_whole


@pytest.mark.parametrize("client", [None, ""])
def test_a_member_without_a_client_id_is_judged(client: str | None) -> None:
    story = Story().member()
    story.beat(member="made-up")
    story.at(5_000).leave()
    trace = [replace(obs, client=client) for obs in story.trace]
    (whole,) = judge_live(trace)
    group = told_of(trace)

    assert [finding.requirement for finding in whole.ruling.findings if finding.verdict.value == "FAILED"] == ["CLIENT-11"]
    assert [example.requirement for count in group.members for example in count.examples] == ["CLIENT-11"]
    assert (group.clients, group.goodbye) == (("(no client id)",), Goodbye.CLEAN)
