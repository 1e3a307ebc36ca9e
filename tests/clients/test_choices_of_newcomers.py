"""Choices of a policy about who comes in, leads among others' subscriptions, and commits: each beside the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.clients.member.member_core import Core
from groupproof.clients.member.offset_requests import OffsetRequests
from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import CommitResult
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.messages import JoinMember
from groupproof.protocol.wire.subscription import Subscription, decode_subscription, encode_subscription

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

FIND, JOIN, SYNC = Api.FIND_COORDINATOR, Api.JOIN_GROUP, Api.SYNC_GROUP
BOTH = ("cooperative-sticky", "range")


def subscription(b: Bench) -> Subscription:
    return decode_subscription(b.message(JOIN).protocols[0].metadata)


def test_a_subscription_carries_user_data_and_what_a_later_version_adds(bench: type[Bench]) -> None:
    b = bench(Policy(subscription_user_data=b"mine", subscription_tail=b"later"))
    b.joining()

    assert subscription(b).user_data == b"mine"
    assert b.message(JOIN).protocols[0].metadata.endswith(b"later")


@pytest.mark.parametrize(
    ("policy", "member"),
    [
        (Policy(subscriptions_unread="newer", subscription_version=0), Subscription(topics=("t",), version=1)),
        (Policy(subscriptions_unread="later"), Subscription(topics=("t",), version=4)),
        (Policy(subscriptions_unread="user-data"), Subscription(topics=("t",), user_data=b"theirs")),
    ],
)
def test_a_leader_that_cannot_read_a_subscription_joins_again_and_never_syncs(bench: type[Bench], policy: Policy, member: Subscription) -> None:
    listed = (JoinMember(member_id="m-2", metadata=encode_subscription(member)),)
    reads, cannot = bench(), bench(policy)
    for b in (reads, cannot):
        b.syncing(leader="m-1", members=listed)
        b.advance(1_000, polling=True)

    assert (reads.count(SYNC), cannot.count(SYNC)) == (1, 0)
    assert cannot.count(JOIN) > reads.count(JOIN)


@pytest.mark.parametrize(("policy", "topics"), [(Policy(), ("u",)), (Policy(rejoins_with="first"), ("t",))])
def test_a_member_joins_again_with_its_newest_subscription_or_with_its_first(bench: type[Bench], policy: Policy, topics: tuple[str, ...]) -> None:
    b = bench(policy)
    b.stable(0, 1)
    b.do(b.member.resubscribe(("u",), b.now))
    b.poll()
    while b.callbacks:
        b.called()
    b.poll()

    assert subscription(b).topics == topics


@pytest.mark.parametrize(("policy", "member_id"), [(Policy(), "m-1"), (Policy(keeps_outdated_id=False), "")])
def test_an_id_that_comes_when_the_subscription_has_changed_is_kept_or_dropped(bench: type[Bench], policy: Policy, member_id: str) -> None:
    b = bench(policy)
    b.poll()
    b.answer(FIND)
    b.poll()
    b.do(b.member.resubscribe(("u",), b.now))
    b.answer(JOIN, 79, member_id="m-1")
    b.poll()

    assert b.message(JOIN).member_id == member_id


@pytest.mark.parametrize(("policy", "looks"), [(Policy(), True), (Policy(looks_up_outside_groups=False), False)])
def test_a_commit_outside_the_group_has_the_coordinator_looked_up_or_waits_for_ever(bench: type[Bench], policy: Policy, looks: bool) -> None:
    b = bench(policy)
    b.do(b.member.unsubscribe(b.now))
    if b.waits(FIND):
        b.answer(FIND, 15)
    before = b.count(FIND)
    b.do(b.member.commit(1, {("t", 0): 5}, b.now, is_sync=True))
    b.advance(2_000)

    assert (b.count(FIND) > before) is looks


@pytest.mark.parametrize(("policy", "ended"), [(Policy(), 1), (Policy(commits_outlive_membership=True), 0)])
def test_a_commit_while_joining_fails_or_waits_for_the_next_membership(bench: type[Bench], policy: Policy, ended: int) -> None:
    b = bench(policy)
    b.joining()
    b.do(b.member.commit(1, {("t", 0): 5}, b.now, is_sync=True))

    assert len(b.of(CommitResult)) == ended


@pytest.mark.parametrize(("policy", "offsets"), [(Policy(), [5, 5]), (Policy(commit_wavers=True), [4, 5])])
def test_positions_are_committed_as_they_are_or_one_less_each_other_time(bench: type[Bench], policy: Policy, offsets: list[int]) -> None:
    core = Core(bench().member.settings, policy, lambda: 0.5)
    core.owned, core.positions = frozenset({("t", 0)}), {("t", 0): 5}
    requests = OffsetRequests(core)

    assert [requests.own_positions()["t", 0] for _ in offsets] == offsets


@pytest.mark.parametrize(
    ("policy", "revokes"),
    [
        (Policy(), True),
        (Policy(cooperative_where="any-listed"), False),
        (Policy(cooperative_where="agreed"), False),
        (Policy(cooperative_where="muddled"), True),
    ],
)
def test_a_member_with_both_kinds_of_assignors_is_eager_unless_its_policy_says_otherwise(bench: type[Bench], policy: Policy, revokes: bool) -> None:
    b = bench(policy, assignors=BOTH)
    b.stable(0, 1)
    b.answer_heartbeat(27)
    b.poll()

    assert bool(b.callbacks) is revokes
