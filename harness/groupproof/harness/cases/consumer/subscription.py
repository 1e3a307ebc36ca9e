"""Changes of subscriptions and topics in a group of KIP-848: reports, acknowledgements, revocations (CGC-11, CGC-16, CGT-02, CGT-07, CGT-09)."""

from __future__ import annotations

from typing import Final

from groupproof.harness.cases.consumer.epoch_builders import BEAT, case, joined, plan, reconciled, subject
from groupproof.harness.judging.case_checkers.consumer.epoch_hand_over import calls_back_before, names_only_what_is_new
from groupproof.harness.judging.case_checkers.consumer.epoch_join import acknowledges, learns_assignment, subscribes_to
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Await, Matches
from groupproof.harness.model.plan_builders import answers, command, delivered, grow, holds, mark, passing, release
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["CASES"]

_LATE_MS: Final = 1_500
"""How long the names of new topics are held at most, if the assignment does not come before (KAFKA-16198)."""

CASES: tuple[Case, ...] = (
    case(
        "rebalance/subscribes-to-more",
        "A member that subscribes to one more topic says so, and is assigned it beside what it has.",
        ("CGC-11", "CGT-09"),
        plan(
            subject(),
            *joined("m0"),
            mark("more"),
            holds("late", Api.METADATA),
            command("m0", "resubscribe", topics=["t", "u"], wait=False),  # a late line must not lengthen what is held
            Await(
                until=Matches(kind_of="response", api=BEAT.title, client="m0", after="more", where={"member_epoch": 2}),
                within_ms=_LATE_MS,
                go_on=True,
            ),
            passing(500),  # the client reads its assignment before it has the names
            release("late"),
            reconciled("m0", topics={"t": 2, "u": 2}, after="more", go_on=True),
            passing(500),
            topics={"t": 2, "u": 2},
        ),
        subscribes_to("m0", ("t", "u"), after="more", within_ms=3_000 + _LATE_MS),
        acknowledges("m0", after="more"),
        names_only_what_is_new("m0"),
    ),
    case(
        "rebalance/subscribes-to-less",
        "A member that subscribes to one topic less says so, and gives up what it had of it.",
        ("CGC-11", "CGT-07"),
        plan(
            subject(topics=["t", "u"]),
            *joined("m0", topics={"t": 2, "u": 2}),
            mark("less"),
            command("m0", "resubscribe", topics=["t"]),
            reconciled("m0", topics={"t": 2}, after="less", go_on=True),
            passing(500),
            topics={"t": 2, "u": 2},
        ),
        subscribes_to("m0", ("t",), after="less", within_ms=3_000),
        acknowledges("m0", after="less", requirement="CGT-07"),
        calls_back_before("m0", after="less"),
    ),
    case(
        "rebalance/subscribes-to-another",
        "A member that subscribes to another topic instead gives up what it had and takes the other.",
        ("CGC-11", "CGT-02", "CGT-07"),
        plan(
            subject(),
            *joined("m0"),
            mark("other"),
            command("m0", "resubscribe", topics=["u"]),
            reconciled("m0", topics={"u": 2}, after="other", go_on=True),
            passing(500),
            topics={"t": 2, "u": 2},
        ),
        subscribes_to("m0", ("u",), after="other", within_ms=3_000),
        acknowledges("m0", after="other", requirement="CGT-02"),
        calls_back_before("m0", after="other"),
    ),
    case(
        "rebalance/topic-grows",
        "A member takes up the partitions by which its topic grows.",
        ("CGC-16", "CGT-09"),
        plan(
            # Metadata is old, as in production: no client finds the partitions by chance before its coordinator assigns them.
            subject(),
            [*joined("m0"), mark("grown"), grow("t", 4), reconciled("m0", topics={"t": 4}, after="grown", go_on=True), passing(500)],
        ),
        acknowledges("m0", after="grown", within_ms=8_000),
        names_only_what_is_new("m0"),
    ),
    case(
        "rebalance/refused-subscription",
        "A new subscription that is refused by a loading coordinator is sent again.",
        ("CGC-18",),
        plan(
            subject(),
            *joined("m0"),
            answers("error", BEAT, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, count=2),
            command("m0", "resubscribe", topics=["t", "u"]),
            delivered("error"),
            reconciled("m0", topics={"t": 2, "u": 2}, after="error", go_on=True),
            passing(500),
            topics={"t": 2, "u": 2},
        ),
        learns_assignment("m0", after="error", partitions=4, requirement="CGC-18"),
    ),
)
