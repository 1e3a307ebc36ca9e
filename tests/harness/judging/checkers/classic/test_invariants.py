from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pytest
from tests.harness.judging.checkers.stories import PLANTED, ROOMY, Group, keeping
from tests.harness.running.virtual import played
from tests.traces import Story

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.checkers.checker import findings_of
from groupproof.harness.judging.checkers.classic.invariants import GroupInvariants
from groupproof.harness.judging.checkers.fleet import Fleet
from groupproof.harness.model.case import Case
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api


def broken(story: Story) -> list[str]:
    return [finding.requirement for finding in findings_of(GroupInvariants(), story.trace)]


def test_a_group_that_keeps_the_invariants_breaks_none() -> None:
    assert broken(keeping()) == []


@pytest.mark.parametrize(("law", "story"), PLANTED.items(), ids=PLANTED)
def test_each_planted_violation_is_found_and_no_other(law: str, story: Callable[[], Story]) -> None:
    assert broken(story()) == [law.partition(" ")[0]]


def test_the_finding_says_where_it_is_seen() -> None:
    story = PLANTED["COMMIT-06"]()

    (found,) = findings_of(GroupInvariants(), story.trace)

    assert story.trace[found.seq or 0].api == "OffsetCommit"
    assert found.detail == "2, where the group was in 3"


def test_a_group_that_is_created_again_may_begin_at_one_again() -> None:
    story = keeping()
    story.rebalance(1, 20_000)

    assert broken(story) == []


def test_where_the_coordinator_may_have_moved_generations_are_not_compared() -> None:
    story = keeping()
    story.rebalance(3, 8_000)
    story.at(9_000).beat("m0", member="m0-1", generation=3, error=16)
    story.at(9_100).enter("m1", "m1-1", 2, connection=2)

    assert broken(story) == []


@pytest.mark.parametrize(("by", "invariants"), [("upstream", []), ("client", ["JOIN-13"]), ("fault", ["JOIN-13"])])
def test_a_broker_that_ended_connections_may_have_lost_a_generation_that_was_not_stored(by: str, invariants: list[str]) -> None:
    story = keeping().at(8_000)
    story.enter("m0", "m0-1", 3, connection=1)
    story.see("event", who="link", connection=1, body={"name": "closed", "by": by})
    story.at(9_000).enter("m1", "m1-1", 3, connection=2, leader="m1-1")

    assert broken(story) == invariants


def test_where_transitions_are_reported_a_broken_connection_excuses_nothing() -> None:
    story = keeping().at(8_000)
    story.moves(None, "Empty", 2)
    story.enter("m0", "m0-1", 3, connection=1)
    story.see("event", who="link", connection=1, body={"name": "closed", "by": "upstream"})
    story.at(9_000).enter("m1", "m1-1", 3, connection=2, leader="m1-1")

    assert broken(story) == ["JOIN-13"]


def test_by_the_coordinators_own_transitions_a_commit_is_stale_from_the_new_generation_on() -> None:
    story = keeping()
    for before, after, generation in (
        (None, "Empty", 0), ("Empty", "PreparingRebalance", 2), ("PreparingRebalance", "CompletingRebalance", 3), ("CompletingRebalance", "Stable", 3),
    ):  # fmt: skip
        story.moves(before, after, generation)
    story.commit(("t", 1, 7), client="m1", member="m1-1", generation=2)

    assert broken(story) == ["COMMIT-06"]


def test_a_commit_that_came_in_time_may_be_answered_late() -> None:
    story = keeping()
    asked = story.request(Api.OFFSET_COMMIT, "m1", member="m1-1", generation=2, connection=2, offsets=(("t", 1, 3),))
    story.enter("m0", "m0-1", 3, connection=1)
    story.answer(asked)

    assert broken(story) == []


def test_a_commit_of_nothing_is_answered_without_error_whatever_its_generation() -> None:
    story = keeping()
    story.rebalance(3, 8_000)
    story.commit(client="m1", member="m1-1", generation=2)
    assert broken(story) == []

    story.commit(("t", 1, 7), client="m1", member="m1-1", generation=2)
    assert broken(story) == ["COMMIT-06"]


def test_a_static_member_that_comes_back_by_a_new_id_is_still_the_leader() -> None:
    story = Story()
    story.join("m0", gets="m0-1", instance="i0")
    story.join("m0", gets="m0-2", instance="i0", leader="m0-2", connection=3)

    assert broken(story) == []


LOST: Final[Mapping[str, Callable[[Story], object]]] = {
    "is not answered": lambda story: returns(story),
    "lost its connection": lambda story: (returns(story), story.see("event", who="link", connection=3, body={"name": "closed", "by": "client"})),
    "was answered with an error": lambda story: story.answer(returns(story), error=-1),
    "came twice": lambda story: came_twice(story),
}


def static_id(instance: str, number: int) -> str:
    return f"{instance}-00000000-0000-0000-0000-{number:012}"


def returns(story: Story) -> Observation:
    return story.request(Api.JOIN_GROUP, "m0", instance="i0", connection=3)


