"""The leader's assignment, and the bugs planted in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groupproof.clients.assignors.assignment import Cluster
from groupproof.clients.member.policy import Policy
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.messages import JoinMember
from groupproof.protocol.wire.subscription import Subscription, decode_assignment, encode_subscription

if TYPE_CHECKING:
    from tests.clients.conftest import Bench

SYNC = Api.SYNC_GROUP
MEMBERS = tuple(JoinMember(member_id=name, metadata=encode_subscription(Subscription(topics=("t",)))) for name in ("m-1", "m-2", "m-3"))


def assigned(b: Bench) -> dict[str, list[int]]:
    return {
        assignment.member_id: [number for _, number in decode_assignment(assignment.assignment).partitions]
        for assignment in b.message(SYNC).assignments
    }


@pytest.mark.requirement("CLIENT-12", "ASSIGN-09", "ASSIGN-10")
def test_every_member_is_listed_and_every_partition_given_once(bench: type[Bench]) -> None:
    b = bench()
    b.syncing(leader="m-1", members=MEMBERS)

    assert assigned(b) == {"m-1": [0], "m-2": [1], "m-3": []}


def test_a_member_whose_subscription_ends_early_gets_its_share(bench: type[Bench]) -> None:
    b = bench()
    early = encode_subscription(Subscription(topics=("t",), version=1, ends_before="owned partitions"))
    b.syncing(leader="m-1", members=(MEMBERS[0], JoinMember(member_id="m-2", metadata=early)))

    assert assigned(b) == {"m-1": [0], "m-2": [1]}


def test_static_members_come_first(bench: type[Bench]) -> None:
    b = bench()
    static = JoinMember(member_id="z", group_instance_id="i0", metadata=MEMBERS[0].metadata)
    b.syncing(leader="m-1", members=(*MEMBERS, static))

    assert assigned(b) == {"m-1": [1], "m-2": [], "m-3": [], "z": [0]}


@pytest.mark.requirement("CLIENT-74")
def test_a_topic_of_another_member_is_watched_too(bench: type[Bench]) -> None:
    b = bench()
    b.do(b.member.metadata(Cluster(partitions={"t": 2, "u": 1}), b.now))
    other = JoinMember(member_id="m-2", metadata=encode_subscription(Subscription(topics=("u",))))
    b.syncing(leader="m-1", members=(MEMBERS[0], other))
    b.assigned(0, 1)
    joins = b.count(Api.JOIN_GROUP)
    b.do(b.member.metadata(Cluster(partitions={"t": 2, "u": 2}), b.now))
    b.poll()
    b.called()
    b.poll()

    assert b.count(Api.JOIN_GROUP) == joins + 1


@pytest.mark.parametrize(
    ("policy", "assignment"),
    [
        (Policy(leader_assigns="only-with-partitions"), {"m-1": [0], "m-2": [1]}),
        (Policy(leader_assigns="itself-only"), {"m-1": [0]}),
        (Policy(leader_assigns="drops-partition"), {"m-1": [0], "m-2": [], "m-3": []}),
        (Policy(leader_assigns="twice"), {"m-1": [0, 1], "m-2": [0, 1], "m-3": [0, 1]}),
    ],
)
def test_planted_bugs_of_a_leader_show(bench: type[Bench], policy: Policy, assignment: dict[str, list[int]]) -> None:
    b = bench(policy)
    b.syncing(leader="m-1", members=MEMBERS)

    assert assigned(b) == assignment


def test_a_leader_that_drops_a_partition_has_none_to_drop_of_an_empty_topic(bench: type[Bench]) -> None:
    b = bench(Policy(leader_assigns="drops-partition"))
    b.do(b.member.metadata(Cluster(partitions={"t": 0}), b.now))
    b.syncing(leader="m-1", members=MEMBERS)

    assert assigned(b) == {"m-1": [], "m-2": [], "m-3": []}


def test_a_leader_that_repeats_itself_forgets_who_came(bench: type[Bench]) -> None:
    b = bench(Policy(leader_assigns="previous"))
    b.syncing(leader="m-1", members=MEMBERS[:1])
    b.answer(SYNC, 27)
    b.poll()
    b.answer(Api.JOIN_GROUP, member_id="m-1", generation_id=2, leader="m-1", protocol_name="range", members=MEMBERS)

    assert assigned(b) == {"m-1": [0, 1], "m-2": [], "m-3": []}


def test_a_follower_that_assigns_shows(bench: type[Bench]) -> None:
    b = bench(Policy(follower_assigns=True))
    b.syncing()

    assert assigned(b) == {"m-1": [0, 1]}


def test_a_leader_may_end_its_assignments_before_their_user_data(bench: type[Bench]) -> None:
    b = bench(Policy(ends_assignment_early=True))
    b.syncing(leader="m-1", members=MEMBERS[:1])

    assert [decode_assignment(item.assignment).is_truncated for item in b.message(SYNC).assignments] == [True]


def test_a_follower_reads_nobodys_subscription(bench: type[Bench]) -> None:
    b = bench()
    b.syncing(leader="m-0", members=(JoinMember(member_id="m-0", metadata=b"not one"),))

    assert b.member.failure is None
    assert assigned(b) == {}


def test_of_two_claims_the_leader_believes_the_one_of_the_later_generation(bench: type[Bench]) -> None:
    def claiming(member_id: str, generation: int) -> JoinMember:
        claim = Subscription(topics=("t",), owned=(("t", 0),), generation=generation, version=2)
        return JoinMember(member_id=member_id, metadata=encode_subscription(claim))

    b = bench(assignors=("sticky",))
    b.syncing(leader="m-1", members=(claiming("m-1", 1), claiming("m-2", 2)))

    assert assigned(b) == {"m-1": [1], "m-2": [0]}


def test_a_leader_heeds_the_racks_that_its_members_name(bench: type[Bench]) -> None:
    b = bench()
    b.do(b.member.metadata(Cluster(partitions={"t": 2}, replica_racks={"t": (frozenset({"r0"}), frozenset({"r1"}))}), b.now))
    racks = {"m-1": "r1", "m-2": "r0"}
    named = tuple(
        JoinMember(member_id=name, metadata=encode_subscription(Subscription(topics=("t",), rack=rack, version=3))) for name, rack in racks.items()
    )
    b.syncing(leader="m-1", members=named)

    assert assigned(b) == {"m-1": [1], "m-2": [0]}
