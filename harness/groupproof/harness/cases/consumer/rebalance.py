"""Partitions that change their owner in a group of KIP-848: order, positions, and lost answers (CGT-02 to CGT-17, CGP-11 to CGP-14)."""

from __future__ import annotations

from typing import Any

from groupproof.harness.cases.client.client_case_builders import SHOULD
from groupproof.harness.cases.consumer.epoch_builders import BEAT, LONG_MS, case, joined, left, plan, reconciled, rejoining, subject, triggered
from groupproof.harness.judging.case_checkers.consumer.epoch_hand_over import (
    calls_back_before,
    commits_before,
    keeps_reading,
    names_only_what_goes,
    names_only_what_is_new,
    reads_no_more,
)
from groupproof.harness.judging.case_checkers.consumer.epoch_join import acknowledges, learns_assignment
from groupproof.harness.judging.case_checkers.consumer.epoch_reactions import joins_anew, keeps_epoch
from groupproof.harness.judging.case_checkers.consumer.epoch_rhythm import never_two_in_flight, stays_alive
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Step
from groupproof.harness.model.plan_builders import answers, append, close, cuts, delivered, event, holds, mark, passing, silences, start
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["CASES"]

_ALL = 4
_FOUR = {"t": _ALL}

FETCH_MS = 6_000
"""A waiting fetch gets records that were appended after it began only when its wait ends: 5 s for a client without a setting for it (franz-go)."""


def _newcomer(*more: Step | list[Step]) -> list[Step]:
    """Return the steps in which a second member joins a first one that has read everything."""
    steps: list[Step] = [
        *joined("m0", topics=_FOUR),
        passing(500),
        mark("newcomer"),
        *start("m1"),
        reconciled("m0", "m1", topics=_FOUR, after="newcomer", go_on=True),
    ]
    for step in more:
        steps += [step] if not isinstance(step, list) else step
    return steps


