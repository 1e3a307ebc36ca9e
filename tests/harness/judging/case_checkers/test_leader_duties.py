from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pytest
from tests.traces import ID, Story, findings, verdict

from groupproof.harness.judging.case_checkers.leader_duties import hands_over_in_two_steps, leaves_nobody_out, or_left, syncs_as_leader
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Proof, Verdict
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.subscription import Subscription, encode_subscription

PEER = "z0-1"


def owning(*owned: int, generation: int = 1, version: int = 3) -> Subscription:
    return Subscription(topics=("t",), owned=tuple(("t", number) for number in owned), generation=generation, version=version)


def led(story: Story, members: Mapping[str, Subscription], *, generation: int = 2, protocol: str = "range") -> Story:
    """Tell how m0 was told to lead these members."""
    request = story.request(Api.JOIN_GROUP, member=ID)
    listed: Sequence[Mapping[str, object]] = [
        {"member_id": key, "metadata": encode_subscription(subscription)} for key, subscription in members.items()
    ]
    body = {"member_id": ID, "generation_id": generation, "leader": ID, "protocol_name": protocol, "members": listed}
    story.answer(request, member=ID, generation=generation, body=body)
    return story


def two(story: Story, *, generation: int = 2) -> Story:
    return led(story, {ID: owning(), PEER: owning()}, generation=generation)


def assigns(story: Story, *, generation: int = 2, **numbers: Iterable[int]) -> Story:
    names = {"mine": ID, "theirs": PEER}
    shares: dict[str, list[TopicPartition]] = {names[name]: [("t", number) for number in owned] for name, owned in numbers.items()}
    story.sync(generation=generation, assigns=shares)
    return story


def test_a_leader_that_syncs_for_its_peers_does_what_it_should() -> None:
    assert verdict(syncs_as_leader("m0", members=2), assigns(two(Story()), mine=[0], theirs=[1])) is Verdict.OK


def test_a_leader_that_joins_again_each_time_and_never_syncs_has_failed_and_only_when_it_is_so_each_time() -> None:
    story = Story()
    for generation in (2, 3, 4):
        two(story, generation=generation)

    (found,) = findings(syncs_as_leader("m0", members=2), story)

    assert (found.verdict, found.observed, found.proof) == (Verdict.FAILED, "The leader never sent its SyncGroup.", Proof.LIVENESS)


def test_a_leader_that_leaves_instead_costs_a_rebalance_and_is_not_asked_for_its_assignment() -> None:
    story = two(Story())
    story.leave()
    (found,) = findings(syncs_as_leader("m0", members=2), story.end(9_000))

    assert found.verdict is Verdict.NON_STRICT
    assert found.observed == "The leader left the group instead of syncing, which costs the group another rebalance."
    forgets_nobody = leaves_nobody_out("m0", members=2, partitions=4)
    assert findings(or_left("m0", 2, forgets_nobody), story) == []
    with pytest.raises(NotReached):
        findings(forgets_nobody, story)
    with pytest.raises(NotReached):
        findings(or_left("m0", 2, forgets_nobody), two(Story()).end(9_000))


def test_a_leader_that_falls_silent_has_failed_once_its_time_is_over_and_not_before() -> None:
    story = two(Story())
    story.at(3_000).beat()
    with pytest.raises(NotReached, match="before m0 had to send SyncGroup"):
        findings(syncs_as_leader("m0", members=2), story)

    story.at(8_000).beat()
    assert verdict(syncs_as_leader("m0", members=2), story) is Verdict.FAILED


def test_a_generation_of_fewer_members_proves_nothing_of_a_leader_of_two() -> None:
    with pytest.raises(NotReached, match="never told to lead 2"):
        findings(syncs_as_leader("m0", members=2), assigns(led(Story(), {ID: owning()}), mine=[0]))


def test_a_leader_that_has_an_entry_for_everyone_leaves_nobody_out_be_it_an_empty_one() -> None:
    assert verdict(leaves_nobody_out("m0", members=2, partitions=2), assigns(two(Story()), mine=[0, 1], theirs=[])) is Verdict.OK


def left_out(*, until_ms: float) -> Story:
    story = assigns(two(Story()), mine=[0, 1])
    story.at(until_ms).beat()
    return story


def test_a_member_left_out_until_the_end_was_left_out_for_good() -> None:
    (found,) = findings(leaves_nobody_out("m0", members=2, partitions=2), left_out(until_ms=2_000))

    assert (found.verdict, found.observed, found.proof) == (Verdict.FAILED, "The leader left a member out for good.", Proof.LIVENESS)


def test_a_member_left_out_costs_a_rebalance_where_the_next_one_mends_it_or_the_run_is_too_short_to_tell() -> None:
    mended = assigns(two(left_out(until_ms=500), generation=3), generation=3, mine=[0], theirs=[1])

    assert verdict(leaves_nobody_out("m0", members=2, partitions=2), mended) is Verdict.NON_STRICT
    assert verdict(leaves_nobody_out("m0", members=2, partitions=2), left_out(until_ms=500)) is Verdict.NON_STRICT


def test_a_member_for_which_nothing_is_left_loses_nothing_by_being_left_out() -> None:
    assert verdict(leaves_nobody_out("m0", members=2, partitions=1), left_out(until_ms=2_000)) is Verdict.NON_STRICT


def cooperative(mine: Subscription, theirs: Subscription) -> Story:
    return led(Story(), {ID: mine, PEER: theirs}, protocol="cooperative-sticky")


def test_a_cooperative_leader_that_gives_nobody_what_another_owns_lets_owners_go_first() -> None:
    story = assigns(cooperative(owning(0, 1), owning(generation=-1)), mine=[0], theirs=[])

    assert verdict(hands_over_in_two_steps("m0"), story) is Verdict.OK


def test_a_cooperative_leader_that_gives_away_what_its_owner_still_holds_makes_two_owners() -> None:
    story = assigns(cooperative(owning(0, 1), owning(generation=-1)), mine=[0], theirs=[1])

    (found,) = findings(hands_over_in_two_steps("m0"), story)

    assert (found.verdict, found.proof, found.detail) == (Verdict.FAILED, Proof.SAFETY, "[('t', 1)]")


def test_a_claim_of_an_older_generation_or_one_made_twice_binds_no_leader() -> None:
    old = assigns(cooperative(owning(1, generation=1), owning(0, generation=2)), mine=[1], theirs=[0])
    outdone = assigns(cooperative(owning(0, generation=1), owning(generation=2)), mine=[], theirs=[0])
    twice = assigns(cooperative(owning(0), owning(0)), mine=[], theirs=[0])

    assert [verdict(hands_over_in_two_steps("m0"), story) for story in (old, outdone, twice)] == [Verdict.OK] * 3


def test_a_claim_that_can_name_no_generation_binds_a_leader() -> None:
    story = assigns(cooperative(owning(0, version=1), owning(generation=2)), mine=[], theirs=[0])

    assert verdict(hands_over_in_two_steps("m0"), story) is Verdict.FAILED


def test_a_group_that_is_not_cooperative_or_has_one_member_says_nothing_of_two_steps() -> None:
    eager = assigns(led(Story(), {ID: owning(0), PEER: owning()}), mine=[], theirs=[0])
    alone = assigns(led(Story(), {ID: owning(0)}, protocol="cooperative-sticky"), mine=[0])

    for story in (eager, alone):
        with pytest.raises(NotReached, match="cooperative group of two"):
            findings(hands_over_in_two_steps("m0"), story)
