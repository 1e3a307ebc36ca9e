"""Joining a group of KIP-848: the first heartbeats, and every error that can answer a join (CGC-01 to CGC-17, CGT-01 to CGT-30)."""

from __future__ import annotations

from typing import Any

from groupproof.harness.cases.client.client_case_builders import UNHEARD_OF, code_name
from groupproof.harness.cases.consumer.epoch_builders import BEAT, beaten, case, joined, plan, reconciled, rejoining, reported, subject
from groupproof.harness.judging.case_checkers.consumer.epoch_hand_over import assignment_is_reported, names_only_what_is_new
from groupproof.harness.judging.case_checkers.consumer.epoch_join import (
    acknowledges,
    carries_instance,
    have_ids_of_their_own,
    is_one_member,
    joins_again,
    joins_in_full,
    names_assignor,
    names_rebalance_timeout,
    says_little_when_idle,
)
from groupproof.harness.judging.case_checkers.consumer.epoch_reactions import joins_anew, shows_or_tries, spaces_its_tries
from groupproof.harness.judging.case_checkers.consumer.epoch_rhythm import never_two_in_flight, stays_alive
from groupproof.harness.judging.case_checkers.reactions import request_came
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.model.plan import Plan, Step
from groupproof.harness.model.plan_builders import answers, cuts, delivered, grow, heal, holds, mark, passing, silences, start
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["CASES"]

_CONTENT: tuple[Case, ...] = (
    case(
        "join/first-heartbeat",
        "A member joins with an id of its own, its rebalance timeout, its subscription, and the word that it owns nothing.",
        ("CGC-07", "CGC-04"),
        plan(subject(), *joined("m0"), passing(300)),
        joins_in_full("m0"),
        names_assignor("m0", None),
    ),
    case(
        "join/rebalance-timeout",
        "A member's rebalance timeout is its max.poll.interval.ms.",
        ("CGC-08",),
        plan(subject(max_poll_interval_ms=41_000), *joined("m0")),
        names_rebalance_timeout("m0", 41_000),
    ),
    case(
        "join/server-assignor",
        "A member that is told which of the server's assignors to ask for asks for it when it joins.",
        ("CGC-10",),
        plan(subject(assignor="range"), *joined("m0")),
        names_assignor("m0", "range"),
    ),
    case(
        "join/acknowledges",
        "A member says that it owns what it was assigned as soon as its application has it, and then sends no more than it must.",
        ("CGC-16", "CGC-29", "CGC-12", "CGT-09"),
        plan(
            subject(topics=["t", "u"]),
            [*start("m0"), reconciled("m0", topics={"t": 2, "u": 3}, go_on=True), mark("idle"), beaten("m0", after="idle", count=4)],
            topics={"t": 2, "u": 3},
        ),
        assignment_is_reported("m0"),
        acknowledges("m0"),
        says_little_when_idle("m0", after="idle"),
        never_two_in_flight("m0"),
    ),
    case(
        "join/empty-assignment",
        "A member that is assigned nothing stays a member, heartbeats, and takes up what becomes free.",
        ("CGT-01",),
        plan(
            subject(),
            subject("m1"),
            [*joined("m0", "m1", topics={"t": 1}, idle=["m0", "m1"]), mark("idle"), passing(4_000)],
            topics={"t": 1},
            session_ms=2_000,
        ),
        stays_alive("m0", after="idle", session_ms=2_000, requirement="CGT-01"),
        stays_alive("m1", after="idle", session_ms=2_000, requirement="CGT-01"),
        joins_in_full("m1"),
    ),
    case(
        "join/topic-that-comes-later",
        "A member that subscribes to a topic which is not there yet is assigned it when it comes.",
        ("CGT-01", "CGC-16"),
        plan(
            subject(topics=["t", "u"], metadata_max_age_ms=1_000),
            *start("m0"),
            reconciled("m0", topics={"t": 1}, within_ms=10_000, go_on=True),
            mark("grown"),
            holds("slow", BEAT, ms=300),  # shows a client that has two joins under way by now, even with a fast coordinator
            grow("u", 2),
            reconciled("m0", topics={"t": 1, "u": 2}, after="grown", go_on=True),
            passing(1_500),
            topics={"t": 1},
        ),
        acknowledges("m0", within_ms=8_000),
        names_only_what_is_new("m0"),
        spares=["metadata_max_age_ms"],
    ),
    case(
        "join/static-member",
        "A static member says which it is when it joins.",
        ("CGC-02",),
        plan(subject(instance_id="one"), *joined("m0"), passing(300)),
        carries_instance("m0", "one", leaving=False),
    ),
    case(
        "join/two-members",
        "Two members of a group have ids of their own.",
        ("CGC-05",),
        plan(subject(), subject("m1"), *joined("m0", "m1")),
        have_ids_of_their_own("m0", "m1"),
    ),
)


