"""One group: its edges, its generation, and what always holds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from groupproof.coordinator.machine.group import Group, IllegalTransition
from groupproof.coordinator.machine.members import Member, ParkedRequest
from groupproof.protocol.vocabulary import VALID_PREVIOUS_STATES, GroupState
from groupproof.protocol.wire.messages import JoinProtocol

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
LEGAL = {
    (EMPTY, PREPARING), (STABLE, PREPARING), (COMPLETING, PREPARING), (PREPARING, COMPLETING), (PREPARING, EMPTY), (COMPLETING, STABLE),
    *((state, DEAD) for state in GroupState),
}  # fmt: skip


def _with_member(group: Group, member_id: str = "m", protocols: Sequence[str] = ("range",)) -> Member:
    member = Member(
        member_id=member_id, group_instance_id=None, client_id="c", client_host="h", session_timeout_ms=1, rebalance_timeout_ms=2,
        protocol_type="consumer", protocols=tuple(JoinProtocol(name=name, metadata=b"") for name in protocols),
    )  # fmt: skip
    group.members.add(member)
    return member


@pytest.mark.requirement("INV-01", "TR-129", "TR-147", "TR-148")
@pytest.mark.parametrize(("before", "after"), list(product(GroupState, GroupState)))
def test_a_group_moves_along_the_edges_of_inv_01_and_no_other(before: GroupState, after: GroupState) -> None:
    group = Group(group_id="g", state=before)
    if (before, after) in LEGAL:
        group.move_to(after, 7)
        assert (group.before, group.state, group.since_ms) == (before, after, 7)
    else:
        with pytest.raises(IllegalTransition, match=f"group 'g' cannot go from {before.value} to {after.value}"):
            group.move_to(after, 7)
        assert group.state is before


@pytest.mark.requirement("INV-02", "TIMER-18", "TIMER-23")
def test_a_group_starts_empty_at_generation_0_and_there_are_five_states() -> None:
    assert (Group(group_id="g").state, Group(group_id="g").generation) == (EMPTY, 0)
    assert VALID_PREVIOUS_STATES.keys() == set(GroupState)


@pytest.mark.requirement("INV-04", "DJOIN-08", "DJOIN-09")
def test_a_generation_counts_up_by_one_and_has_a_protocol_while_there_are_members() -> None:
    group = Group(group_id="g")
    _with_member(group)
    group.next_generation(1)
    assert (group.generation, group.protocol_name) == (1, "range")
    group.members.remove("m")
    group.next_generation(2)
    assert (group.generation, group.protocol_name) == (2, None)


@pytest.mark.requirement("INV-06")
@pytest.mark.parametrize("state", [COMPLETING, STABLE, DEAD])
def test_a_parked_join_belongs_to_preparing(state: GroupState) -> None:
    group = Group(group_id="g", state=state)
    group.members.park_join(_with_member(group), ParkedRequest(1, 9))

    with pytest.raises(AssertionError, match=r"1 JoinGroups parked in .* \(INV-06\)"):
        group.check()


@pytest.mark.requirement("INV-06")
@pytest.mark.parametrize("state", [PREPARING, STABLE, DEAD])
def test_a_parked_sync_belongs_to_completing(state: GroupState) -> None:
    group = Group(group_id="g", state=state)
    group.members.park_sync(_with_member(group), ParkedRequest(1, 5))

    with pytest.raises(AssertionError, match=r"1 SyncGroups parked in .* \(INV-06\)"):
        group.check()


@pytest.mark.requirement("INV-05", "INV-11")
def test_a_group_has_a_leader_exactly_when_it_has_members_and_empty_has_none() -> None:
    group = Group(group_id="g", state=STABLE)
    _with_member(group)
    group.check()
    group.members.leader = None
    with pytest.raises(AssertionError, match="INV-05"):
        group.check()
    group.members.leader = "stranger"
    with pytest.raises(AssertionError, match=r"leader stranger is no member \(INV-05\)"):
        group.check()
    group.members.leader, group.state = "m", EMPTY
    with pytest.raises(AssertionError, match=r"1 members of an Empty group \(INV-11\)"):
        group.check()


def test_a_view_shows_members_in_joining_order_and_what_they_parked() -> None:
    group = Group(group_id="g", state=PREPARING, generation=4, protocol_type="consumer")
    group.members.park_join(_with_member(group), ParkedRequest(1, 9))
    group.members.park_sync(_with_member(group, "n"), ParkedRequest(2, 5))
    _with_member(group, "o")
    group.members.pending["p"] = None
    view = group.view()

    assert (view.state, view.generation, view.leader, view.pending) == (PREPARING, 4, "m", ("p",))
    parked = [(member.member_id, member.is_leader, member.parked) for member in view.members]
    assert parked == [("m", True, "JoinGroup"), ("n", False, "SyncGroup"), ("o", False, None)]


def test_how_far_a_group_has_come_names_who_has_nothing_parked() -> None:
    group = Group(group_id="g", state=PREPARING, generation=3)
    member = _with_member(group)
    group.members.pending["p"] = None

    assert (group.progress().state, group.progress().generation, group.progress().leader) == (PREPARING, 3, "m")
    assert (group.progress().absent, group.progress().pending) == (("c",), ("p",))
    group.members.park_join(member, ParkedRequest("token", 5))
    assert group.progress().absent == ()


@pytest.mark.requirement("DJOIN-09")
def test_a_protocol_is_chosen_where_several_have_most_votes_and_only_there() -> None:
    asked: list[tuple[str, ...]] = []

    def last(tied: Sequence[str], possible: Sequence[str]) -> str:
        asked.append(tuple(tied))
        return tied[-1]

    group = Group(group_id="g")
    _with_member(group)
    group.next_generation(1, last)
    assert (group.protocol_name, asked) == ("range", [])

    group.members.remove("m")
    _with_member(group, "a", ("range", "roundrobin"))
    _with_member(group, "b", ("roundrobin", "range"))
    group.next_generation(2, last)
    assert (group.protocol_name, asked) == ("roundrobin", [("range", "roundrobin")])
