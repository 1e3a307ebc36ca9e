"""Which memberships and assignments the answers gave, as far as checkers remember."""

from __future__ import annotations

from tests.traces import Story

from groupproof.harness.judging.checkers.tracking.membership import GENERATIONS_KEPT, AssignmentHistory, MemberLives, MembershipHistory, joins_of
from groupproof.protocol.vocabulary import Api


def _join(story: Story, generation: int, *, member: str = "m0-1", client: str = "m0") -> None:
    asked = story.request(Api.JOIN_GROUP, client, member=member)
    story.answer(asked, member=member, generation=generation, body={"member_id": member, "generation_id": generation, "leader": member})


def test_a_sync_follows_the_answer_of_its_member_and_generation() -> None:
    story, joined = Story(), MembershipHistory()
    for generation in (1, 2):
        _join(story, generation)
    for obs in story.trace:
        if (grant := joins_of(obs)) is not None:
            joined.follow(grant)

    origin = joined.origin(story.request(Api.SYNC_GROUP, "m0", member="m0-1", generation=1))
    assert origin is not None
    assert origin.generation == 1
    assert joined.origin(story.request(Api.SYNC_GROUP, "m0", member="m0-1", generation=3)) is None


def test_an_assignment_is_known_in_its_generation_until_it_is_forgotten() -> None:
    story, assigned = Story(), AssignmentHistory()
    for generation in range(1, GENERATIONS_KEPT + 2):
        asked = story.request(Api.SYNC_GROUP, "m0", member="m0-1", generation=generation)
        assigned.follow(story.answer(asked, generation=generation, partitions=(("t", generation),)))

    newest = story.request(Api.OFFSET_COMMIT, "m0", generation=GENERATIONS_KEPT + 1)
    oldest = story.request(Api.OFFSET_COMMIT, "m0", generation=1)
    assert assigned.at(newest, 0) == frozenset({("t", GENERATIONS_KEPT + 1)})
    assert assigned.at(oldest, 0) is None, "forgotten: nobody is judged by it"


def test_the_members_of_each_generation_are_known_until_the_group_begins_again() -> None:
    lives = MemberLives()
    lives.enters("m0", 3)
    assert [lives.was_in("m0", number) for number in (3, 2, None)] == [True, False, False]
    assert not lives.was_in("m1", 3)

    lives.begin_anew()
    assert not lives.was_in("m0", 3)


def test_clients_that_joined_by_one_instance_id_are_twins() -> None:
    story, lives = Story(), MemberLives()
    for client, instance in (("m0", "i0"), ("m1", "i0"), ("m2", "i2"), ("m3", None)):
        lives.asks(story.join(client, instance=instance), client)

    assert lives.are_twins("m0", "m1")
    assert not lives.are_twins("m0", "m2")
    assert not lives.are_twins("m3", "m3")
