"""The administrator's view of groups: describe, list and delete (CGD-01 to CGD-28)."""

from __future__ import annotations

from typing import Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import STATES, consumer_case, ordered, shared
from groupproof.harness.model import script_builders as classic
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import beat, commit, delete_groups, describe, fetch, join, leave, settled
from groupproof.harness.model.script import Group
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER

__all__ = ["CASES"]

_NONE: Final = -1
_LEFT: Final = (join("a"), commit("a"), leave("a"))

CASES: Final[tuple[Case, ...]] = (
    consumer_case(
        "describe/stable",
        "describes a group with its epochs, its assignor and its members",
        ("CGD-01", "CGD-02", "CGD-03", "CGD-06"),
        join("a", rack_id="r1", instance="i1"),
        describe("z", code=0),
        describe("z", version=0, code=0),
    ),
    consumer_case(
        "describe/target-beside-assignment",
        "shows what a member has and what it is to have apart",
        ("CGD-05", "CGD-08"),
        (join("a"), join("b")),
        describe("z", code=0),
        beat("a"),
        describe("z", code=0),
        settled("a", "b"),
        describe("z", code=0),
    ),
    consumer_case(
        "describe/under-revocation",
        "shows partitions that are to be revoked as their owner's still, since 4.3",
        ("CGD-09", "CGD-10"),
        ordered(),
        describe("z", code=0),
    ),
    consumer_case(
        "describe/assigning", "says Assigning while the next target is to come", ("CGD-04",), STATES["assigning"].steps, describe("z", code=0)
    ),
    consumer_case("describe/empty", "describes an Empty group without an error", ("CGD-07",), STATES["empty"].steps, describe("z", code=0)),
    consumer_case("describe/no-group", "describes no group that does not exist: 69", ("CGD-11",), describe("z", code=69)),
    consumer_case("describe/no-name", "describes no group without a name: 24", ("CGD-13",), join("a"), describe("z", ""), describe("z", code=0)),
    consumer_case(
        "describe/several", "describes several groups, each by itself", ("CGD-16", "CGD-11"), join("a"), describe("z", Group("g"), Group("h"))
    ),
    consumer_case(
        "describe/by-the-classic-request",
        "tells who asks by DescribeGroups that there is no such classic group",
        ("CGD-17", "CGD-18"),
        join("a"),
        classic.describe("z", version=6),
        classic.describe("z", version=5),
    ),
    consumer_case(
        "list/listed",
        "lists a consumer group with its type and its state",
        ("CGD-20",),
        join("a"),
        classic.list_groups("z", version=5, code=0),
        join("b"),
        classic.list_groups("z", version=5, code=0),
    ),
    *(
        consumer_case(f"list/by-{name}", f"lists groups by {words}", (requirement,), shared(), classic.list_groups("z", version=5, **fields, code=0))
        for name, words, requirement, fields in (
            ("type", "their type", "CGD-21", {"types_filter": (CONSUMER.name,)}),
            ("type-in-capitals", "their type, in any case", "CGD-21", {"types_filter": ("Consumer",)}),
            ("other-type", "another type", "CGD-21", {"types_filter": (CLASSIC.name,)}),
            ("unknown-type", "a type that there is not", "CGD-22", {"types_filter": ("bogus",)}),
            ("state", "their state, in any case", "CGD-23", {"states_filter": ("stable",)}),
            ("other-state", "another state", "CGD-23", {"states_filter": ("Empty",)}),
            ("state-of-its-own", "a state of consumer groups alone", "CGD-23", {"states_filter": ("Reconciling", "Assigning")}),
            ("unknown-state", "a state that there is not", "CGD-22", {"states_filter": ("bogus",)}),
        )
    ),
    consumer_case("delete/with-members", "deletes no group with members: 68", ("CGD-24",), join("a"), delete_groups("z", code=68), beat("a", code=0)),
    consumer_case(
        "delete/empty-group",
        "deletes an Empty group with its offsets, whose epochs then begin anew",
        ("CGD-26", "CGD-28"),
        _LEFT,
        delete_groups("z", code=0),
        describe("z", code=69),
        fetch("z", member_id=None, epoch=_NONE, code=0),
        join("a", code=0),
        describe("z", code=0),
    ),
    consumer_case("delete/no-group", "deletes no group that does not exist: 69", ("CGD-27",), delete_groups("z", code=69)),
)
