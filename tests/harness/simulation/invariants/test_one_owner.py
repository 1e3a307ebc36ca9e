"""Ownership: no partition in two hands of one generation, none kept through an eager join, none assigned twice."""

from __future__ import annotations

import pytest

from groupproof.clients.member.consumer_settings import MemberSettings
from groupproof.clients.member.member import Member
from groupproof.clients.member.policy import Policy
from groupproof.clients.outputs import Callback, CallbackKind
from groupproof.harness.simulation.invariants.generations import Generation
from groupproof.harness.simulation.invariants.one_owner import Ownership
from groupproof.harness.simulation.settings import InvariantBroken
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.subscription import Assignment, encode_assignment

T0: TopicPartition = ("t", 0)


def _callback(kind: CallbackKind, generation: int) -> Callback:
    return Callback(kind=kind, partitions=frozenset({T0}), member_id="", generation=generation)


def _assign(ownership: Ownership, name: str, generation: int) -> None:
    ownership.synced(name, generation)
    ownership.called(name, _callback(CallbackKind.ASSIGNED, generation))


def test_a_partition_with_two_owners_in_one_generation_breaks_an_invariant() -> None:
    ownership = Ownership()
    _assign(ownership, "m0", 1)

    with pytest.raises(InvariantBroken, match="ASSIGN-09: m1 was given t-0 in generation 1, in which m0 owns it"):
        _assign(ownership, "m1", 1)


@pytest.mark.parametrize("kind", [CallbackKind.REVOKED, CallbackKind.LOST])
def test_what_was_given_back_may_be_given_to_another(kind: CallbackKind) -> None:
    ownership = Ownership()
    _assign(ownership, "m0", 1)
    ownership.called("m0", _callback(kind, 1))
    _assign(ownership, "m1", 1)

    with pytest.raises(InvariantBroken, match="m1 owns it"):
        _assign(ownership, "m0", 1)


def test_a_member_that_the_group_went_on_without_cannot_know() -> None:
    ownership = Ownership()
    _assign(ownership, "m0", 1)
    _assign(ownership, "m1", 2)

    ownership.synced("m0", 2)
    with pytest.raises(InvariantBroken, match="m0 owns it"):
        _assign(ownership, "m2", 2)


def test_a_member_that_ended_owns_nothing() -> None:
    ownership = Ownership()
    _assign(ownership, "m0", 1)
    ownership.gone("m0")

    _assign(ownership, "m1", 1)
    with pytest.raises(InvariantBroken, match="m1 owns it"):
        _assign(ownership, "m0", 1)


@pytest.mark.parametrize(("assignors", "may_keep"), [(("range",), False), (("cooperative-sticky",), True), (("cooperative-sticky", "range"), False)])
def test_only_a_cooperative_member_joins_with_partitions_in_hand(assignors: tuple[str, ...], may_keep: bool) -> None:
    member = Member(MemberSettings(group="g", topics=("t",), assignors=assignors))
    member._core.owned = frozenset({T0})

    if may_keep:
        Ownership().joins("m0", member)
    else:
        with pytest.raises(InvariantBroken, match="CLIENT-62"):
            Ownership().joins("m0", member)


@pytest.mark.parametrize(("protocol", "may_keep"), [("cooperative-sticky", True), ("range", False)])
def test_a_member_that_hands_over_as_agreed_is_eager_by_the_assignor_of_its_generation(protocol: str, may_keep: bool) -> None:
    settings = MemberSettings(group="g", topics=("t",), assignors=("cooperative-sticky", "range"))
    member = Member(settings, policy=Policy(cooperative_where="agreed"))
    member._core.owned, member._core.protocol = frozenset({T0}), protocol

    if may_keep:
        Ownership().joins("m0", member)
    else:
        with pytest.raises(InvariantBroken, match="CLIENT-62"):
            Ownership().joins("m0", member)


def test_an_assignment_that_gives_a_partition_twice_breaks_an_invariant() -> None:
    both = encode_assignment(Assignment(partitions=(T0, ("t", 1))))
    one = encode_assignment(Assignment(partitions=(("t", 2),)))
    Ownership().assigned(Generation(4, sent={"a": both, "b": one, "c": b""}))

    with pytest.raises(InvariantBroken, match="ASSIGN-09: the leader of generation 4 assigned t-0 to 2 members"):
        Ownership().assigned(Generation(4, sent={"a": both, "b": both}))
