"""JoinGroup: every error that can answer it, at the first join and at a rejoin, and its contents (CLIENT-10 to CLIENT-23)."""

from __future__ import annotations

from groupproof.harness.cases.client.client_case_builders import GHOST_SESSION_MS, GROUP, UNHEARD_OF, case, code_name
from groupproof.harness.judging.case_checkers.discovery import finds_by_its_group, rediscovers
from groupproof.harness.judging.case_checkers.fields import (
    joins_once,
    joins_with_timeouts,
    keeps_id_handed_out,
    lists_protocols,
    subscribes_to,
    syncs_after_join,
    syncs_protocol_agreed,
)
from groupproof.harness.judging.case_checkers.leader_assignment import follower_assigns_nothing
from groupproof.harness.judging.case_checkers.reactions import Identity, recovers, rejoins, request_came, retries, surfaces, survives
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.plan_builders import (
    answers,
    delivered,
    event,
    heal,
    holds,
    joined,
    mark,
    passing,
    plan,
    reference_peer,
    stable,
    start,
    subject,
    tells_of_a_rebalance,
)
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["CASES"]

_JOIN = Api.JOIN_GROUP


def _first(code: int) -> Plan:
    """Return a plan that answers the first JoinGroup with an error."""
    return plan(subject(), answers("error", _JOIN, code), *start("m0"), delivered("error"), stable("m0", after="error", within_ms=11_500))


def _again(code: int, within_ms: int = 12_000) -> Plan:
    """Return a plan in which a stable member has to rejoin, and its JoinGroup is answered with an error."""
    return plan(
        subject(session_timeout_ms=GHOST_SESSION_MS),
        *joined("m0"),
        answers("error", _JOIN, code),
        *tells_of_a_rebalance(),
        delivered("error"),
        stable("m0", after="error", within_ms=within_ms),
    )


def _meeting_another(code: int) -> Plan:
    """Return a plan in which a new member makes a stable one rejoin, whose JoinGroup is answered with an error.

    The group waits for the member as a real one would: a client that asks by its next Heartbeat whether it must still rejoin (kafkajs) gets that
    answer.
    """
    return plan(
        subject(session_timeout_ms=GHOST_SESSION_MS),
        reference_peer("z0"),
        *joined("m0"),
        answers("error", _JOIN, code, client="m0"),
        *start("z0"),
        delivered("error"),
        stable("m0", "z0", after="error", within_ms=12_000),
    )


def _retried_first(code: int, title: str, requirement: str, *more: Judge) -> Case:
    return case(
        f"join/{code_name(code)}",
        title,
        (requirement,),
        _first(code),
        request_came("error", "m0", _JOIN, requirement="CLIENT-10"),
        retries("m0", _JOIN, after="error", requirement=requirement),
        recovers("m0", after="error", requirement=requirement),
        *more,
    )


def _retried_again(code: int, title: str, requirement: str, *more: Judge) -> Case:
    return case(
        f"join/rejoin-{code_name(code)}",
        title,
        (requirement, "CLIENT-10"),
        _meeting_another(code),
        request_came("error", "m0", _JOIN, requirement="CLIENT-46"),
        rejoins("m0", after="error", requirement="CLIENT-10"),
        recovers("m0", after="error", requirement=requirement),
        *more,
    )


def _error_case(code: int, title: str, requirement: str) -> Case:
    """Return a case whose error repeats, as such errors do, until the client reports it to the application."""
    return case(
        f"join/{code_name(code)}",
        title,
        (requirement, "CLIENT-21"),
        plan(
            subject(), [answers("error", _JOIN, code, count=None), *start("m0"), delivered("error"), event("m0", "error", after="error", go_on=True)]
        ),
        request_came("error", "m0", _JOIN, requirement="CLIENT-10"),
        surfaces("m0", after="error", requirement=requirement),
        survives("m0", after="error", requirement="CLIENT-21"),
    )


def _rediscovery(fault: str = "error") -> Judge:
    return rediscovers("m0", after=fault, requirement="CLIENT-04", api=_JOIN)


