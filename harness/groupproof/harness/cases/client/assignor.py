"""The leader's work: every member gets an entry and every partition an owner, by the agreed assignor (CLIENT-12, ASSIGN-07 to ASSIGN-13)."""

from __future__ import annotations

from groupproof.harness.cases.client.client_case_builders import case
from groupproof.harness.judging.case_checkers.leader_assignment import (
    assigns_at_once,
    assigns_everyone,
    assigns_everything,
    assigns_exactly,
    follower_assigns_nothing,
    holds_only,
    holds_partitions,
    takes_what_it_was_given,
)
from groupproof.harness.judging.case_checkers.leader_duties import leaves_nobody_out, or_left, syncs_as_leader
from groupproof.harness.judging.case_checkers.required_settings import offers
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan_builders import assigned, joined, mark, passing, plan, reference_peer, settled, start, subject
from groupproof.protocol.trace import Partitions

__all__ = ["CASES"]


def _partitions(**topics: tuple[int, ...]) -> Partitions:
    return tuple((topic, number) for topic, numbers in topics.items() for number in numbers)


CASES: tuple[Case, ...] = (
    case(
        "assignor/range-as-leader",
        "A leader assigns by range as Kafka's range does.",
        ("ASSIGN-07", "ASSIGN-09", "CLIENT-12"),
        plan(subject("m0", topics=["t", "u"]), reference_peer("z0", topics=["t", "u"]), *joined("m0", "z0"), passing(200), topics={"t": 3, "u": 3}),
        offers("m0", "range"),
        assigns_everything("m0", {"t": 3, "u": 3}),
        assigns_exactly("m0", {"m0": _partitions(t=(0, 1), u=(0, 1)), "z0": _partitions(t=(2,), u=(2,))}, requirement="ASSIGN-07"),
    ),
    case(
        "assignor/roundrobin-as-leader",
        "A leader assigns by roundrobin as Kafka's roundrobin does.",
        ("ASSIGN-08", "ASSIGN-09", "CLIENT-12"),
        plan(
            subject("m0", topics=["t", "u"], assignors=["roundrobin"]),
            reference_peer("z0", topics=["t", "u"], assignors=["roundrobin"]),
            *joined("m0", "z0"),
            passing(200),
            topics={"t": 3, "u": 3},
        ),
        assigns_everything("m0", {"t": 3, "u": 3}),
        assigns_exactly(
            "m0", {"m0": _partitions(t=(0, 2), u=(1,)), "z0": _partitions(t=(1,), u=(0, 2))}, assignor="roundrobin", requirement="ASSIGN-08"
        ),
    ),
    case(
        "assignor/member-without-partitions",
        "A leader has an entry in its SyncGroup for the member that gets no partition.",
        ("CLIENT-12", "CLIENT-36", "ASSIGN-09"),
        plan(subject("m0"), reference_peer("z0"), *joined("m0", "z0", idle=["z0"]), passing(200), topics={"t": 1}),
        syncs_as_leader("m0", members=2),
        or_left("m0", 2, assigns_everyone("m0", 2)),
        assigns_everything("m0", {"t": 1}),
    ),
    case(
        "assignor/leader-without-partitions",
        "A leader that gets no partition itself gives every one to the others.",
        ("ASSIGN-09", "CLIENT-12", "CLIENT-36"),
        plan(subject("m0"), reference_peer("a0"), *joined("m0", "a0"), passing(200), topics={"t": 1}),
        syncs_as_leader("m0", members=2),
        or_left("m0", 2, assigns_everyone("m0", 2)),
        assigns_everything("m0", {"t": 1}),
    ),
    case(
        "assignor/topic-of-another",
        "A leader assigns also the topic that only another member subscribes to, and to that member alone.",
        ("ASSIGN-09", "ASSIGN-10", "ASSIGN-07", "CLIENT-36"),
        plan(
            subject("m0", topics=["t"]),
            reference_peer("z0", topics=["t", "u"]),
            *joined("m0"),
            mark("newcomer"),
            *start("z0"),
            assigned("z0", ("t", 1), ("u", 0), ("u", 1), after="newcomer", go_on=True),
            settled({"t": 2, "u": 2}, "m0", "z0", after="newcomer"),
            passing(200),
            topics={"t": 2, "u": 2},
        ),
        syncs_as_leader("m0", members=2),
        or_left("m0", 2, assigns_everything("m0", {"t": 2, "u": 2}, after="newcomer")),
        or_left("m0", 2, assigns_at_once("m0", {"t": 2, "u": 2}, after="newcomer")),
        or_left(
            "m0",
            2,
            assigns_exactly("m0", {"m0": _partitions(t=(0,)), "z0": _partitions(t=(1,), u=(0, 1))}, requirement="ASSIGN-07", after="newcomer"),
        ),
        holds_only("m0", ("t",), after="newcomer"),
    ),
    case(
        "assignor/three-members",
        "A leader of three shares seven partitions so that nobody has more than one above another.",
        ("ASSIGN-07", "ASSIGN-09", "CLIENT-12", "CLIENT-36"),
        plan(subject("m0"), reference_peer("a0"), reference_peer("z0"), *joined("m0", "a0", "z0"), passing(200), topics={"t": 7}),
        syncs_as_leader("m0", members=2),
        or_left("m0", 2, leaves_nobody_out("m0", members=2, partitions=7)),
        or_left("m0", 2, assigns_everyone("m0", 3)),
        assigns_everything("m0", {"t": 7}),
        assigns_exactly("m0", {"a0": _partitions(t=(0, 1, 2)), "m0": _partitions(t=(3, 4)), "z0": _partitions(t=(5, 6))}, requirement="ASSIGN-07"),
    ),
    case(
        "assignor/as-follower",
        "A follower syncs without an assignment and takes the one that the leader made.",
        ("CLIENT-12", "INV-09"),
        plan(reference_peer("a0"), subject("m0"), *joined("a0", "m0"), settled({"t": 4}, "a0", "m0"), passing(2_500), topics={"t": 4}),
        follower_assigns_nothing("m0"),
        holds_partitions("m0", 2, requirement="INV-09"),
        takes_what_it_was_given("m0", requirement="INV-09"),
    ),
)
