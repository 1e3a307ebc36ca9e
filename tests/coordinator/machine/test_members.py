"""Members of one group: leadership, counts, and the vote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.coordinator.machine.members import (
    Member,
    Members,
    ParkedRequest,
    breaks_the_reader,
    chosen_metadata,
    leading_protocols,
    possible_protocols,
    topics_of,
)
from groupproof.protocol.wire.messages import JoinMember, JoinProtocol
from groupproof.protocol.wire.subscription import Subscription, encode_subscription


def _protocols(*names: str) -> tuple[JoinProtocol, ...]:
    return tuple(JoinProtocol(name=name, metadata=name.encode()) for name in names)


def _member(member_id: str, *, instance: str | None = None, protocols: tuple[str, ...] = ("range",), rebalance_ms: int = 10) -> Member:
    return Member(
        member_id=member_id, group_instance_id=instance, client_id="c", client_host="h", session_timeout_ms=5, rebalance_timeout_ms=rebalance_ms,
        protocol_type="consumer", protocols=_protocols(*protocols),
    )  # fmt: skip


def _members(*members: Member) -> Members:
    made = Members()
    for member in members:
        made.add(member)
    return made


@pytest.mark.requirement("JOIN-05", "JOIN-07", "INV-05")
def test_the_first_leads_and_the_longest_member_follows() -> None:
    members = _members(_member("a"), _member("b"), _member("c"))
    assert members.leader == "a"
    members.remove("b")
    members.remove("a")
    assert members.leader == "c"
    members.remove("c")
    assert members.leader is None


@pytest.mark.requirement("JOIN-36")
def test_a_member_or_an_instance_cannot_be_added_twice() -> None:
    members = _members(_member("a", instance="i"))

    with pytest.raises(AssertionError, match="a is a member already"):
        members.add(_member("a"))
    with pytest.raises(AssertionError, match="instance i is there already"):
        members.add(_member("b", instance="i"))


def test_removing_an_unknown_id_does_nothing_but_forget_that_it_was_pending() -> None:
    members = _members(_member("a"))
    members.pending["x"] = None

    assert members.remove("x") is None
    assert members.remove("y") is None
    assert (len(members), members.pending) == (1, {})


@pytest.mark.requirement("DJOIN-51")
def test_all_have_joined_when_all_are_parked_and_nobody_is_pending() -> None:
    members = _members(_member("a"), _member("b"))
    assert not members.all_joined
    for member in members:
        members.park_join(member, ParkedRequest(1, 9))
    assert members.all_joined
    members.pending["x"] = None
    assert not members.all_joined
    members.remove("x")
    members.remove("a")
    assert (members.all_joined, members.joined) == (True, 1)


def test_parking_again_returns_what_was_parked_and_counts_once() -> None:
    members = _members(_member("a"))
    member = members.by_id["a"]

    assert members.park_sync(member, ParkedRequest("old", 5)) is None
    assert members.park_sync(member, ParkedRequest("new", 5)) == ParkedRequest("old", 5)
    assert members.syncing == 1
    assert members.park_sync(member, None) == ParkedRequest("new", 5)
    assert members.syncing == 0


@pytest.mark.requirement("STATIC-06")
def test_a_renamed_leader_still_leads_and_keeps_its_instance() -> None:
    members = _members(_member("a", instance="i"), _member("b"))
    members.rename(members.by_id["a"], "a2")

    assert (members.leader, members.instances, list(members.by_id)) == ("a2", {"i": "a2"}, ["b", "a2"])


def test_a_removed_member_takes_its_instance_along_as_in_kafka() -> None:
    members = _members(_member("a", instance="i"))
    del members.instances["i"]  # as a full group did before 2.6
    members.add(_member("b", instance="i"))
    members.remove("a")

    assert (members.instances, list(members.by_id)) == ({}, ["b"])


@pytest.mark.requirement("STATIC-12")
def test_leadership_passes_to_a_member_that_joined_if_there_is_one() -> None:
    members = _members(_member("a"), _member("b"))
    members.elect_joined()
    assert members.leader == "a"
    members.park_join(members.by_id["b"], ParkedRequest(1, 9))
    members.elect_joined()
    assert members.leader == "b"


@pytest.mark.requirement("JOIN-09", "JOIN-33")
def test_a_protocol_is_supported_when_every_member_names_it() -> None:
    members = _members(_member("a", protocols=("range", "sticky")), _member("b", protocols=("sticky", "sticky")))

    assert members.supports_any(("custom", "sticky"))
    assert not members.supports_any(("range",))
    members.set_protocols(members.by_id["b"], _protocols("range"))
    assert members.supports_any(("range",))
    assert not members.supports_any(("sticky",))


@pytest.mark.requirement("DJOIN-01")
def test_the_longest_rebalance_timeout_counts() -> None:
    assert Members().rebalance_timeout_ms == 0
    assert _members(_member("a"), _member("b", rebalance_ms=60)).rebalance_timeout_ms == 60


@pytest.mark.requirement("JOIN-15")
def test_the_leaders_list_holds_the_bytes_of_the_protocol() -> None:
    members = _members(_member("a", protocols=("range", "sticky")), _member("b", instance="i", protocols=("sticky",)))

    assert members.listed("sticky") == (
        JoinMember(member_id="a", metadata=b"sticky"),
        JoinMember(member_id="b", group_instance_id="i", metadata=b"sticky"),
    )
    assert members.by_id["b"].metadata("range") == b""


@pytest.mark.requirement("JOIN-32")
def test_the_most_preferred_common_protocol_wins() -> None:
    assert leading_protocols([_protocols("a", "b"), _protocols("b", "a"), _protocols("b", "a", "c")])[0] == "b"
    assert leading_protocols([_protocols("a", "b"), _protocols("c", "b")])[0] == "b"
    assert leading_protocols([_protocols("a", "b"), _protocols("b", "a")])[0] == "a"  # a tie: the first voted for


LISTS = st.lists(st.permutations(["a", "b", "c"]).flatmap(lambda names: st.integers(0, 2).map(lambda n: ["z", *names[n:]])), min_size=1, max_size=6)


@pytest.mark.requirement("JOIN-32")
@given(LISTS)
def test_the_choice_is_common_to_all_and_nobody_got_more_votes(lists: list[list[str]]) -> None:
    common = set.intersection(*map(set, lists))
    votes = [next(name for name in names if name in common) for names in lists]
    chosen = leading_protocols([_protocols(*names) for names in lists])[0]

    assert chosen in common
    assert votes.count(chosen) == max(map(votes.count, votes))


def test_members_that_stay_and_members_that_have_not_joined_are_known_from_the_parked_requests() -> None:
    members = _members(_member("joined"), _member("absent"), _member("static", instance="i"))
    members.park_join(members.by_id["joined"], ParkedRequest("token", 9))

    assert [member.member_id for member in members.staying] == ["joined", "static"]
    assert members.unjoined == ["absent"]


def test_what_members_say_for_a_protocol_is_theirs_in_their_order() -> None:
    members = _members(_member("a", protocols=("x", "y")), _member("b", protocols=("y",)))

    assert members.metadata("x") == (b"x", b"")
    assert chosen_metadata(list(members)) == [b"y", b"y"]  # the one that both have
    assert leading_protocols(members.ballots) == ["y"]


# Which subscription bytes Apache Kafka's coordinator chokes on


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_subscriptions_of_every_version_can_be_read(version: int) -> None:
    subscription = Subscription(topics=("t", "été"), owned=(("t", 1),), generation=4, rack="r", user_data=b"data", version=version)

    assert not breaks_the_reader(encode_subscription(subscription))
    assert topics_of(encode_subscription(subscription)) == frozenset({"t", "été"})


def test_a_topic_that_is_not_utf_8_is_read_as_java_reads_it() -> None:
    assert topics_of(b"\0\0\0\0\0\1\0\2t\xff\0\0\0\0") == frozenset({"t\N{REPLACEMENT CHARACTER}"})


@pytest.mark.parametrize("data", [
    b"", b"\0", b"\0\0", b"\0\0\0\0", b"\0\0\0\0\0\0", b"\0\0\0\0\0\1\0",
])  # fmt: skip
def test_bytes_that_stop_before_a_field_of_fixed_size_are_forgiven(data: bytes) -> None:
    assert not breaks_the_reader(data)
    assert topics_of(data) is None


@pytest.mark.parametrize("data", [
    b"metadata",  # as many topics as the letters say
    b"\0\0\xff\xff\xff\xff",  # a negative number of topics
    b"\0\0\0\0\0\1\xff\xff",  # a topic that is null
    b"\0\0\0\0\0\1\x80\0" + b"t" * 40_000,  # a negative length, though there is as much as it says without its sign
    b"\0\0\0\0\0\1\0\5t",  # a topic longer than what is left
    b"\0\0\0\0\0\0\0\0\0\5d",  # user data longer than what is left
])  # fmt: skip
def test_lengths_that_make_no_sense_break_the_reader(data: bytes) -> None:
    assert breaks_the_reader(data)
    assert topics_of(data) is None


@given(st.binary(max_size=40))
def test_any_bytes_are_judged(data: bytes) -> None:
    assert not (breaks_the_reader(data) and topics_of(data) is not None)


@pytest.mark.requirement("JOIN-32")
@pytest.mark.parametrize(
    ("lists", "possible"),
    [
        ([("a", "b")], ["a"]),
        ([("a", "b"), ("b", "a")], ["a", "b"]),
        ([("a", "b", "c"), ("b", "a", "c")], ["a", "b"]),  # both members prefer a to c
        ([("c", "a"), ("a", "b")], ["a"]),
        ([("a", "b", "c"), ("c", "b", "a"), ("c", "b", "a")], ["a", "b", "c"]),
    ],
)
def test_without_agreement_each_protocol_is_possible_that_all_support_and_none_is_preferred_to(
    lists: list[tuple[str, ...]], possible: list[str]
) -> None:
    assert possible_protocols([_protocols(*names) for names in lists]) == possible
