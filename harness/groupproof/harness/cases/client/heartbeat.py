"""Heartbeat: every error that can answer it, and that no action of the application stops heartbeats (CLIENT-40 to CLIENT-57)."""

from __future__ import annotations

from groupproof.harness.cases.client.client_case_builders import GHOST_SESSION_MS, UNHEARD_OF, case, code_name
from groupproof.harness.judging.case_checkers.discovery import rediscovers
from groupproof.harness.judging.case_checkers.heartbeats import heartbeats_go_on
from groupproof.harness.judging.case_checkers.partition_owner import revokes_before_joining
from groupproof.harness.judging.case_checkers.reactions import Identity, keeps_membership, recovers, rejoins, request_came, surfaces, survives
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.plan_builders import (
    answers,
    delivered,
    freeze,
    joined,
    mark,
    passing,
    paused,
    plan,
    reference_peer,
    refuses_a_heartbeat,
    requested,
    resume,
    stable,
    start,
    subject,
    tells_of_a_rebalance,
    thaw,
)
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["CASES"]

_BEAT = Api.HEARTBEAT

_LONG_SESSION_MS = 7_000

_ALIEN = {
    "protocol": ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    "group": ErrorCode.INVALID_GROUP_ID,
    "session": ErrorCode.INVALID_SESSION_TIMEOUT,
    "id": ErrorCode.MEMBER_ID_REQUIRED,
    "size": ErrorCode.GROUP_MAX_SIZE_REACHED,
}
"""Errors that no broker answers to a Heartbeat; they answer five Heartbeats in a row."""


def _failing(code: int) -> Plan:
    """Return a plan that answers a stable member's Heartbeat with an error that leads to a new generation."""
    steps = [*joined("m0"), *refuses_a_heartbeat(code), stable("m0", after="error", within_ms=12_000), passing(200)]
    return plan(subject(session_timeout_ms=GHOST_SESSION_MS), steps)


def _kept(code: int) -> Plan:
    """Return a plan that answers a stable member's Heartbeat with an error that does not end its membership.

    The coordinator never gets that Heartbeat. The session has time for the next one, also at a fixed interval of 3 s.
    """
    steps = [*joined("m0"), answers("error", _BEAT, code), delivered("error"), requested("m0", _BEAT, after="error", go_on=True), passing(800)]
    return plan(subject(session_timeout_ms=_LONG_SESSION_MS), steps)


def _rejoins(code: int, title: str, *requirements: str, identity: Identity = Identity.KEPT) -> Case:
    return case(
        f"heartbeat/{code_name(code)}",
        title,
        requirements,
        _failing(code),
        request_came("error", "m0", _BEAT, requirement="CLIENT-30"),
        rejoins("m0", after="error", requirement=requirements[0], identity=identity),
        recovers("m0", after="error", requirement=requirements[-1]),
    )


def _stays(code: int, title: str) -> Case:
    return case(
        f"heartbeat/{code_name(code)}",
        title,
        ("CLIENT-49", "CLIENT-04"),
        _kept(code),
        request_came("error", "m0", _BEAT, requirement="CLIENT-30"),
        rediscovers("m0", after="error", requirement="CLIENT-04", api=_BEAT),
        keeps_membership("m0", after="error", requirement="CLIENT-49"),
    )


def _odd(code: int, title: str) -> Case:
    return case(
        f"heartbeat/{code_name(code)}",
        title,
        ("CLIENT-50", "CLIENT-40"),
        _kept(code),
        survives("m0", after="error", requirement="CLIENT-40"),
        keeps_membership("m0", after="error", requirement="CLIENT-50", or_reports=True),
    )


_ERRORS: tuple[Case, ...] = (
    _rejoins(
        ErrorCode.REBALANCE_IN_PROGRESS, "A member told that a rebalance is in progress joins again as the member it is.", "CLIENT-46", "CLIENT-76"
    ),
    _rejoins(ErrorCode.ILLEGAL_GENERATION, "A member told that its generation has passed joins again as the member it is.", "CLIENT-76"),
    _rejoins(
        ErrorCode.UNKNOWN_MEMBER_ID,
        "A member told that it is unknown joins anew with the empty id.",
        "CLIENT-48",
        "CLIENT-55",
        identity=Identity.EMPTY,
    ),
    _stays(ErrorCode.COORDINATOR_NOT_AVAILABLE, "A member told of no coordinator looks for it and goes on as the member it is."),
    _stays(ErrorCode.NOT_COORDINATOR, "A member told that this is not its coordinator looks for it and goes on as the member it is."),
    _odd(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "A Heartbeat that meets a loading coordinator costs no membership."),
    _odd(UNHEARD_OF, "A Heartbeat answered with an unheard-of error costs no membership, or is reported to the application."),
    case(
        "heartbeat/codes-of-other-requests",
        "Heartbeats answered with codes that belong to other requests cost no membership, or are reported to the application.",
        ("CLIENT-50", "CLIENT-40"),
        plan(
            subject(session_timeout_ms=_LONG_SESSION_MS),
            *joined("m0"),
            *(answers(name, _BEAT, code, nth=nth) for nth, (name, code) in enumerate(_ALIEN.items(), 1)),
            delivered(next(iter(_ALIEN))),
            requested("m0", _BEAT, after=next(iter(_ALIEN)), count=len(_ALIEN), go_on=True),  # those with the other errors, and one more
            passing(800),
        ),
        survives("m0", after=next(iter(_ALIEN)), requirement="CLIENT-40"),
        keeps_membership("m0", after=next(iter(_ALIEN)), requirement="CLIENT-50", or_reports=True),
    ),
    case(
        "heartbeat/group-authorization-failed",
        "A Heartbeat that is not authorised is reported to the application or tried again.",
        ("CLIENT-50",),
        _kept(ErrorCode.GROUP_AUTHORIZATION_FAILED),
        surfaces("m0", after="error", requirement="CLIENT-50", tried_again=_BEAT),
        keeps_membership("m0", after="error", requirement="CLIENT-50", or_reports=True),
    ),
)