_ERRORS: tuple[Case, ...] = (
    _retried_first(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "A client whose first join meets a loading coordinator joins again.", "CLIENT-15"),
    _retried_first(
        ErrorCode.COORDINATOR_NOT_AVAILABLE, "A client whose first join meets no coordinator looks for it and joins.", "CLIENT-16", _rediscovery()
    ),
    _retried_first(
        ErrorCode.NOT_COORDINATOR, "A client whose first join meets another broker looks for its coordinator and joins.", "CLIENT-16", _rediscovery()
    ),
    _retried_again(
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "A member that rejoins a loading coordinator tries again as the member it is.", "CLIENT-15"
    ),
    _retried_again(
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        "A member that rejoins and meets no coordinator looks for it and keeps its id.",
        "CLIENT-16",
        _rediscovery(),
    ),
    _retried_again(
        ErrorCode.NOT_COORDINATOR, "A member that rejoins at another broker looks for its coordinator and keeps its id.", "CLIENT-16", _rediscovery()
    ),
    _error_case(ErrorCode.INVALID_GROUP_ID, "A join with an invalid group id reaches the application.", "CLIENT-17"),
    _error_case(ErrorCode.GROUP_AUTHORIZATION_FAILED, "A join that is not authorised reaches the application.", "CLIENT-17"),
    case(
        "join/unknown-member-id",
        "A member that rejoins and is unknown joins anew with the empty id.",
        ("CLIENT-14", "CLIENT-10"),
        _again(ErrorCode.UNKNOWN_MEMBER_ID),
        request_came("error", "m0", _JOIN, requirement="CLIENT-46"),
        rejoins("m0", after="error", requirement="CLIENT-14", identity=Identity.EMPTY),
        recovers("m0", after="error", requirement="CLIENT-14"),
    ),
    case(
        "join/rebalance-in-progress",
        "A JoinGroup answered with 27, which only a failing broker sends, neither stops the client silently nor is hidden.",
        ("CLIENT-21",),
        _again(ErrorCode.REBALANCE_IN_PROGRESS, within_ms=7_000),
        survives("m0", after="error", requirement="CLIENT-21"),
        rejoins("m0", after="error", requirement="CLIENT-10", or_reports=True),
    ),
    case(
        "join/illegal-generation",
        "A JoinGroup answered with 22, which names no generation, neither stops the client silently nor is hidden.",
        ("CLIENT-21",),
        _again(ErrorCode.ILLEGAL_GENERATION, within_ms=7_000),
        survives("m0", after="error", requirement="CLIENT-21"),
        rejoins("m0", after="error", requirement="CLIENT-21", or_reports=True),
    ),
    case(
        "join/unheard-of-error",
        "A first join answered with an unheard-of error neither stops the client silently nor is hidden.",
        ("CLIENT-21",),
        plan(
            subject(),
            answers("error", _JOIN, UNHEARD_OF, count=None),
            *start("m0"),
            delivered("error"),
            event("m0", "error", after="error", go_on=True),
        ),
        request_came("error", "m0", _JOIN, requirement="CLIENT-10"),
        surfaces("m0", after="error", requirement="CLIENT-21"),
    ),
    case(
        "join/loading-for-a-while",
        "A client that finds its coordinator loading for a while joins again and again, but not in a storm, until it is let in.",
        ("CLIENT-15", "CLIENT-75"),
        plan(
            subject(),
            answers("error", _JOIN, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, count=None),
            *start("m0"),
            delivered("error"),
            passing(2_500),
            mark("loaded"),
            heal("error"),
            stable("m0", after="loaded", within_ms=12_000),
        ),
        retries("m0", _JOIN, after="error", requirement="CLIENT-15"),
        recovers("m0", after="loaded", requirement="CLIENT-15"),
    ),
)

