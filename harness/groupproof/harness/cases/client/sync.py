"""SyncGroup: every error that can answer it, and an empty assignment (CLIENT-30 to CLIENT-36, CLIENT-81)."""

from __future__ import annotations

from groupproof.harness.cases.client.client_case_builders import GHOST_SESSION_MS, UNHEARD_OF, case, code_name
from groupproof.harness.judging.case_checkers.discovery import rediscovers
from groupproof.harness.judging.case_checkers.heartbeats import heartbeats_go_on, heartbeats_while_parked
from groupproof.harness.judging.case_checkers.reactions import (
    Identity,
    keeps_membership,
    recovers,
    rejoins,
    request_came,
    surfaces,
    survives,
    takes_up_its_work,
)
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.model.plan import Await, Matches, Plan
from groupproof.harness.model.plan_builders import (
    answers,
    delivered,
    event,
    heal,
    holds,
    mark,
    passing,
    plan,
    reference_peer,
    requested,
    stable,
    start,
    strikes,
    subject,
)
from groupproof.protocol.faults import Answer
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState

__all__ = ["CASES"]

_SYNC = Api.SYNC_GROUP
# Ample, but shorter than the session: a client without a heartbeat thread sends none while it waits for records (kafkajs, maxWaitTimeInMs).
_POLL_MS = GHOST_SESSION_MS - 1_000


def _failing(code: int, within_ms: int = 12_000, direction: str = "request", *, rejoins_first: bool = False) -> Plan:
    """Return a plan that answers the first SyncGroup with an error, and gives the member time to recover.

    With direction "response" the coordinator processes the SyncGroup first: until 2.5 it never removes a new member that sent none (KAFKA-9752).
    """
    return plan(
        subject(session_timeout_ms=GHOST_SESSION_MS),
        answers("error", _SYNC, code, direction=direction),
        *start("m0"),
        delivered("error", within_ms=15_000),
        # A client that sends SyncGroup again instead may be a member before its JoinGroup is overdue.
        *([requested("m0", Api.JOIN_GROUP, after="error", go_on=True)] if rejoins_first else []),
        stable("m0", after="error", within_ms=within_ms),
    )


def _rejoins(
    code: int, title: str, requirement: str, *more: Judge, identity: Identity = Identity.KEPT, direction: str = "request", or_syncs: bool = False
) -> Case:
    return case(
        f"sync/{code_name(code)}",
        title,
        (requirement, "CLIENT-31"),
        _failing(code, direction=direction, rejoins_first=not or_syncs),
        request_came("error", "m0", _SYNC, requirement="CLIENT-11", within_ms=12_000),
        rejoins("m0", after="error", requirement=requirement, identity=identity, or_syncs=or_syncs),
        recovers("m0", after="error", requirement="CLIENT-31"),
        *more,
    )


def _error_case(code: int, title: str) -> Case:
    """Return a case whose error repeats, as such errors do, until the client reports it to the application."""
    return case(
        f"sync/{code_name(code)}",
        title,
        ("CLIENT-35",),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS),
            answers("error", _SYNC, code, count=None),
            *start("m0"),
            delivered("error", within_ms=15_000),
            event("m0", "error", after="error", go_on=True),
        ),
        request_came("error", "m0", _SYNC, requirement="CLIENT-11", within_ms=12_000),
        surfaces("m0", after="error", requirement="CLIENT-35"),
    )


def _odd(code: int, title: str) -> Case:
    return case(
        f"sync/{code_name(code)}",
        title,
        ("CLIENT-31", "CLIENT-35"),
        _failing(code, within_ms=7_000),
        survives("m0", after="error", requirement="CLIENT-35"),
        rejoins("m0", after="error", requirement="CLIENT-31", or_reports=True, or_syncs=True),
    )


def _rediscovery() -> Judge:
    return rediscovers("m0", after="error", requirement="CLIENT-34", api=_SYNC)


CASES: tuple[Case, ...] = (
    _rejoins(ErrorCode.REBALANCE_IN_PROGRESS, "A member whose SyncGroup meets a new rebalance joins again as the member it is.", "CLIENT-32"),
    _rejoins(ErrorCode.ILLEGAL_GENERATION, "A member whose SyncGroup names a passed generation joins again as the member it is.", "CLIENT-33"),
    _rejoins(
        ErrorCode.UNKNOWN_MEMBER_ID,
        "A member whose SyncGroup is unknown joins anew with the empty id.",
        "CLIENT-33",
        identity=Identity.EMPTY,
        direction="response",
    ),
    _rejoins(
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        "A member whose SyncGroup meets no coordinator looks for it, and syncs or joins again.",
        "CLIENT-34",
        _rediscovery(),
        or_syncs=True,
    ),
    _rejoins(
        ErrorCode.NOT_COORDINATOR,
        "A member whose SyncGroup meets another broker looks for its coordinator, and syncs or joins again.",
        "CLIENT-34",
        _rediscovery(),
        or_syncs=True,
    ),
    _error_case(ErrorCode.GROUP_AUTHORIZATION_FAILED, "A SyncGroup that is not authorised reaches the application."),
    _odd(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "A SyncGroup that meets a loading coordinator leads to a rejoin or to an error, never to silence."),
    _odd(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "A SyncGroup refused for its protocol leads to a rejoin or to an error, never to silence."),
    _error_case(UNHEARD_OF, "A SyncGroup answered with an unheard-of error reaches the application."),
    case(
        "sync/overtaken",
        "A leader whose SyncGroup is overtaken by a newcomer joins again as the member it is.",
        ("CLIENT-32", "CLIENT-76"),
        plan(
            subject(),
            reference_peer(),
            holds("slow", _SYNC, direction="request", client="m0"),
            *start("m0"),
            delivered("slow", within_ms=15_000),
            mark("newcomer"),  # a member may learn of it from a Heartbeat, and join again on another connection while its SyncGroup waits
            *start("a0"),
            Await(until=Matches(kind_of="transition", state_after=GroupState.PREPARING_REBALANCE.value, after="slow"), within_ms=6_000, go_on=True),
            passing(200),
            heal("slow"),
            stable("m0", "a0", after="newcomer"),
        ),
        rejoins("m0", after="newcomer", requirement="CLIENT-32"),
        recovers("m0", after="newcomer", requirement="CLIENT-76"),
    ),
    case(
        "sync/no-bytes",
        "A member that the leader left out, whose assignment has no bytes, stays in the group and heartbeats.",
        ("CLIENT-81", "CLIENT-30"),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS, poll_timeout_ms=_POLL_MS),
            strikes("nothing", _SYNC, Answer(error_code=0, body={"assignment": b""}), direction="response"),
            *start("m0"),
            delivered("nothing", within_ms=15_000),
            passing(4_500),
        ),
        keeps_membership("m0", after="nothing", requirement="CLIENT-81", within_ms=4_000),
        heartbeats_go_on("m0", after="nothing", requirement="CLIENT-30"),
    ),
    case(
        "sync/late-answer",
        "A member heartbeats while its SyncGroup waits for the leader, and takes the assignment when it comes.",
        ("CLIENT-30", "CLIENT-40"),
        plan(
            subject(), [holds("slow", _SYNC, ms=4_000), *start("m0"), delivered("slow", within_ms=15_000), stable("m0", after="slow"), passing(200)]
        ),
        heartbeats_while_parked("m0", hold="slow", requirement="CLIENT-40", at_least_ms=2_000),
        takes_up_its_work("m0", after="slow", requirement="CLIENT-30"),
    ),
)
