"""When a member joins, with what, and what it does first; and how planted bugs of the join show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import CallbackKind
from groupproof.clients.planted.member_variants import variant_named
from groupproof.protocol.vocabulary import Api, MemberState
from groupproof.protocol.wire.messages import JoinMember
from groupproof.protocol.wire.subscription import Assignment, Subscription, decode_subscription, encode_assignment, encode_subscription

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

JOIN, SYNC, HEARTBEAT, FIND = Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.FIND_COORDINATOR
UNJOINED, PREPARING, COMPLETING, STABLE = MemberState
SUBSCRIBED = encode_subscription(Subscription(topics=("t",)))


# When it joins


@pytest.mark.requirement("CLIENT-60", "CLIENT-65")
def test_it_joins_from_a_poll_not_from_the_heartbeat(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.answer_heartbeat(27)
    b.advance(3000)
    assert b.count(JOIN) == 2

    b.poll()
    b.called()
    b.poll()
    assert b.count(JOIN) == 3


def test_a_background_client_joins_without_a_poll(bench: type[Bench]) -> None:
    b = bench(Policy(joins_from="background"))
    b.stable(0)
    b.answer_heartbeat(27)
    b.called()

    assert b.count(JOIN) == 3


@pytest.mark.requirement("CLIENT-52")
def test_a_background_client_that_left_for_want_of_polls_waits_for_one(bench: type[Bench]) -> None:
    b = bench(Policy(joins_from="background"), max_poll_interval_ms=2000)
    b.stable(0)
    b.answer_heartbeat()
    b.advance(10_000)
    assert b.count(Api.LEAVE_GROUP) == 1
    joins = b.count(JOIN)
    b.do(b.member.tick(b.now))
    assert b.callbacks == []
    b.poll()
    b.called()

    assert b.count(JOIN) == joins + 1


@pytest.mark.requirement("CLIENT-74")
def test_a_changed_subscription_is_joined_with(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.do(b.member.resubscribe(("u",), b.now))
    b.poll()
    b.called()
    b.poll()

    assert decode_subscription(b.message(JOIN).protocols[0].metadata).topics == ("u",)


@pytest.mark.requirement("CLIENT-74")
@pytest.mark.parametrize(("leader", "joins"), [("m-1", 3), ("m-0", 2)])
def test_new_partitions_are_the_leaders_affair(bench: type[Bench], leader: str, joins: int) -> None:
    b = bench()
    b.syncing(leader=leader, members=(JoinMember(member_id="m-1", metadata=SUBSCRIBED),))
    b.assigned(0, 1)
    b.do(b.member.metadata(Cluster(partitions={"t": 3}), b.now))
    b.poll()
    if b.callbacks:
        b.called()
    b.poll()

    assert b.count(JOIN) == joins


def test_a_static_leader_that_skips_the_assignment_still_watches_the_topics(bench: type[Bench]) -> None:
    b = bench(instance_id="i0")
    b.syncing(leader="m-1", skip_assignment=True, members=(JoinMember(member_id="m-1", metadata=SUBSCRIBED),))
    assert b.message(SYNC).assignments == ()
    b.assigned(0)
    b.do(b.member.metadata(Cluster(partitions={"t": 3}), b.now))
    b.poll()

    assert b.callbacks[0].kind is CallbackKind.REVOKED


def test_an_assignment_of_topics_given_up_meanwhile_leads_to_another_join(bench: type[Bench]) -> None:
    b = bench()
    b.syncing()
    b.do(b.member.resubscribe(("u",), b.now))
    b.assigned(0)

    assert b.member.owned == frozenset()
    assert decode_subscription(b.message(JOIN).protocols[0].metadata).topics == ("u",)


@pytest.mark.requirement("CLIENT-62")
def test_partitions_are_committed_then_revoked_then_joined_once_for_each_rebalance(bench: type[Bench]) -> None:
    b = bench(auto_commit=True)
    b.stable(0, 1)
    b.positions = {("t", 0): 5, ("t", 1): 7}
    b.answer_heartbeat(27)
    b.poll()
    assert b.sent[-1][1].api is Api.OFFSET_COMMIT
    assert b.callbacks == []
    b.answer(Api.OFFSET_COMMIT)
    b.poll()
    assert b.called().kind is CallbackKind.REVOKED
    b.poll()
    assert b.sent[-1][1].api is JOIN
    assert b.member.owned == frozenset()

    b.answer(JOIN, 27)
    b.poll()
    assert b.callbacks == []
    assert b.sent[-1][1].api is JOIN


def test_the_reason_for_a_join_is_reported_and_cut(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.answer_heartbeat(27)
    b.poll()
    b.called()
    b.poll()

    assert b.message(JOIN).reason == "Heartbeat was answered REBALANCE_IN_PROGRESS"


@pytest.mark.requirement("CLIENT-20")
def test_a_late_join_answer_after_leaving_is_not_synced(bench: type[Bench]) -> None:
    b = bench()
    b.joining()
    b.do(b.member.unsubscribe(b.now))
    b.answer(Api.LEAVE_GROUP)
    b.answer(JOIN, member_id="m-1", generation_id=2, leader="m-0", protocol_name="range")

    assert b.count(SYNC) == 0
    assert b.member.member_id == ""


def test_metadata_is_refreshed_before_the_join_by_those_who_do(bench: type[Bench]) -> None:
    b = bench(Policy(refreshes_metadata_before_join=True))
    b.poll()
    b.answer(FIND)
    b.poll()
    assert b.count(JOIN) == 0

    b.do(b.member.metadata(Cluster(partitions={"t": 2}), b.now))
    assert b.count(JOIN) == 1


# Planted bugs


def test_a_generation_forgotten_by_a_late_commit_shows_in_the_sync(bench: type[Bench]) -> None:
    b = bench(variant_named("reset-during-join-by-commit").policy)
    b.stable(0)
    b.do(b.member.commit(1, {("t", 0): 1}, b.now, is_sync=False))
    b.answer_heartbeat(27)
    b.poll()
    b.called()
    b.poll()
    b.answer(Api.OFFSET_COMMIT, 22)
    b.answer(JOIN, member_id="m-1", generation_id=2, leader="m-0", protocol_name="range")

    assert b.message(SYNC).generation_id == -1


def test_a_sync_with_the_generation_before_shows(bench: type[Bench]) -> None:
    b = bench(Policy(sync_generation="previous"))
    b.syncing(generation=7)

    assert b.message(SYNC).generation_id == -1


@pytest.mark.parametrize(("policy", "joins", "failures"), [(Policy(empty_assignment="refused"), 2, 1), (Policy(empty_assignment="rejoined"), 3, 0)])
def test_a_client_that_requires_partitions_refuses_an_empty_assignment(bench: type[Bench], policy: Policy, joins: int, failures: int) -> None:
    b = bench(policy)
    b.syncing()
    b.answer(SYNC, assignment=encode_assignment(Assignment()))
    b.poll()

    assert (b.count(JOIN), [failure.error for failure in b.failures]) == (joins, ["EMPTY_ASSIGNMENT"] * failures)


@pytest.mark.parametrize(("name", "api"), [("never-syncs", SYNC), ("never-looks-up", FIND)])
def test_a_request_that_is_never_sent_is_missing(bench: type[Bench], name: str, api: Api) -> None:
    b = bench(variant_named(name).policy)
    b.poll()
    if b.waits(FIND):
        b.answer(FIND)
    b.poll()
    b.answer(JOIN, member_id="m-1", generation_id=1, leader="m-0", protocol_name="range")
    b.advance(5000)

    assert b.count(api) == 0


@pytest.mark.parametrize(("name", "api"), [("waits-for-ever-for-join", JOIN), ("waits-for-ever-for-sync", SYNC)])
def test_a_client_that_does_not_notice_a_lost_request_waits_on(bench: type[Bench], name: str, api: Api) -> None:
    b = bench(variant_named(name).policy)
    b.joining() if api is JOIN else b.syncing()
    joins = b.count(JOIN)
    b.lose(api)
    b.advance(100, polling=True)
    b.answer(FIND)
    b.advance(20_000, polling=True)

    assert b.count(JOIN) == joins
    assert b.failures == []


def test_a_member_that_commits_nothing_by_itself_joins_at_once(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.positions = {("t", 0): 5}
    b.answer_heartbeat(27)
    b.poll()
    b.called()
    b.poll()

    assert b.count(Api.OFFSET_COMMIT) == 0
    assert b.waits(Api.JOIN_GROUP)


def test_other_clients_join_with_other_fields(bench: type[Bench]) -> None:
    b = bench(Policy(rebalance_timeout="session", topics_listed="first"), topics=("t", "u"))
    b.joining()
    join = b.message(Api.JOIN_GROUP)

    assert join.rebalance_timeout_ms == join.session_timeout_ms
    assert decode_subscription(join.protocols[0].metadata).topics == ("t",)


def test_the_commit_before_a_join_is_tried_no_longer_than_the_rebalance_may_take(bench: type[Bench]) -> None:
    b = bench(auto_commit=True, max_poll_interval_ms=3000)
    b.stable(0)
    b.positions = {("t", 0): 5}
    b.answer_heartbeat(27)
    b.poll()
    while b.waits(Api.OFFSET_COMMIT):
        b.answer(Api.OFFSET_COMMIT, 14)
        if b.waits(Api.HEARTBEAT):
            b.answer(Api.HEARTBEAT, 27)
        b.advance(100, polling=True)

    assert b.now == 1000 + 3000
    assert b.callbacks[0].kind is CallbackKind.REVOKED


def test_a_client_that_takes_everything_takes_what_there_is(bench: type[Bench]) -> None:
    b = bench(Policy(takes="everything"), topics=("t", "gone"))
    b.stable(0)

    assert b.member.owned == {("t", 0), ("t", 1)}
