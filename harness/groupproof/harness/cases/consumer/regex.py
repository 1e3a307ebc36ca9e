"""Subscriptions by a regular expression that the brokers match (CGC-13, CGC-14, CGC-32, CGX-18 to CGX-28)."""

from __future__ import annotations

from groupproof.harness.cases.consumer.epoch_builders import BEAT, INTERVAL_MS, case, left, plan, reconciled, rejoining, subject
from groupproof.harness.judging.case_checkers.consumer.epoch_hand_over import names_only_what_is_new
from groupproof.harness.judging.case_checkers.consumer.epoch_join import acknowledges, joins_in_full, subscribes_by_regex
from groupproof.harness.judging.case_checkers.consumer.epoch_leave import is_quiet_after_leaving, leaves
from groupproof.harness.judging.case_checkers.consumer.epoch_reactions import gives_up_partitions, joins_anew
from groupproof.harness.judging.case_checkers.reactions import request_came
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan_builders import answers, close, consumed, delivered, mark, passing, start
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["CASES"]

_TOPICS = {"t": 2, "u": 2, "v": 2}
_MATCHED = {"t": 2, "u": 2}
_PATTERN = "t|u"

CASES: tuple[Case, ...] = (
    case(
        "regex/join",
        "A member that subscribes by a regular expression sends that, and is assigned what the brokers match.",
        ("CGC-13", "CGC-32"),
        plan(subject(pattern=_PATTERN), *start("m0"), reconciled("m0", topics=_MATCHED), consumed("m0"), passing(500), topics=_TOPICS),
        subscribes_by_regex("m0"),
        joins_in_full("m0"),
        acknowledges("m0"),
    ),
    case(
        "regex/two-members",
        "Two members with one regular expression share what it matches.",
        ("CGC-13", "CGT-07"),
        plan(
            subject(pattern=_PATTERN),
            subject("m1", pattern=_PATTERN),
            [*start("m0"), reconciled("m0", topics=_MATCHED), *start("m1"), reconciled("m0", "m1", topics=_MATCHED), passing(500)],
            topics=_TOPICS,
        ),
        subscribes_by_regex("m1"),
        acknowledges("m0"),
        acknowledges("m1"),
        names_only_what_is_new("m0"),
    ),
    case(
        "regex/fenced",
        "A member that subscribes by a regular expression and is fenced joins again with it.",
        ("CGT-18", "CGC-13"),
        plan(
            subject(pattern=_PATTERN),
            *start("m0"),
            reconciled("m0", topics=_MATCHED),
            answers("error", BEAT, ErrorCode.FENCED_MEMBER_EPOCH),
            delivered("error"),
            rejoining("m0", after="error"),
            passing(6 * INTERVAL_MS),
            topics=_TOPICS,
        ),
        request_came("error", "m0", BEAT, requirement="CGC-28"),
        joins_anew("m0", after="error", requirement="CGT-18"),
        gives_up_partitions("m0", after="error", requirement="CGT-18", within_ms=2_000),
        subscribes_by_regex("m0"),
    ),
    case(
        "regex/close",
        "A member that subscribes by a regular expression leaves as any other.",
        ("CGV-01", "CGV-11"),
        plan(
            subject(pattern=_PATTERN),
            *start("m0"),
            reconciled("m0", topics=_MATCHED),
            mark("closing"),
            close("m0"),
            left("m0", after="closing"),
            passing(2 * INTERVAL_MS),
            topics=_TOPICS,
        ),
        leaves("m0", after="closing"),
        is_quiet_after_leaving("m0", after="closing"),
    ),
)
