"""Handing partitions over, eager and cooperative."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import CallbackKind
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.subscription import Subscription, decode_subscription

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clients.conftest import Bench, Pair

JOIN, SYNC = Api.JOIN_GROUP, Api.SYNC_GROUP
COOPERATIVE = ("cooperative-sticky",)


def subscription(b: Bench) -> Subscription:
    return decode_subscription(b.message(JOIN).protocols[0].metadata)


def rejoining(b: Bench) -> None:
    """A heartbeat told of a rebalance, and the next poll joined."""
    b.answer_heartbeat(27)
    b.poll()
    while b.callbacks:
        b.called()
    b.poll()


def synced(b: Bench, *partitions: int, generation: int) -> list[tuple[CallbackKind, list[int]]]:
    """Let the rebalance end with these partitions, and return the callbacks."""
    b.answer(JOIN, member_id="m-1", generation_id=generation, leader="m-0", protocol_name=b.protocol)
    b.answer(SYNC, assignment=b.assignment(*partitions))
    b.poll()
    observed = []
    while b.callbacks:
        callback = b.called()
        observed.append((callback.kind, sorted(number for _, number in callback.partitions)))
    return observed


def test_a_subscription_that_ends_early_says_its_version_all_the_same(bench: type[Bench]) -> None:
    b = bench(Policy(subscription_version=1, ends_subscription_early=True))
    b.stable(0, 1)
    rejoining(b)

    assert subscription(b) == Subscription(topics=("t",), version=1, ends_before="owned partitions")


@pytest.mark.requirement("CLIENT-62", "CLIENT-63")
def test_an_eager_member_gives_everything_back_before_it_joins(bench: type[Bench]) -> None:
    b = bench()
    b.stable(0, 1)
    b.answer_heartbeat(27)
    b.poll()
    assert b.callbacks[0].kind is CallbackKind.REVOKED
    assert b.member.owned == {("t", 0), ("t", 1)}
    b.called()
    assert b.member.owned == frozenset()
    b.poll()

    assert subscription(b).owned == ()
    assert synced(b, 1, generation=2) == [(CallbackKind.ASSIGNED, [1])]


def test_the_first_join_revokes_nothing(bench: type[Bench]) -> None:
    b = bench()
    b.joining()

    assert b.callbacks == []


def test_a_cooperative_member_keeps_what_it_has_and_claims_it(bench: type[Bench]) -> None:
    b = bench(assignors=COOPERATIVE)
    b.stable(0, 1)
    rejoining(b)

    assert b.member.owned == {("t", 0), ("t", 1)}
    assert (subscription(b).owned, subscription(b).generation) == ((("t", 0), ("t", 1)), 1)


def test_a_cooperative_member_revokes_what_went_and_joins_again(bench: type[Bench]) -> None:
    b = bench(assignors=COOPERATIVE)
    b.stable(0, 1)
    rejoining(b)
    assert synced(b, 0, generation=2) == [(CallbackKind.REVOKED, [1]), (CallbackKind.ASSIGNED, [])]
    b.poll()

    assert subscription(b).owned == (("t", 0),)
    assert synced(b, 0, generation=3) == [(CallbackKind.ASSIGNED, [])]
    b.poll()
    assert b.member.is_settled


def test_a_cooperative_member_gets_only_the_new_partitions_in_its_callback(bench: type[Bench]) -> None:
    b = bench(assignors=COOPERATIVE)
    b.stable(0)
    rejoining(b)

    assert synced(b, 0, 1, generation=2) == [(CallbackKind.ASSIGNED, [1])]
    b.poll()
    assert b.member.owned == {("t", 0), ("t", 1)}
    assert b.member.is_settled


@pytest.mark.requirement("CLIENT-32")
def test_a_cooperative_member_keeps_everything_when_the_sync_meets_a_rebalance(bench: type[Bench]) -> None:
    b = bench(assignors=COOPERATIVE)
    b.stable(0, 1)
    rejoining(b)
    b.answer(JOIN, member_id="m-1", generation_id=2, leader="m-0", protocol_name=b.protocol)
    b.answer(SYNC, 27)
    b.poll()

    assert b.callbacks == []
    assert subscription(b).owned == (("t", 0), ("t", 1))


@pytest.mark.parametrize(("error", "member_id"), [(22, "m-1"), (25, "")])
def test_a_cooperative_member_that_is_out_loses_everything_before_it_joins(bench: type[Bench], error: int, member_id: str) -> None:
    b = bench(assignors=COOPERATIVE)
    b.stable(0, 1)
    rejoining(b)
    b.answer(JOIN, member_id="m-1", generation_id=2, leader="m-0", protocol_name=b.protocol)
    joins = b.count(JOIN)
    b.answer(SYNC, error)
    b.poll()
    assert b.count(JOIN) == joins
    assert b.called().kind is CallbackKind.LOST
    b.poll()

    assert (b.message(JOIN).member_id, subscription(b).owned, subscription(b).generation) == (member_id, (), -1)


def test_a_cooperative_member_gives_up_at_once_what_it_no_longer_subscribes(bench: type[Bench]) -> None:
    b = bench(assignors=COOPERATIVE)
    b.stable(0)
    b.do(b.member.resubscribe(("u",), b.now))
    b.poll()

    callback = b.called()
    assert (callback.kind, callback.partitions) == (CallbackKind.REVOKED, frozenset({("t", 0)}))


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (0, Subscription(topics=("t",), version=0)),
        (1, Subscription(topics=("t",), owned=(("t", 0),), version=1)),
        (2, Subscription(topics=("t",), owned=(("t", 0),), generation=1, version=2)),
        (3, Subscription(topics=("t",), owned=(("t", 0),), generation=1, rack="r", version=3)),
    ],
)
def test_the_subscription_says_what_its_version_can(bench: type[Bench], version: int, expected: Subscription) -> None:
    b = bench(Policy(subscription_version=version), rack="r", assignors=COOPERATIVE)
    b.stable(0)
    rejoining(b)

    fields = subscription(b)
    assert (fields.topics, fields.owned, fields.generation, fields.rack, fields.version) == (
        expected.topics, expected.owned, expected.generation, expected.rack, expected.version,
    )  # fmt: skip
    assert fields.user_data == (1).to_bytes(4, "big")  # the generation, for leaders that read no version 2


def test_an_eager_member_that_revokes_late_has_no_reason_to_join_again(bench: type[Bench]) -> None:
    b = bench(Policy(revokes="after-join"))
    b.stable(0, 1)
    rejoining(b)

    assert synced(b, 1, generation=2) == [(CallbackKind.REVOKED, [0]), (CallbackKind.ASSIGNED, [])]
    b.poll()
    assert not b.waits(JOIN)


@pytest.mark.parametrize(("policy", "count"), [(Policy(revokes="never"), 0), (Policy(revokes="twice"), 2), (Policy(), 1)])
def test_planted_bugs_of_the_eager_hand_over_show(bench: type[Bench], policy: Policy, count: int) -> None:
    b = bench(policy)
    b.stable(0)
    b.answer_heartbeat(27)
    observed = []
    b.poll()
    while b.callbacks:
        observed.append(b.called().kind)

    assert observed == [CallbackKind.REVOKED] * count
    b.poll()
    assert b.member.owned == frozenset()


@pytest.mark.parametrize(("revokes", "revoked", "owned"), [("what-went", [[1]], {0}), ("everything", [[0, 1]], {0}), ("nothing", [], {0, 1})])
def test_planted_bugs_of_the_cooperative_hand_over_show(
    bench: type[Bench], revokes: Literal["what-went", "everything", "nothing"], revoked: list[list[int]], owned: set[int]
) -> None:
    b = bench(Policy(cooperative_revokes=revokes), assignors=COOPERATIVE)
    b.stable(0, 1)
    rejoining(b)

    assert [numbers for kind, numbers in synced(b, 0, generation=2) if kind is CallbackKind.REVOKED] == revoked
    assert b.member.owned == {("t", number) for number in owned}


def test_partitions_move_to_a_new_member_in_two_rebalances_without_two_owners(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", assignors=["cooperative-sticky"])
        await pair.settled("m0")
        await pair.start("m1", assignors=["cooperative-sticky"])
        await pair.until(lambda: [event for event in pair.events("m1", "partitions_assigned") if event["partitions"]])

        revoked = pair.events("m0", "partitions_revoked")
        assert [len(entry["partitions"]) for entry in revoked] == [2]
        event_ = next(event for event in pair.events("m1", "partitions_assigned") if event["partitions"])
        assert event_["partitions"] == revoked[0]["partitions"]
        assert pair.sent.index(revoked[0]) < pair.sent.index(event_)
        assert event_["generation"] > revoked[0]["generation"]

    tell(story)
