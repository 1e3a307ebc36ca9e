"""Witnesses of single rules of the member that no other test has for its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from groupproof.clients.assignors.assignment import Cluster, GroupMember
from groupproof.clients.assignors.range_and_roundrobin import ASSIGNORS
from groupproof.clients.member.policy import Override, Policy
from groupproof.clients.outputs import CallbackKind, CommitResult
from groupproof.protocol.faults import Fault, Hold, Selector
from groupproof.protocol.rules.classic.member_reactions import Effect
from groupproof.protocol.vocabulary import Api, TopicPartition
from groupproof.protocol.wire.messages import JoinMember
from groupproof.protocol.wire.subscription import Subscription, decode_assignment, encode_subscription

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clients.conftest import Bench, Pair

JOIN, SYNC, HEARTBEAT, FIND, LEAVE, COMMIT = (
    Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.FIND_COORDINATOR, Api.LEAVE_GROUP, Api.OFFSET_COMMIT,
)  # fmt: skip
TU = encode_subscription(Subscription(topics=("t", "u")))


def rejoining(b: Bench) -> None:
    """Let the application poll until JoinGroup is sent."""
    b.poll()
    while b.callbacks:
        b.called()
    b.poll()


def numbers(pair: Pair, *members: str) -> list[int]:
    """Return the partitions that these members were told to own, each as often as it was told."""
    return sorted(partition["partition"] for name in members for partition in pair.last_callback(name)["partitions"])


# Finding the coordinator


@pytest.mark.requirement("FIND-01")
def test_the_lookup_names_the_member_s_own_group(bench: type[Bench]) -> None:
    b = bench(group="payments")
    b.poll()
    asked = b.message(FIND)

    assert (asked.coordinator_keys, asked.key_type) == (("payments",), 0)


@pytest.mark.requirement("TRIG-06")
@pytest.mark.parametrize("how", ["disconnected", 15, 16])
def test_without_its_coordinator_it_asks_for_nothing_but_the_coordinator(bench: type[Bench], how: int | str) -> None:
    b = bench()
    b.stable(0)
    b.advance(1_000)
    before = len(b.sent)
    b.answer(HEARTBEAT, how) if isinstance(how, int) else b.lose(HEARTBEAT)
    b.advance(5_000, polling=True)
    assert {message.api for _, message in b.sent[before:]} == {FIND}

    b.answer(FIND)
    b.advance(1_000)
    assert b.sent[-1][1].api is HEARTBEAT


@pytest.mark.requirement("TIMER-19")
def test_a_rebalance_takes_three_requests_the_first_time_and_two_later_where_no_id_is_asked_for(bench: type[Bench]) -> None:
    b = bench()
    b.poll()
    b.answer(FIND)
    b.poll()
    b.rejoined(0, generation=1)  # a coordinator of 1.1 admits who has no id yet
    assert [message.api for _, message in b.sent if message.api is not Api.OFFSET_FETCH] == [FIND, JOIN, SYNC]

    b.answer_heartbeat(27)
    before = len(b.sent)
    rejoining(b)
    b.rejoined(0, generation=2)
    assert [message.api for _, message in b.sent[before:] if message.api is not Api.OFFSET_FETCH] == [JOIN, SYNC]


@pytest.mark.requirement("TRIG-07", "TRIG-08")
def test_the_first_rebalance_takes_three_kinds_of_request_and_each_later_one_two(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    assert [message.api for _, message in b.sent if message.api is not Api.OFFSET_FETCH] == [FIND, JOIN, JOIN, SYNC]  # KIP-394: two joins

    b.answer_heartbeat(27)
    before = len(b.sent)
    rejoining(b)
    b.rejoined(0, generation=2)
    assert [message.api for _, message in b.sent[before:] if message.api is not Api.OFFSET_FETCH] == [JOIN, SYNC]


# The rebalance


@pytest.mark.requirement("TRIG-10")
def test_from_its_join_to_its_sync_it_owns_nothing(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0, 1)
    assert len(b.member.owned) == 2
    b.answer_heartbeat(27)
    rejoining(b)
    assert b.waits(JOIN)
    assert b.member.owned == frozenset()

    b.answer(JOIN, member_id="m-1", generation_id=2, leader="m-0", protocol_name="range")
    assert b.member.owned == frozenset()
    b.answer(SYNC, assignment=b.assignment(1))
    b.poll()
    b.called()
    assert b.member.owned == {("t", 1)}


@pytest.mark.requirement("TRIG-05")
def test_a_topic_that_is_gone_is_left_out_of_the_next_assignment(bench: type[Bench]) -> None:
    b = bench(topics=("t", "u"))
    b.do(b.member.metadata(Cluster(partitions={"t": 2, "u": 1}), b.now))
    members = (JoinMember(member_id="m-1", metadata=TU),)
    b.syncing(leader="m-1", members=members)
    assert ("u", 0) in decode_assignment(b.message(SYNC).assignments[0].assignment).partitions
    b.assigned(0, 1)

    joins = b.count(JOIN)
    b.do(b.member.metadata(Cluster(partitions={"t": 2, "u": 0}), b.now))
    rejoining(b)
    assert b.count(JOIN) == joins + 1
    b.answer(JOIN, member_id="m-1", generation_id=2, leader="m-1", protocol_name="range", members=members)
    assert decode_assignment(b.message(SYNC).assignments[0].assignment).partitions == (("t", 0), ("t", 1))


@pytest.mark.requirement("SYNC-24")
@pytest.mark.parametrize(("leader", "named"), [("m-1", ["m-1", "m-2"]), ("m-2", [])])
def test_only_the_leader_sends_assignments_one_for_each_member(bench: type[Bench], leader: str, named: list[str]) -> None:
    b = bench()
    members = tuple(JoinMember(member_id=name, metadata=TU) for name in ("m-1", "m-2")) if leader == "m-1" else ()
    b.do(b.member.metadata(Cluster(partitions={"t": 2, "u": 1}), b.now))
    b.syncing(leader=leader, members=members)

    assert [assignment.member_id for assignment in b.message(SYNC).assignments] == named


@pytest.mark.requirement("CLIENT-36")
def test_the_sync_goes_out_with_the_join_s_answer_polled_or_not(bench: type[Bench]) -> None:
    b = bench()
    b.joining()
    b.advance(2_000)
    b.answer(JOIN, member_id="m-1", generation_id=1, leader="m-0", protocol_name="range")

    assert b.times(SYNC) == [2_000]


@pytest.mark.requirement("CLIENT-31")
@pytest.mark.parametrize("error", [15, 16, 22, 25, 27, None])
def test_whatever_keeps_a_sync_from_succeeding_makes_it_join_again(bench: type[Bench], error: int | None) -> None:
    b = bench()
    b.syncing()
    joins = b.count(JOIN)
    b.lose(SYNC) if error is None else b.answer(SYNC, error)
    b.advance(1, polling=True)
    if b.waits(FIND):
        b.answer(FIND)
    b.advance(1_000, polling=True)

    assert b.count(JOIN) == joins + 1


@pytest.mark.requirement("CLIENT-16", "CLIENT-34", "CLIENT-75")
@pytest.mark.parametrize("api", [JOIN, SYNC])
@pytest.mark.parametrize("error", [15, 16, None])
def test_after_a_lost_coordinator_the_next_join_waits_for_the_backoff_however_soon_the_lookup_is_answered(
    bench: type[Bench], api: Api, error: int | None
) -> None:
    b = bench(retry_backoff_ms=300)
    b.joining() if api is JOIN else b.syncing()
    joins = b.count(JOIN)
    b.lose(api) if error is None else b.answer(api, error)
    b.answer(FIND)
    b.advance(299, polling=True)
    assert b.count(JOIN) == joins

    b.advance(1, polling=True)
    assert b.count(JOIN) == joins + 1


@pytest.mark.requirement("CLIENT-14", "CLIENT-33")
@pytest.mark.parametrize(("api", "error"), [(JOIN, 25), (SYNC, 25), (SYNC, 22)])
def test_a_member_that_is_refused_while_it_rejoins_loses_what_it_kept_and_its_generation(bench: type[Bench], api: Api, error: int) -> None:
    b = bench(assignors=("cooperative-sticky",))
    b.stable(0, 1)
    b.answer_heartbeat(27)
    rejoining(b)
    assert len(b.member.owned) == 2  # a cooperative member keeps its partitions meanwhile
    if api is SYNC:
        b.answer(JOIN, member_id="m-1", generation_id=2, leader="m-0", protocol_name="cooperative-sticky")
    b.answer(api, error)
    assert b.member.generation == -1

    b.poll()
    lost = b.called()
    assert (lost.kind, lost.partitions) == (CallbackKind.LOST, frozenset({("t", 0), ("t", 1)}))
    b.poll()
    assert b.waits(JOIN)
    assert b.message(JOIN).member_id == ("m-1" if error == 22 else "")


@pytest.mark.requirement("ASSIGN-13")
def test_its_assignors_are_listed_in_the_order_of_preference_each_with_metadata(bench: type[Bench]) -> None:
    b = bench(assignors=("cooperative-sticky", "range"))
    b.joining()
    offered = b.message(JOIN).protocols

    assert [item.name for item in offered] == ["cooperative-sticky", "range"]
    assert all(item.metadata for item in offered)


# Heartbeats and errors


@pytest.mark.requirement("CLIENT-53")
def test_heartbeats_rest_while_the_member_is_not_stable_and_continue_after_the_rejoin(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0)
    b.answer_heartbeat(25)
    b.advance(20_000)
    assert b.count(HEARTBEAT) == 1

    rejoining(b)
    b.rejoined(0, generation=2)
    resumed = b.now
    b.advance(1_000)
    assert b.times(HEARTBEAT)[1:] == [resumed + 1_000]


@pytest.mark.requirement("CLIENT-76")
@pytest.mark.parametrize(("error", "member_id", "callback"), [(27, "m-1", CallbackKind.REVOKED), (22, "m-1", CallbackKind.LOST)])
def test_either_signal_of_a_rebalance_ends_in_a_rejoin(bench: type[Bench], error: int, member_id: str, callback: CallbackKind) -> None:
    b = bench()
    b.stable(0)
    joins = b.count(JOIN)
    b.answer_heartbeat(error)
    b.poll()
    assert b.called().kind is callback
    b.poll()

    assert (b.count(JOIN), b.message(JOIN).member_id) == (joins + 1, member_id)


@pytest.mark.requirement("CLIENT-67")
@pytest.mark.parametrize("error", [22, 25, 27])
def test_a_client_of_1_1_resets_on_a_refused_commit_and_the_commit_fails_once(bench: type[Bench], error: int) -> None:
    reset = (Effect.DROP_GENERATION, Effect.DROP_ID, Effect.LOSE, Effect.REJOIN, Effect.FAIL)
    b = bench(Policy(overrides=(Override(api=COMMIT, answers=(22, 25, 27), effects=reset),)))
    b.stable(0)
    b.do(b.member.commit("token", {("t", 0): 5}, b.now, is_sync=True))
    b.answer(COMMIT, error)
    assert [item.error is None for item in b.of(CommitResult)] == [False]

    b.advance(5_000)
    rejoining(b)
    assert b.count(COMMIT) == 1
    assert b.message(JOIN).member_id == ""


@pytest.mark.requirement("CLIENT-55")
def test_a_member_whose_heartbeats_are_starved_is_expired_and_comes_back(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", "m1")
        await pair.settled("m0", "m1")
        before = pair.generation
        selector = Selector(api="Heartbeat", client="m1", count=None)
        pair.cluster.arm(Fault(name="starved", selector=selector, action=Hold(ms=None)))
        await pair.until(lambda: pair.is_settled("m0"))
        pair.cluster.heal("starved")
        await pair.settled("m0", "m1")

        assert pair.generation > before
        joins: list[Any] = pair.requests(JOIN, "m1")
        assert joins[2].member == ""

    tell(story)


@pytest.mark.requirement("ASSIGN-11", "TRIG-03")
def test_what_a_dead_member_owned_goes_to_the_survivors(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("a", "b", "c")
        await pair.settled("a", "b", "c")
        pair.cluster.arm(Fault(name="dead", selector=Selector(api="Heartbeat", client="a", count=None), action=Hold(ms=None)))
        await pair.until(lambda: pair.is_settled("b", "c"))

        assert numbers(pair, "b", "c") == [0, 1, 2]

    tell(story, topics={"t": 3})


@pytest.mark.requirement("TRIG-04", "TIMER-22")
def test_partitions_that_a_topic_gains_are_all_owned_after_a_rebalance(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", "m1", metadata_max_age_ms=1_000)
        await pair.settled("m0", "m1")
        before = pair.generation
        pair.cluster.grow("t", 10)
        await pair.until(lambda: pair.generation > before and pair.is_settled("m0", "m1"))

        assert numbers(pair, "m0", "m1") == list(range(10))

    tell(story, topics={"t": 3})


GOLDEN = {
    "range": {"C0": [("t0", 0), ("t0", 1), ("t1", 0), ("t1", 1)], "C1": [("t0", 2), ("t1", 2)]},
    "roundrobin": {"C0": [("t0", 0), ("t0", 2), ("t1", 1)], "C1": [("t0", 1), ("t1", 0), ("t1", 2)]},
}


def golden(assignor: str) -> dict[str, list[TopicPartition]]:
    """Return the assignment of two topics of three partitions each to two members that came in the other order."""
    members = [GroupMember(member_id=name, topics=("t1", "t0")) for name in ("C1", "C0")]
    return {member: sorted(partitions) for member, partitions in ASSIGNORS[assignor](members, Cluster(partitions={"t0": 3, "t1": 3})).items()}


@pytest.mark.requirement("ASSIGN-07")
def test_range_gives_the_first_members_one_more_of_each_topic() -> None:
    assert golden("range") == GOLDEN["range"]


@pytest.mark.requirement("ASSIGN-08")
def test_round_robin_deals_all_partitions_in_turn() -> None:
    assert golden("roundrobin") == GOLDEN["roundrobin"]
