"""The ledger has a place for memberships of either kind."""

from __future__ import annotations

import pytest
from tests.traces import Story

from groupproof.harness.judging.checkers.tracking.member_ledger import MemberLedger, Membership
from groupproof.protocol.vocabulary import Api


@pytest.mark.parametrize(("membership", "is_member"), [
    (Membership(), False), (Membership("id", 0), True), (Membership("id", member_epoch=0), True), (Membership("id"), False),
])  # fmt: skip
def test_a_generation_or_an_epoch_makes_a_member(membership: Membership, is_member: bool) -> None:
    ledger = MemberLedger()
    ledger.enter("m0", membership)

    assert ledger.is_member("m0") is is_member
    ledger.end("m0")
    assert not ledger.is_member("m0")


def test_of_a_client_that_is_not_known_nothing_is_owned_and_nothing_was_assigned() -> None:
    ledger = MemberLedger()

    assert ledger.owned("m0") == frozenset()
    assert ledger.was_never_assigned("m0", ("t", 0))
    assert not ledger.is_member("m0")


@pytest.mark.requirement("INV-04")
def test_an_older_generation_says_that_the_group_was_created_again() -> None:
    ledger, story = MemberLedger(), Story()
    for client in ("m0", "m1"):
        ledger.assign(client, story.answer(story.request(Api.SYNC_GROUP, client, generation=3), partitions=(("t", 0),)))
    assert ledger.others_in(3, ("t", 0), "m0") == {"m1"}

    ledger.reach(3)
    ledger.reach(2)
    assert (ledger.epoch, ledger.generation) == (1, 2)
    assert ledger.others_in(3, ("t", 0), "m0") == set()


@pytest.mark.requirement("CGT-03")
def test_a_topic_that_an_answer_names_by_its_id_alone_may_have_any_name() -> None:
    ledger, story, topic_id = MemberLedger(), Story(), "6971e554-41f6-52eb-b5a6-7b370e856d5c"
    ledger.assign("m0", story.answer(story.request(Api.CONSUMER_GROUP_HEARTBEAT, "m0"), partitions=(("t", 0),)))
    assert ledger.was_never_assigned("m0", ("u", 0))

    ledger.assign("m0", story.answer(story.request(Api.CONSUMER_GROUP_HEARTBEAT, "m0"), partitions=((topic_id, 0),)))
    assert not ledger.was_never_assigned("m0", ("u", 0))
    assert ledger.was_never_assigned("m0", (topic_id.replace("6", "7"), 0))