def _refused(code: int) -> Plan:
    """Return a plan that answers the first join with an error, once."""
    return plan(
        subject(),
        answers("error", BEAT, code),
        *start("m0"),
        delivered("error"),
        rejoining("m0", after="error"),
        reconciled("m0", after="error", go_on=True),
        passing(300),
    )


def _again(code: int, title: str, requirement: str) -> Case:
    return case(
        f"join/{code_name(code)}",
        title,
        (requirement, "CGC-06"),
        _refused(code),
        request_came("error", "m0", BEAT, requirement="CGC-07"),
        joins_anew("m0", after="error", requirement=requirement),
        is_one_member("m0"),
        joins_in_full("m0"),
        spaces_its_tries("m0", after="error", requirement=requirement),
    )


def _for_good(code: int, title: str, requirement: str, *, instance: str | None = None, if_unreported: Verdict = Verdict.NON_STRICT) -> Case:
    """Return a case in which every join gets the error."""
    wanted = {} if instance is None else {"instance_id": instance}
    return case(
        f"join/{code_name(code)}",
        title,
        (requirement,),
        plan(
            subject(**wanted),
            [answers("error", BEAT, code, count=None), *start("m0"), delivered("error"), *reported("m0", after="error"), heal("error"), passing(500)],
        ),
        request_came("error", "m0", BEAT, requirement="CGC-07"),
        shows_or_tries("m0", after="error", requirement=requirement, if_unreported=if_unreported),
        spaces_its_tries("m0", after="error", requirement=requirement),
    )


_ERRORS: tuple[Case, ...] = (
    _again(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "A member whose join meets a loading coordinator joins again, as the member it is.", "CGT-23"),
    _again(ErrorCode.NOT_COORDINATOR, "A member whose join meets another broker than its coordinator looks for that and joins again.", "CGT-22"),
    _again(ErrorCode.COORDINATOR_NOT_AVAILABLE, "A member whose join meets no coordinator looks for it and joins again.", "CGT-22"),
    _again(ErrorCode.FENCED_MEMBER_EPOCH, "A member whose join is fenced joins again.", "CGT-18"),
    _for_good(
        ErrorCode.GROUP_AUTHORIZATION_FAILED, "A member that may not join tells its application, and does not storm the coordinator.", "CGT-25"
    ),
    _for_good(ErrorCode.INVALID_REQUEST, "A member whose join is invalid tells its application.", "CGT-25"),
    _for_good(ErrorCode.GROUP_MAX_SIZE_REACHED, "A member that finds its group full tells its application.", "CGT-25"),
    _for_good(ErrorCode.UNSUPPORTED_ASSIGNOR, "A member whose assignor the server lacks tells its application.", "CGT-25"),
    _for_good(ErrorCode.INVALID_REGULAR_EXPRESSION, "A member whose regular expression is refused tells its application.", "CGT-25"),
    _for_good(
        ErrorCode.UNRELEASED_INSTANCE_ID,
        "A static member whose instance another has tells its application, or tries again.",
        "CGT-27",
        instance="one",
        if_unreported=Verdict.OK,
    ),
    _for_good(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "A member that may not read a topic tells its application.", "CGT-25"),
    _for_good(ErrorCode.GROUP_ID_NOT_FOUND, "A member whose group is of another kind tells its application.", "CGT-25"),
    _for_good(UNHEARD_OF, "A member whose join is answered with an unheard-of error does not loop on it in silence.", "CGT-30"),
)

_PATIENCE_MS = 2_000


def _unheard(name: str, title: str, fault: Step, *judges: Judge, **settings: Any) -> Case:
    """Return a case in which the answer to the first join is late or lost."""
    return case(
        f"join/{name}",
        title,
        ("CGT-24", "CGC-06"),
        plan(
            subject(**settings), [fault, *start("m0"), delivered("lost"), reconciled("m0", after="lost", go_on=True), passing(500)], session_ms=15_000
        ),
        request_came("lost", "m0", BEAT, requirement="CGC-07"),
        is_one_member("m0"),
        joins_in_full("m0"),
        acknowledges("m0", within_ms=9_000, at_once_ms=6_000),
        *judges,
    )


_AGAIN = joins_again("m0", after="lost")

_LOST: tuple[Case, ...] = (
    _unheard("cut-request", "A member whose join never arrives joins again.", cuts("lost", BEAT, direction="request"), _AGAIN),
    _unheard(
        "cut-answer", "A member whose connection ends before it hears that it has joined joins again, as the member that it is.", cuts("lost", BEAT), _AGAIN,
    ),
    _unheard("late-answer", "A member that is let in two seconds late takes up what it was assigned.", holds("lost", BEAT, ms=2_000)),
    _unheard(
        "lost-answer", "A member whose join is never answered joins again after the request timeout, as the member that it is.",
        silences("lost", BEAT, direction="response"), _AGAIN, request_timeout_ms=_PATIENCE_MS,
    ),
)  # fmt: skip

CASES: tuple[Case, ...] = (*_CONTENT, *_ERRORS, *_LOST)