_HAND_OVER: tuple[Case, ...] = (
    case(
        "rebalance/hand-over",
        "A member that is to give partitions up does so before it says so, fetches them no more, and reads the others on.",
        ("CGT-06", "CGT-07", "CGP-14"),
        plan(subject(), subject("m1"), *_newcomer(append("t", 4, 5)), passing(FETCH_MS), topics=_FOUR),
        acknowledges("m0", after="newcomer", requirement="CGT-07"),
        acknowledges("m1", after="newcomer"),
        calls_back_before("m0", after="newcomer"),
        names_only_what_goes("m0", after="newcomer"),
        reads_no_more("m0", after="newcomer"),
        keeps_reading("m0", after="newcomer"),
        names_only_what_is_new("m0"),
        never_two_in_flight("m0"),
    ),
    case(
        "rebalance/hand-over-at-long-intervals",
        "A member that heartbeats every three seconds says at once what it gave up and what it took, so that nobody waits for its next interval.",
        ("CGC-29", "CGT-07"),
        plan(subject(), subject("m1"), *_newcomer(), passing(500), topics=_FOUR, interval_ms=3_000, session_ms=15_000),
        acknowledges("m0", after="newcomer", requirement="CGT-07"),
        calls_back_before("m0", after="newcomer"),
        level=SHOULD,
    ),
    case(
        "rebalance/hand-over-auto-commit",
        "A member that commits by itself has committed what it read before it says that it gave partitions up.",
        ("CGT-05",),
        plan(subject(auto_commit=True, auto_commit_interval_ms=60_000), subject("m1"), *_newcomer(), passing(500), topics=_FOUR),
        commits_before("m0", after="newcomer"),
        calls_back_before("m0", after="newcomer"),
        spares=["auto_commit_interval_ms"],
    ),
    case(
        "rebalance/slow-commit-while-handing-over",
        "A member whose commit before it gives partitions up is answered late gives its application nothing more of them meanwhile.",
        ("CGT-04", "CGT-05"),
        plan(
            subject(auto_commit=True, auto_commit_interval_ms=60_000),
            subject("m1"),
            *joined("m0", topics=_FOUR),
            passing(500),
            holds("slow", Api.OFFSET_COMMIT, ms=2_500, client="m0"),
            mark("newcomer"),
            *start("m1"),
            triggered("slow", within_ms=LONG_MS),
            append("t", 4, 5),
            reconciled("m0", "m1", topics=_FOUR, after="newcomer", go_on=True),
            passing(500),
            topics=_FOUR,
            session_ms=15_000,
        ),
        commits_before("m0", after="newcomer", requirement="CGT-04", meanwhile=True),
        spares=["auto_commit_interval_ms"],
    ),
    case(
        "rebalance/hand-over-commits-in-callback",
        "A member whose application commits as it gives partitions up says so when it has.",
        ("CGT-06", "CGT-05"),
        plan(subject(on_revoked={"sleep_ms": 0, "commit": True}), subject("m1"), *_newcomer(), passing(500), topics=_FOUR),
        commits_before("m0", after="newcomer"),
        calls_back_before("m0", after="newcomer"),
    ),
    case(
        "rebalance/slow-hand-over",
        "A member whose application is slow in giving partitions up heartbeats meanwhile, and says so only when it has.",
        ("CGT-06", "CGC-28"),
        plan(subject(on_revoked={"sleep_ms": 3_000, "commit": False}), subject("m1"), *_newcomer(), passing(300), topics=_FOUR, session_ms=2_000),
        calls_back_before("m0", after="newcomer"),
        stays_alive("m0", after="newcomer", session_ms=2_000),
        acknowledges("m0", after="newcomer", requirement="CGT-07", at_once_ms=5_000),
    ),
    case(
        "rebalance/takes-over",
        "A member takes up what another that closed has left, and tells its application of that alone.",
        ("CGT-09", "CGC-16"),
        plan(
            subject(),
            subject("m1"),
            *joined("m0", "m1", topics=_FOUR),
            mark("closing"),
            close("m1"),
            reconciled("m0", topics=_FOUR, after="closing", go_on=True),
            append("t", 4, 3),
            passing(1_500),
            topics=_FOUR,
        ),
        acknowledges("m0", after="closing"),
        names_only_what_is_new("m0"),
    ),
    case(
        "rebalance/three-members",
        "Three members that come one after the other share the partitions, and none is read by two.",
        ("CGT-03", "CGT-07"),
        plan(
            subject(), subject("m1"), subject("m2"), [mark("together"), *joined("m0", "m1", "m2", topics={"t": 6}), passing(1_500)], topics={"t": 6}
        ),
        acknowledges("m0", requirement="CGT-03"),
        acknowledges("m1", requirement="CGT-03"),
        acknowledges("m2", requirement="CGT-03"),
        names_only_what_is_new("m0"),
        reads_no_more("m0", after="together"),
    ),
    case(
        "rebalance/told-again-while-handing-over",
        "A member that is asked for more partitions while its application gives some up gives those up too.",
        ("CGT-15", "CGT-07"),
        plan(
            subject(on_revoked={"sleep_ms": 2_000, "commit": False}),
            subject("m1"),
            subject("m2"),
            *joined("m0", topics={"t": 6}),
            mark("newcomers"),
            *start("m1"),
            event("m0", "partitions_revoked", after="newcomers", go_on=True),
            *start("m2"),
            reconciled("m0", "m1", "m2", topics={"t": 6}, after="newcomers", within_ms=25_000, go_on=True),
            passing(300),
            topics={"t": 6},
        ),
        calls_back_before("m0", after="newcomers"),
        acknowledges("m0", after="newcomers", requirement="CGT-15", at_once_ms=5_000, within_ms=9_000),
        names_only_what_is_new("m0"),
    ),
    case(
        "rebalance/fenced-while-handing-over",
        "A member that is fenced while its application gives partitions up joins again, and drops what is left of that.",
        ("CGT-16", "CGT-18"),
        plan(
            subject(on_revoked={"sleep_ms": 2_500, "commit": False}),
            subject("m1"),
            *joined("m0", topics=_FOUR),
            mark("newcomer"),
            *start("m1"),
            event("m0", "partitions_revoked", after="newcomer", go_on=True),
            answers("error", BEAT, ErrorCode.FENCED_MEMBER_EPOCH, client="m0"),
            delivered("error"),
            rejoining("m0", after="error", within_ms=LONG_MS),
            reconciled("m0", "m1", topics=_FOUR, after="error", go_on=True),
            passing(300),
            topics=_FOUR,
        ),
        joins_anew("m0", after="error", requirement="CGT-18", within_ms=7_000),
        names_only_what_is_new("m0", requirement="CGT-16"),
    ),
)


