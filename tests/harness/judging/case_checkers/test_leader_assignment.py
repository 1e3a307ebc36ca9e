from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.case_checkers.leader_assignment import (
    assigns_at_once,
    assigns_everyone,
    assigns_everything,
    assigns_exactly,
    follower_assigns_nothing,
    holds_only,
    holds_partitions,
    takes_what_it_was_given,
)
from groupproof.harness.judging.checkers.classic.generation_assignment import FollowersAssignNothing, LeadersAssignSoundly
from groupproof.harness.model.case import Judge
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Proof, Verdict

OTHER = "m1-1"
T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)


def led(assigns: Mapping[str, Sequence[tuple[str, int]]], *, protocol: str = "range", **answer: object) -> Story:
    """A generation of two that m0 leads: both want t, the other u as well."""
    story = Story()
    story.join(members={ID: ["t"], OTHER: ["t", "u"]}, protocol=protocol, **answer)  # type: ignore[arg-type] # fields of the answer's body
    story.join("m1", gets=OTHER, leader=ID)
    story.sync(assigns=assigns)
    return story


GOOD = {ID: [T0], OTHER: [T1, U0]}


def test_a_sound_assignment_is_not_blamed() -> None:
    assert findings(LeadersAssignSoundly, led(GOOD)) == []


@pytest.mark.parametrize(
    ("assigns", "observed"),
    [
        ({ID: [T0, T1], OTHER: [T1, U0]}, "The leader assigned a partition twice."),
        ({ID: [T0], OTHER: [T1], "m9-1": [U0]}, "The leader assigned partitions to a member that is not in the group."),
        ({ID: [T0, U0], OTHER: [T1]}, "The leader assigned partitions of a topic that the member does not subscribe to."),
    ],
)
def test_a_partition_with_two_owners_or_a_wrong_one_fails(assigns: Mapping[str, Sequence[tuple[str, int]]], observed: str) -> None:
    found = findings(LeadersAssignSoundly, led(assigns))

    assert [(finding.verdict, finding.observed) for finding in found] == [(Verdict.FAILED, observed)]


def test_a_member_left_out_of_the_sync_is_not_strict() -> None:
    assert verdict(LeadersAssignSoundly, led({OTHER: [T0, T1, U0]})) is Verdict.NON_STRICT


def test_a_static_leader_with_skip_assignment_is_not_judged_as_a_leader() -> None:
    assert findings(LeadersAssignSoundly, led({}, skip_assignment=True)) == []


@pytest.mark.parametrize(("assigns", "expected"), [({}, Verdict.OK), ({OTHER: [T1]}, Verdict.NON_STRICT)])
def test_a_follower_that_assigns_is_not_strict(assigns: Mapping[str, Sequence[tuple[str, int]]], expected: Verdict) -> None:
    story = led(GOOD)
    story.sync("m1", member=OTHER, assigns=assigns)

    assert verdict(FollowersAssignNothing, story) is expected
    assert verdict(follower_assigns_nothing("m1"), story) is expected


@pytest.mark.parametrize(
    ("assigns", "protocol", "expected"),
    [
        (GOOD, "range", Verdict.OK),
        ({ID: [T0], OTHER: [U0]}, "range", Verdict.FAILED),
        # A cooperative leader holds back what must be revoked first.
        ({ID: [T0], OTHER: [U0]}, "cooperative-sticky", Verdict.OK),
    ],
)
def test_every_partition_of_a_wanted_topic_has_an_owner(assigns: Mapping[str, Sequence[tuple[str, int]]], protocol: str, expected: Verdict) -> None:
    assert verdict(assigns_everything("m0", {"t": 2, "u": 1, "unwanted": 5}), led(assigns, protocol=protocol)) is expected


@pytest.mark.parametrize(("first", "expected"), [(GOOD, Verdict.OK), ({ID: [T0], OTHER: [T1]}, Verdict.NON_STRICT)])
def test_a_leader_that_needs_another_generation_for_a_new_topic_is_not_strict(
    first: Mapping[str, Sequence[tuple[str, int]]], expected: Verdict
) -> None:
    topics = {"t": 2, "u": 1}
    story = Story().mark("newcomer")
    for generation, assigns in ((1, first), (2, GOOD)):
        story.join(generation=generation, members={ID: ["t"], OTHER: ["t", "u"]})
        story.sync(generation=generation, assigns=assigns)

    assert verdict(assigns_everything("m0", topics, after="newcomer"), story) is Verdict.OK
    assert verdict(assigns_at_once("m0", topics, after="newcomer"), story) is expected


