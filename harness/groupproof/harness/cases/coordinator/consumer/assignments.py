"""The assignments of the server-side assignors (CGA-01 to CGA-25)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import consumer_case, shared
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import describe, join, leave, settled
from groupproof.harness.model.verdicts import Level

__all__ = ["CASES"]

_TWO: Final[Mapping[str, int]] = {"t": 4, "u": 3}

_TARGETS: Final[Mapping[str, tuple[str, Mapping[str, int], tuple[tuple[str, tuple[str, ...]], ...], tuple[str, ...], tuple[str, ...]]]] = {
    "one-topic-two-members": ("one topic out to two members", {"t": 4}, (("a", ("t",)), ("b", ("t",))), ("CGA-07",), ("CGA-15",)),
    "one-topic-three-members": ("one topic out to three members", {"t": 4}, tuple((name, ("t",)) for name in "abc"), ("CGA-08", "CGA-11"), ("CGA-16",)),
    "more-members-than-partitions": ("one partition out to three members", {"t": 1}, tuple((name, ("t",)) for name in "abc"), ("CGA-09",), ("CGA-20",)),
    "two-topics-two-members": (
        "two topics out to two members", _TWO, tuple((name, ("t", "u")) for name in "ba"), ("CGA-12",), ("CGA-17",),
    ),
    "three-topics-two-members": (
        "three topics out to two members", {**_TWO, "one": 1}, tuple((name, ("t", "u", "one")) for name in "ab"), ("CGA-12",), ("CGA-18",),
    ),
    "uneven-subscriptions": (
        "topics out to members that subscribe to both, or to one", _TWO, (("a", ("t", "u")), ("b", ("t",)), ("c", ("u",))), ("CGA-13",), ("CGA-19",),
    ),
    "nothing-in-common": ("topics out to members with nothing in common", _TWO, (("a", ("t",)), ("b", ("u",))), ("CGA-14",), ("CGA-21",)),
    "topics-of-one-size": (
        "two topics of one size out to two members", {"t": 4, "w": 4}, tuple((name, ("t", "w")) for name in "ab"), ("CGA-12",), ("CGA-23",),
    ),
    "many-members": ("one topic out to six members", {"t": 8}, tuple((name, ("t",)) for name in "abcdef"), ("CGA-10", "CGA-11"), ("CGA-04",)),
    "some-without-topics": ("a topic out past a member without topics", {"t": 4}, (("a", ("t",)), ("b", ()), ("c", ("t",))), ("CGA-05",), ("CGA-05",)),
}  # fmt: skip

_AS_KAFKA_CHOOSES: Final = frozenset({"two-topics-two-members", "three-topics-two-members", "uneven-subscriptions", "topics-of-one-size"})
"""Cases in which `uniform` has several balanced results. The choice depends on the order of topic ids, in Kafka too."""


def _targets() -> Iterator[Case]:
    """Yield cases on each assignor's target, and on the group reaching it."""
    for assignor in ("uniform", "range"):
        for name, (words, topics, members, by_uniform, by_range) in _TARGETS.items():
            names = [member for member, _ in members]
            own = by_uniform if assignor == "uniform" else by_range
            is_choice = assignor == "uniform" and name in _AS_KAFKA_CHOOSES
            yield consumer_case(
                f"assign/{assignor}-{name}",
                f"shares {words} as the assignor {assignor} does",
                own if is_choice else ("CGA-01", "CGA-04", *own, "CGI-11"),
                *(join(member, names=wanted, server_assignor=assignor) for member, wanted in members),
                describe("z"),
                settled(*names),
                describe("z", code=0),
                topics=topics,
            )


_ASSIGNORS: Final = (
    consumer_case(
        "assign/range-static-first",
        "gives static members the first ranges, by their instance ids",
        ("CGA-22",),
        join("a", server_assignor="range"),
        join("z", server_assignor="range", instance="i2"),
        join("y", server_assignor="range", instance="i1"),
        settled("a", "z", "y"),
        describe("x", code=0),
    ),
    consumer_case(
        "assign/uniform-keeps-what-it-can",
        "takes from nobody more than another is to have when a member leaves",
        ("CGA-11",),
        join("a"),
        settled("a"),
        join("b"),
        settled("a", "b"),
        join("c"),
        settled("a", "b", "c"),
        leave("b"),
        settled("a", "c"),
        describe("z", code=0),
    ),
    consumer_case(
        "assign/default", "takes the first assignor of the broker where no member names one", ("CGA-02",), join("a"), describe("z", code=0)
    ),
    consumer_case(
        "assign/most-votes",
        "takes the assignor that most members name",
        ("CGA-03",),
        join("a", server_assignor="uniform"),
        join("b", server_assignor="range"),
        join("c", server_assignor="range"),
        describe("z", code=0),
        settled("a", "b", "c"),
    ),
    consumer_case(
        "assign/one-vote-of-several-members",
        "takes the only assignor that is named, by whomever",
        ("CGA-03", "CGA-02"),
        join("a"),
        join("b"),
        join("c", server_assignor="range"),
        describe("z", code=0),
    ),
    consumer_case(
        "assign/racks", "looks at no racks", ("CGA-25",), join("a", rack_id="r1"), join("b", rack_id="r2"), settled("a", "b"), describe("z", code=0)
    ),
    consumer_case(
        "assign/same-history-same-target",
        "gives the same members in the same order the same shares",
        ("CGA-24",),
        shared(),
        leave("b"),
        settled("a"),
        join("b"),
        settled("a", "b"),
        describe("z", code=0),
    ),
)


def _newcomer_without_topics() -> Iterator[Case]:
    """Yield cases on a target that is due when a member without a topic joins (docs/upstream/kafka-a-newcomer-without-topics-empties-a-group.md).

    CGA-04 and CGA-05 forbid what every release of Kafka does here, so the cases only report. The member ids decide the order in Java's HashMap.
    """
    for newcomer, name, words in (
        ("newcomer", "newcomer-without-topics-comes-first", "takes everything from everybody"),
        ("late-8", "newcomer-without-topics-comes-later", "keeps partitions for a member that does not subscribe to them"),
    ):
        made = consumer_case(
            f"assign/{name}",
            f"{words} where somebody without a topic joins just after another has left",
            ("CGA-04", "CGA-05"),
            (join("leaver"), join("one"), join("two")),
            settled("leaver", "one", "two"),
            leave("leaver", code=0),
            join(newcomer, names=(), code=0),
            describe("z", code=0),
            settled("one", "two", newcomer),
            describe("z", code=0),
        )
        yield replace(made, level=Level.INFO)


CASES: Final[tuple[Case, ...]] = (*_targets(), *_ASSIGNORS, *_newcomer_without_topics())
