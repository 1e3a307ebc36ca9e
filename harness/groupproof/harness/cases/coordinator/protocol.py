"""The chosen protocol, the leader, and who gets the list of members (JOIN-05 to JOIN-07, JOIN-14, JOIN-15, JOIN-32)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from groupproof.harness.cases.coordinator.coordinator_case_builders import (
    Steps,
    all_joined,
    alone,
    case,
    gathered,
    let_in,
    offering,
    passing,
    preparing,
    rejoined,
    synced,
)
from groupproof.harness.model.case import Case
from groupproof.harness.model.script import ScriptStep, SubscriptionBytes
from groupproof.harness.model.script_builders import answered, beat, describe, join, joined, leave, stable, sync
from groupproof.protocol.vocabulary import Level

__all__ = ["CASES"]


def _offered(protocols: Mapping[str, Sequence[str]]) -> tuple[ScriptStep, ...]:
    """Return the joins of members that offer different protocols into one generation; the first leads."""
    first, *others = protocols
    steps: list[ScriptStep] = list(alone(first, protocols=protocols[first]))
    for other in others:
        steps += joined(other, protocols=protocols[other], is_parked=True)
    return (*steps, join(first, protocols=protocols[first]), *(answered(f"join {option}", code=0) for option in protocols))


def _vote(name: str, title: str, protocols: Mapping[str, Sequence[str]], *more: Steps, level: Level | None = None) -> Case:
    return case(f"protocol/{name}", title, ("JOIN-32", "JOIN-13"), _offered(protocols), *more, level=level, required=level is None)


_VOTES = (
    _vote("only-common", "chooses the one protocol that all members offer", {"a": ("range", "roundrobin"), "b": ("roundrobin",)}, synced("a", "b")),
    _vote(
        "first-of-equal-lists",
        "chooses the first protocol of members that all want the same",
        {"a": ("roundrobin", "range"), "b": ("roundrobin", "range")},
    ),
    _vote(
        "most-votes",
        "chooses the protocol that most members put first",
        {"a": ("range", "roundrobin"), "b": ("roundrobin", "range"), "c": ("roundrobin", "range")},
    ),
    _vote(
        "votes-of-the-possible",
        "counts a member's vote for the first of its protocols that all others offer too",
        {"a": ("sticky", "range", "roundrobin"), "b": ("roundrobin", "range"), "c": ("sticky", "roundrobin", "range")},
    ),
    _vote("tie", "chooses one of two protocols with as many votes", {"a": ("range", "roundrobin"), "b": ("roundrobin", "range")}, level=Level.INFO),
    case(
        "protocol/changes-with-the-members",
        "chooses anew in each rebalance",
        ("JOIN-32", "TR-122"),
        _offered({"a": ("range", "roundrobin"), "b": ("roundrobin",)}),
        synced("a", "b"),
        leave("b", code=0),
        join("a", protocols=("range", "roundrobin")),
        answered("join a", code=0),
        synced("a"),
    ),
    case(
        "protocol/opaque-type",
        "keeps groups of any protocol type, and its bytes as they are",
        ("JOIN-08", "JOIN-15", "SYNC-12"),
        gathered("a", "b", protocol_type="connect", protocols=("sessioned", "compatible"), metadata=b"\x00\x01\xff not a subscription"),
        sync("b", protocol_type="connect", wait=False, is_parked=True),
        sync("a", {"a": [], "b": []}, protocol_type="connect", code=0),
        answered("sync b", code=0),
        describe("x", code=0),
    ),
    case(
        "protocol/no-bytes",
        "takes members in whose metadata is empty, in a protocol type that is not the consumer's",
        ("JOIN-15",),
        gathered("a", "b", protocol_type="custom", protocols=("p",), metadata=b""),
    ),
    case(
        "protocol/every-subscription-version",
        "hands on subscriptions of every version",
        ("JOIN-15", "JOIN-31"),
        alone("a", metadata=SubscriptionBytes(version=0)),
        *(
            joined(f"m{version}", metadata=SubscriptionBytes(version=version, owned=(("t", 0),) if version else ()), is_parked=True)
            for version in range(1, 4)
        ),
        join("a", metadata=SubscriptionBytes(version=0)),
        answered("join a", code=0),
        *(answered(f"join m{version}", code=0) for version in range(1, 4)),
    ),
    case(
        "protocol/unreadable-subscription",
        "does what it does with a consumer whose subscription cannot be read: 4.1 never ends that join",
        ("TR-046",),
        joined("a", metadata=b"\x00"),
        passing(500),
        describe("x"),
        level=Level.INFO,
        required=False,
    ),
    case(
        "protocol/of-the-chosen-alone",
        "lists for the leader the metadata of the chosen protocol alone",
        ("JOIN-15", "JOIN-32"),
        alone("a", protocols=("roundrobin",)),
        *(
            offering(step, {"range": SubscriptionBytes(user_data=b"for range"), "roundrobin": SubscriptionBytes(user_data=b"for roundrobin")})
            for step in joined("b", is_parked=True)
        ),
        join("a", protocols=("roundrobin",)),
        let_in("a", "b"),
    ),
)

_LEADERS = (
    case(
        "leader/first-to-join",
        "makes the first member the leader, who alone sees the members",
        ("JOIN-05", "JOIN-14", "INV-05"),
        gathered("a", "b", "c"),
    ),
    case(
        "leader/keeps-the-lead",
        "leaves the lead with the leader, whoever joins again first",
        ("JOIN-06",),
        stable("a", "b"),
        join("b", protocols=("range", "roundrobin"), is_parked=True),
        join("a"),
        answered("join b", code=0),
        answered("join a", code=0),
        synced("a", "b"),
        join("b", is_parked=True),
        join("a"),
        answered("join b", code=0),
        answered("join a", code=0),
    ),
    case(
        "leader/leaves",
        "gives the lead to one who remains when the leader leaves, and lists only who is there",
        ("JOIN-07", "INV-05", "TR-122"),
        stable("a", "b", "c"),
        leave("a", code=0),
        join("b", is_parked=True),
        all_joined("c", "b"),
        beat("b", code=0),
        beat("c", code=0),
    ),
    case(
        "leader/session-ends",
        "gives the lead to one who remains when the leader's session ends",
        ("JOIN-07", "TR-120", "HB-60"),
        gathered("a", "b", session_timeout_ms=3_000),
        synced("a", "b"),
        passing(1_800),
        beat("b", code=0),
        passing(1_800),
        beat("b", code=27),
        rejoined("b"),
        synced("b"),
    ),
    case(
        "leader/leaves-while-preparing",
        "gives the lead to one who remains when the leader leaves before the join phase ends",
        ("JOIN-07", "TR-061"),
        preparing("a", "b", "c"),
        leave("a", over="a/2", code=0),
        answered("join a", code=25, within_ms=2_000),
        join("b", is_parked=True),
        all_joined("c", "b"),
    ),
    case(
        "leader/lists-itself",
        "lists all members for the leader, itself among them, each with its group instance",
        ("JOIN-14", "JOIN-15"),
        rejoined("a", instance="i-a", version=5),
        join("b", instance="i-b", version=5, is_parked=True),
        all_joined("a", "b", instance="i-a", version=5),
    ),
)

CASES: tuple[Case, ...] = (*_VOTES, *_LEADERS)