def _going_on(*, after: str, before: str | None = None, unasked: str = "") -> Judge:
    return heartbeats_go_on("m0", after=after, before=before, requirement="CLIENT-40", unasked=unasked)


_COURSE: tuple[Case, ...] = (
    case(
        "heartbeat/steady",
        "A stable member is heard of in every session timeout and joins no second time.",
        ("CLIENT-40",),
        # On one connection to the coordinator a Heartbeat waits for the Fetch before it, up to 500 ms: no short session.
        plan(subject(session_timeout_ms=GHOST_SESSION_MS, metadata_max_age_ms=1_000), *joined("m0"), mark("stable"), passing(8_000)),
        _going_on(after="stable"),
        keeps_membership("m0", after="stable", requirement="CLIENT-40", within_ms=6_000),
        spares=["metadata_max_age_ms"],
    ),
    case(
        "heartbeat/application-busy",
        "A member whose application is busy for longer than its session, but polls in time, keeps its membership.",
        ("CLIENT-40",),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS),
            [*joined("m0"), mark("busy"), *paused("m0", {"t": 2}), passing(4_800), resume("m0"), mark("back"), passing(700)],
        ),
        # Before KIP-62 the Java client (0.10.0) sent its heartbeats from poll. A client without a poll deadline of its own may do so.
        _going_on(after="busy", unasked="poll-deadline"),
        keeps_membership("m0", after="busy", requirement="CLIENT-40", within_ms=4_500),
    ),
    case(
        "heartbeat/empty-assignment",
        "A member without partitions heartbeats like any other.",
        ("CLIENT-81", "CLIENT-40"),
        plan(
            reference_peer(),
            subject(session_timeout_ms=GHOST_SESSION_MS),
            [*joined("a0", "m0", idle=["m0"]), mark("stable"), passing(4_500)],
            topics={"t": 1},
        ),
        _going_on(after="stable"),
        keeps_membership("m0", after="stable", requirement="CLIENT-81", within_ms=4_000),
    ),
    case(
        "heartbeat/while-handing-over",
        "A member that takes longer than its session to hand its partitions over heartbeats meanwhile, and then joins again as the member it is.",
        ("CLIENT-44", "CLIENT-46", "CLIENT-62"),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS, on_revoked={"sleep_ms": 4_500, "commit": False}),
            reference_peer(),
            [*joined("m0"), mark("newcomer"), *start("a0"), stable("m0", "a0", after="newcomer", within_ms=15_000)],
        ),
        heartbeats_go_on("m0", after="newcomer", requirement="CLIENT-44", unasked="poll-deadline"),  # 0.10.0 ran its listener in poll
        rejoins("m0", after="newcomer", requirement="CLIENT-46", within_ms=9_000),
        revokes_before_joining("m0", after="newcomer"),
    ),
    case(
        "heartbeat/told-again-and-again",
        "A member that hears of a rebalance by every Heartbeat, and not just by one, joins again.",
        ("CLIENT-46",),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS),
            *joined("m0"),
            *tells_of_a_rebalance(name="error"),
            stable("m0", after="error", go_on=True),  # a single member may have its assignment before this plan's task runs again
        ),
        rejoins("m0", after="error", requirement="CLIENT-46"),
    ),
    case(
        "heartbeat/thrown-out",
        "A member that was frozen beyond its session and thrown out comes back anew.",
        ("CLIENT-55",),
        plan(
            subject(session_timeout_ms=1_000),
            *joined("m0"),
            mark("frozen"),
            freeze("m0"),
            passing(2_500),
            thaw("m0"),
            mark("awake"),
            stable("m0", after="awake", within_ms=12_000),
        ),
        recovers("m0", after="awake", requirement="CLIENT-55"),
        isolated=True,
        insists=["session_timeout_ms"],
    ),
)

CASES: tuple[Case, ...] = (*_ERRORS, *_COURSE)