@pytest.mark.parametrize(("assigns", "expected"), [(GOOD, Verdict.OK), ({OTHER: [T0, T1, U0]}, Verdict.NON_STRICT)])
def test_every_member_has_its_entry(assigns: Mapping[str, Sequence[tuple[str, int]]], expected: Verdict) -> None:
    assert verdict(assigns_everyone("m0", 2), led(assigns)) is expected


def test_nothing_is_said_of_a_group_that_never_was_complete() -> None:
    with pytest.raises(NotReached):
        verdict(assigns_everyone("m0", 3), led(GOOD))


@pytest.mark.parametrize(("expected_of", "expected"), [(GOOD, Verdict.OK), ({ID: [T1], OTHER: [T0, U0]}, Verdict.NON_STRICT)])
def test_another_assignment_than_the_assignors_is_not_strict(expected_of: Mapping[str, Sequence[tuple[str, int]]], expected: Verdict) -> None:
    by_client = {"m0": tuple(expected_of[ID]), "m1": tuple(expected_of[OTHER])}

    assert verdict(assigns_exactly("m0", by_client, requirement="ASSIGN-07"), led(GOOD)) is expected


def test_an_assignment_by_another_assignor_is_not_compared() -> None:
    other = {"m0": (T1,), "m1": (T0, U0)}

    assert findings(assigns_exactly("m0", other, requirement="ASSIGN-07"), led(GOOD, protocol="faust")) == []


def test_nothing_is_said_of_who_never_led() -> None:
    with pytest.raises(NotReached, match="never led"):
        verdict(assigns_everything("m1", {"t": 2}), led(GOOD))


@pytest.mark.parametrize(("count", "expected"), [(1, Verdict.OK), (2, Verdict.FAILED)])
def test_the_newest_assignment_is_counted(count: int, expected: Verdict) -> None:
    story = Story().member(gets=[T0, T1])
    story.join(member=ID, generation=2)
    story.sync(generation=2, gets=[T0])
    story.end()

    (found,) = findings(holds_partitions("m0", count, requirement="ASSIGN-11"), story)

    assert found.verdict is expected
    assert (found.proof is Proof.LIVENESS) is (expected is Verdict.FAILED)  # what the run's end has is no proof where another assignment may be late


@pytest.mark.parametrize(("whom", "message"), [("The client", "It"), ("The other member", "The other member")])
def test_the_members_of_an_assignment_are_reported(whom: str, message: str) -> None:
    (found,) = findings(holds_partitions("m0", 3, requirement="ASSIGN-11", whom=whom), Story().member(gets=[T0, T1]).end())

    assert (found.expected, found.observed) == (
        f"{whom} is assigned 3 partitions in the end.",
        f"{message} was assigned another number of partitions.",
    )


@pytest.mark.parametrize(("gets", "expected"), [([T0], Verdict.OK), ([T0, T1], Verdict.OK), ([], Verdict.OK), ([T0, U0], Verdict.FAILED)])
def test_a_member_that_subscribes_to_one_topic_gets_only_its_partitions(gets: Sequence[tuple[str, int]], expected: Verdict) -> None:
    assert verdict(holds_only("m0", ("t",)), Story().member(gets=gets).end()) is expected


@pytest.mark.parametrize("judge", [holds_partitions("m0", 1, requirement="ASSIGN-11"), holds_only("m0", ("t",))])
def test_an_assignment_that_never_came_is_not_counted(judge: Judge) -> None:
    with pytest.raises(NotReached):
        verdict(judge, Story().end())


@pytest.mark.parametrize(("pairs", "expected"), [([T0, T1], Verdict.OK), ([T0], Verdict.OK), ([T0, U0], Verdict.FAILED)])
def test_the_application_gets_the_assignment_and_no_other(pairs: Sequence[tuple[str, int]], expected: Verdict) -> None:
    story = Story().member(gets=[T0, T1])
    story.partitions("assigned", *pairs)

    assert verdict(takes_what_it_was_given("m0"), story.end()) is expected


def test_a_member_that_reported_nothing_to_its_application_is_not_judged_by_it() -> None:
    with pytest.raises(NotReached, match="told of no assignment"):
        verdict(takes_what_it_was_given("m0"), Story().member(gets=[T0]).end())