_MORE: tuple[Case, ...] = (
    case(
        "rebalance/stale-commit-while-handing-over",
        "A member whose commit before it gives partitions up is answered STALE_MEMBER_EPOCH commits them with the newest epoch.",
        ("CGP-05", "CGT-05"),
        plan(
            subject(auto_commit=True, auto_commit_interval_ms=60_000),
            subject("m1"),
            *joined("m0", topics=_FOUR),
            passing(500),
            answers("error", Api.OFFSET_COMMIT, ErrorCode.STALE_MEMBER_EPOCH, client="m0"),
            mark("newcomer"),
            *start("m1"),
            delivered("error", within_ms=12_000),
            reconciled("m0", "m1", topics=_FOUR, after="newcomer", go_on=True),
            passing(500),
            topics=_FOUR,
            session_ms=15_000,
        ),
        # A client that gave up its retries has tried: the next owner reads some records again.
        commits_before("m0", after="newcomer", requirement="CGP-05", uncommitted=Verdict.NON_STRICT),
        calls_back_before("m0", after="newcomer"),
        spares=["auto_commit_interval_ms"],
    ),
    case(
        "rebalance/elsewhere-while-handing-over",
        "A member that has to look for its coordinator while its application gives partitions up hands them over all the same.",
        ("CGT-22", "CGT-06"),
        plan(
            subject(on_revoked={"sleep_ms": 2_500, "commit": False}),
            subject("m1"),
            *joined("m0", topics=_FOUR),
            mark("newcomer"),
            *start("m1"),
            event("m0", "partitions_revoked", after="newcomer", go_on=True),
            answers("error", BEAT, ErrorCode.NOT_COORDINATOR, client="m0"),
            delivered("error"),
            reconciled("m0", "m1", topics=_FOUR, after="error", go_on=True),
            passing(500),
            topics=_FOUR,
            session_ms=15_000,
        ),
        keeps_epoch("m0", after="error", requirement="CGT-22"),
        calls_back_before("m0", after="newcomer"),
    ),
)


def _lost_assignment(name: str, title: str, fault: Step, **settings: Any) -> Case:
    """Return a case in which the answer with new partitions is lost.

    The fault is armed before the other member leaves: the answer to the very next heartbeat may carry them. It acts on the answer with all partitions of
    the topic, and not on one that repeats what the member had.
    """
    return case(
        f"rebalance/{name}",
        title,
        ("CGC-19", "CGC-16"),
        plan(
            subject(**settings),
            subject("m1"),
            *joined("m0", "m1", topics=_FOUR),
            fault,
            mark("closing"),
            close("m1", wait=False),
            left("m1", after="closing"),
            delivered("lost"),
            reconciled("m0", topics=_FOUR, after="lost", within_ms=15_000, go_on=True),
            passing(300),
            topics=_FOUR,
            interval_ms=1_500,
            session_ms=5_000,
        ),
        learns_assignment("m0", after="lost", partitions=_ALL),
    )


_LOST: tuple[Case, ...] = (
    _lost_assignment("lost-assignment", "A member whose new assignment is lost with its connection is told it once more.", cuts("lost", BEAT, client="m0", assigned=_ALL)),
    _lost_assignment(
        "unanswered-assignment", "A member whose new assignment never arrives gives the heartbeat up, and is told it once more.",
        silences("lost", BEAT, direction="response", client="m0", assigned=_ALL), request_timeout_ms=2_000,
    ),
    _lost_assignment("late-assignment", "A member whose new assignment comes late takes it up.", holds("lost", BEAT, ms=2_500, client="m0", assigned=_ALL)),
)  # fmt: skip

CASES: tuple[Case, ...] = (*_HAND_OVER, *_MORE, *_LOST)