def came_twice(story: Story) -> None:
    first = story.join("m0", gets=static_id("i0", 2), instance="i0", leader=static_id("i0", 1))
    story.see("processed", api="JoinGroup", group="g", instance="i0", member="", connection=first.connection, correlation=first.correlation)


def led_anew(leader: str, happens: Callable[[Story], object] | None) -> Story:
    """Tell of a static leader, what happens to it, and then of a JoinGroup whose answer names `leader`."""
    story = Story()
    story.join("m0", gets=static_id("i0", 1), instance="i0")
    if happens is not None:
        happens(story)
    story.join("m1", gets=static_id("i1", 1), instance="i1", leader=leader)
    return story


@pytest.mark.parametrize("change", LOST)
def test_a_static_leader_may_have_come_back_with_an_id_that_no_answer_has(change: str) -> None:
    assert broken(led_anew(static_id("i0", 9), LOST[change])) == []
    assert broken(led_anew(static_id("i1", 9), LOST[change])) == ["JOIN-13"]


def test_a_static_leader_that_did_not_come_back_has_the_id_of_its_answer() -> None:
    assert broken(led_anew(static_id("i0", 9), None)) == ["JOIN-13"]


def test_a_leader_whose_joining_was_not_seen_is_known_by_its_other_requests() -> None:
    story = Story()
    story.join("m1", gets="m1-1", leader=static_id("i0", 1))
    story.beat("m0", member=static_id("i0", 1), instance="i0")
    story.join("m0", gets=static_id("i0", 2), instance="i0")

    assert broken(story) == []


@pytest.mark.parametrize("case", CASES[:: len(CASES) // 8], ids=lambda case: case.id)
def test_no_case_reports_a_broken_invariant_of_the_reference_coordinator(case: Case) -> None:
    fleet = Fleet()
    for obs in played(case).trace:
        fleet.feed(obs)

    assert [count.examples for group in fleet.results() for count in group.invariants] == []


def made_again(*, generation: int, before: int = 1, named: str = "") -> Group:
    """Tell of a group that went, and of another under its name, whose first answer that is seen is of `generation`."""
    story = Group()
    for number in range(1, before + 1):
        story.rebalance(number, number * 1_000)
    for client, member in (("m0", "m0-1"), ("m1", "m1-1")):
        story.leave(client, member=member)
    asked = story.at(9_000).request(Api.JOIN_GROUP, "m2", member=named, connection=3, body=dict(ROOMY))
    story.answer(asked, member="m2-1", generation=generation, body={"member_id": "m2-1", "generation_id": generation, "leader": "x-1"})
    story.assigned("m2", "m2-1", generation, ("t", 0), ("t", 1), connection=3)
    story.exchange(Api.OFFSET_COMMIT, "m2", member="m2-1", generation=generation, offsets=(("t", 1, 5),), connection=3)
    return story


@pytest.mark.parametrize("named", ["", "m2-1"], ids=["without an id", "with the id that it was handed"])
@pytest.mark.parametrize(("before", "generation"), [(1, 1), (3, 1), (3, 2), (3, 3)])
def test_a_newcomer_in_no_newer_generation_is_in_a_group_that_was_created_again(before: int, generation: int, named: str) -> None:
    assert broken(made_again(before=before, generation=generation, named=named)) == []


@pytest.mark.parametrize(("member", "invariants"), [("m1-1", ["INV-04"]), ("m1-2", [])])
def test_a_member_that_was_in_a_newer_generation_is_in_the_same_group(member: str, invariants: list[str]) -> None:
    story = keeping()
    story.rebalance(3, 8_000)
    story.at(9_000).enter("m1", member, 2, connection=2)

    assert broken(story) == invariants


@pytest.mark.parametrize(("how", "invariants"), [("went on", ["JOIN-13"]), ("was silent", []), ("was deleted", [])])
def test_static_members_come_to_another_group_after_a_silence_or_when_it_was_deleted(how: str, invariants: list[str]) -> None:
    story = Story()
    story.join("m0", gets=static_id("i0", 1), instance="i0")
    if how == "was deleted":
        story.exchange(Api.DELETE_GROUPS, "admin", connection=7)
    story.at(60_000 if how == "was silent" else 2_000)
    story.join("m1", gets=static_id("i1", 1), instance="i1")

    assert broken(story) == invariants


def classic_members(leader: str) -> Group:
    """Tell of classic members in a consumer group (CGG-26): each has the epoch that it came to, and a protocol of its own."""
    story = Group()
    for generation in (1, 5):
        story.enter("m0", "m0-1", generation, connection=1, leader=leader)
        story.enter("m1", "m1-1", generation, connection=2, leader=leader)
    story.enter("m1", "m1-1", 7, connection=2, leader=leader, protocol="cooperative-sticky")
    story.commit(("t", 1, 3), client="m0", member="m0-1", generation=5)
    story.enter("m0", "m0-1", 6, connection=1, leader=leader)
    story.enter("m0", "m0-1", 7, connection=1, leader=leader)
    return story


def test_classic_members_of_a_consumer_group_have_generations_of_their_own() -> None:
    assert broken(classic_members("")) == []
    assert broken(classic_members("m0-1")) == ["COMMIT-06", "INV-04", "JOIN-13"]
