from __future__ import annotations

import pytest
from tests.traces import Story

from groupproof.harness.judging.checkers.tracking.ownership_tracker import Holding, OwnershipTracker, partitions_reported
from groupproof.protocol.trace import Observation


def followed(story: Story) -> tuple[OwnershipTracker, list[Holding]]:
    hands = OwnershipTracker()
    return hands, [holding for obs in story.trace for holding in hands.follow(obs)[0]]


def test_an_eager_assignment_takes_the_place_of_the_one_before() -> None:
    story = Story().member()
    story.partitions("assigned", ("t", 0), ("t", 1))
    story.partitions("assigned", ("t", 1), ("t", 2))

    hands, begun = followed(story)

    assert sorted(hands.now["m0"]) == [("t", 1), ("t", 2)]
    assert len(begun) == 3


def test_a_cooperative_assignment_adds() -> None:
    story = Story()
    story.join(protocol="cooperative-sticky")
    story.partitions("assigned", ("t", 0))
    story.partitions("assigned", ("t", 1))
    story.partitions("revoked", ("t", 0))

    hands, _ = followed(story)

    assert sorted(hands.now["m0"]) == [("t", 1)]
    assert hands.owners[("t", 0)] == {}


@pytest.mark.parametrize(("capabilities", "answered", "kept"), [
    (["classic"], [0, 1], [0, 1]), (["classic"], [1], [1]), (["classic", "on-revoked"], [0, 1], [1]), ([], [0, 1], [1]),
])  # fmt: skip
def test_an_eager_client_without_callbacks_keeps_what_its_answer_names_though_only_what_is_new_is_reported(
    capabilities: list[str], answered: list[int], kept: list[int]
) -> None:
    story = Story()
    story.kit("hello", "m0", capabilities=capabilities)
    story.member(gets=[("t", 0)])
    story.partitions("assigned", ("t", 0))
    story.sync(gets=[("t", number) for number in answered])
    story.partitions("assigned", ("t", 1))

    hands, _ = followed(story)

    assert sorted(number for _, number in hands.now["m0"]) == kept


def test_a_partition_is_handed_over_until_the_application_comes_back_from_the_callback() -> None:
    story = Story().member()
    story.partitions("assigned", ("t", 0))
    story.at(1_000).partitions("lost", ("t", 0))
    story.at(2_000).tell("callback_done")
    _, (holding,) = followed(story)

    at = {ms: Observation(seq=99, at_ns=ms * 1_000_000, kind="request") for ms in (1_400, 1_600, 2_400, 2_600)}
    assert [holding.covers(ms) for ms in (1_400, 1_600)] == [True, False]
    assert [holding.is_handed_over_at(at[ms]) for ms in (2_400, 2_600)] == [True, False]


def test_a_member_that_is_killed_holds_nothing() -> None:
    story = Story().member()
    story.partitions("assigned", ("t", 0))
    story.kit("kill", client="m0")

    hands, _ = followed(story)

    assert hands.now["m0"] == {}
    assert [holding.partition for holding in hands.of("m0", ("t", 0))] == [("t", 0)]


@pytest.mark.requirement("CLIENT-48")
@pytest.mark.parametrize("name", ["left", "died", "failed", "started"])
def test_a_load_says_of_its_members_that_they_hold_nothing_any_more(name: str) -> None:
    story = Story().member()
    story.partitions("assigned", ("t", 0))
    story.see("event", who="member", client="m0", body={"name": name})

    hands, _ = followed(story)

    assert hands.now["m0"] == {}


def test_members_tell_partitions_in_their_column_and_shims_in_the_body() -> None:
    story = Story()
    by_column = story.see("event", who="member", client="m0", partitions=(("t", 3),), body={"name": "partitions_assigned"})
    by_body = story.partitions("assigned", ("t", 4))

    assert [partitions_reported(by_column), partitions_reported(by_body)] == [{("t", 3)}, {("t", 4)}]
    hands, _ = followed(story)
    assert sorted(hands.now["m0"]) == [("t", 4)]