_REFUSED: tuple[Case, ...] = (
    case(
        "join/inconsistent-group-protocol",
        "A client that shares no assignor with the group tells its application.",
        ("CLIENT-17", "CLIENT-21"),
        plan(
            reference_peer(assignors=["roundrobin"]),
            subject(assignors=["range"]),
            [*joined("a0"), mark("refused"), *start("m0"), event("m0", "error", after="refused", within_ms=12_000, go_on=True)],
        ),
        surfaces("m0", after="refused", requirement="CLIENT-17", within_ms=9_000, refusals=(ErrorCode.INCONSISTENT_GROUP_PROTOCOL,)),
        survives("m0", after="refused", requirement="CLIENT-21"),
    ),
    case(
        "join/invalid-session-timeout",
        "A client whose session timeout the coordinator refuses tells its application.",
        ("CLIENT-17", "CLIENT-21"),
        plan(
            subject(session_timeout_ms=6_000),
            [mark("refused"), *start("m0"), event("m0", "error", after="refused", within_ms=12_000, go_on=True)],
            coordinator={"group.min.session.timeout.ms": 10_000},
        ),
        surfaces("m0", after="refused", requirement="CLIENT-17", within_ms=9_000, refusals=(ErrorCode.INVALID_SESSION_TIMEOUT,)),
        survives("m0", after="refused", requirement="CLIENT-21"),
        insists=["session_timeout_ms"],
    ),
    case(
        "join/group-max-size-reached",
        "A client that finds its group full tells its application.",
        ("CLIENT-19",),
        plan(
            reference_peer(),
            subject(),
            [*joined("a0"), mark("refused"), *start("m0"), event("m0", "error", after="refused", within_ms=15_000, go_on=True)],
            coordinator={"group.max.size": 1},
        ),
        surfaces("m0", after="refused", requirement="CLIENT-19", within_ms=9_000, refusals=(ErrorCode.GROUP_MAX_SIZE_REACHED,)),
    ),
)

_COURSE: tuple[Case, ...] = (
    case(
        "join/member-id-required",
        "A newcomer that is handed an id comes back with it.",
        ("CLIENT-18", "CLIENT-10"),
        plan(subject(), joined("m0")),
        keeps_id_handed_out("m0"),
        syncs_after_join("m0", 6_000),
    ),
    case(
        "join/timeouts",
        "JoinGroup carries the client's session timeout, and max.poll.interval.ms as its rebalance timeout.",
        ("CLIENT-23",),
        plan(subject(session_timeout_ms=5_000, max_poll_interval_ms=21_000), joined("m0")),
        joins_with_timeouts("m0", session_ms=5_000, rebalance_ms=21_000),
        insists=["session_timeout_ms"],
    ),
    case(
        "join/subscription",
        "JoinGroup says what the application asked for: its group, its topics, its assignors in order.",
        ("ASSIGN-13", "ASSIGN-10", "FIND-01"),
        plan(subject(assignors=["roundrobin", "range"], topics=["t", "u"]), joined("m0"), topics={"t": 2, "u": 1}),
        lists_protocols("m0", ("roundrobin", "range")),
        subscribes_to("m0", ("t", "u"), requirement="ASSIGN-10"),
        finds_by_its_group("m0", GROUP),
    ),
    case(
        "join/waits-while-parked",
        "A client whose JoinGroup waits for the others sends no second, and takes the answer when it comes.",
        ("CLIENT-22", "CLIENT-12"),
        plan(
            reference_peer(),
            subject(),
            *joined("a0"),
            holds("slow", _JOIN, ms=3_000, direction="request", client="a0"),
            *start("m0"),
            delivered("slow", within_ms=12_000),
            mark("parked"),
            stable("a0", "m0", after="parked"),
        ),
        joins_once("m0", after="parked", requirement="CLIENT-22"),
        recovers("m0", after="parked", requirement="CLIENT-22"),
        follower_assigns_nothing("m0"),
    ),
    case(
        "join/protocol-of-the-group",
        "A client that prefers another assignor goes on with the one that the group agreed on.",
        ("ASSIGN-01", "CLIENT-11"),
        plan(reference_peer(assignors=["range"]), subject(assignors=["roundrobin", "range"]), joined("a0", "m0")),
        syncs_protocol_agreed("m0", "range"),
        syncs_after_join("m0", 6_000),
    ),
    case(
        "join/late-answer",
        "A client that waits for a late JoinGroup answer goes on with the membership it brings.",
        ("CLIENT-22", "CLIENT-11"),
        plan(subject(), holds("late", _JOIN, ms=2_000, error=0), *start("m0"), delivered("late"), stable("m0")),
        recovers("m0", after="late", requirement="CLIENT-22"),
        joins_once("m0", after="late", requirement="CLIENT-22"),
    ),
)

CASES: tuple[Case, ...] = (*_ERRORS, *_REFUSED, *_COURSE)
