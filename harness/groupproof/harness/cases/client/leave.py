"""Leaving: a close in every phase, and every answer to LeaveGroup (CLIENT-71 to CLIENT-73, CLIENT-80, LEAVE-55)."""

from __future__ import annotations

from groupproof.harness.cases.client.client_case_builders import GHOST_SESSION_MS, UNHEARD_OF, case, code_name
from groupproof.harness.judging.case_checkers.leave_group import closes, leaves, leaves_once, sends_none, syncs_no_more
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan_builders import (
    answered,
    answers,
    close,
    command,
    consumed,
    delivered,
    event,
    heal,
    holds,
    joined,
    mark,
    passing,
    plan,
    reference_peer,
    requested,
    stable,
    start,
    subject,
    tells_of_a_rebalance,
)
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["CASES"]

_LEAVE = Api.LEAVE_GROUP


def _failing(code: int, title: str) -> Case:
    return case(
        f"leave/{code_name(code)}",
        title,
        ("CLIENT-73", "CLIENT-80", "CLIENT-71"),
        plan(
            subject(),
            *joined("m0"),
            answers("error", _LEAVE, code),
            mark("close"),
            close("m0", wait=False),
            event("m0", "shutdown_complete", go_on=True),
            passing(200),
        ),
        leaves_once("m0", after="close", once="CLIENT-80"),
        closes("m0", after="close"),
    )


_ERRORS: tuple[Case, ...] = (
    _failing(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "A LeaveGroup that finds a loading coordinator is sent once, and the client closes."),
    _failing(ErrorCode.COORDINATOR_NOT_AVAILABLE, "A LeaveGroup that finds no coordinator is sent once, and the client closes."),
    _failing(ErrorCode.NOT_COORDINATOR, "A LeaveGroup that finds another broker is sent once, and the client closes."),
    _failing(ErrorCode.UNKNOWN_MEMBER_ID, "A LeaveGroup of an unknown member is sent once, and the client closes."),
    _failing(ErrorCode.GROUP_AUTHORIZATION_FAILED, "A LeaveGroup that is not authorised is sent once, and the client closes."),
    _failing(UNHEARD_OF, "A LeaveGroup answered with an unheard-of error is sent once, and the client closes."),
)

_PHASES: tuple[Case, ...] = (
    case(
        "leave/close",
        "A client that closes leaves the group, and its partitions are another's at once.",
        ("CLIENT-73", "LEAVE-55"),
        plan(
            reference_peer(),
            subject(),
            [*joined("a0", "m0"), consumed("m0", go_on=True), mark("close"), close("m0"), stable("a0", after="close", within_ms=9_000)],
        ),
        leaves("m0", after="close", requirement="CLIENT-73"),
        closes("m0", after="close"),
    ),
    case(
        "leave/unsubscribe",
        "A client that unsubscribes leaves the group.",
        ("CLIENT-73",),
        plan(
            subject(heartbeat_interval_ms=800),
            *joined("m0"),
            mark("joined"),
            answered("m0", Api.HEARTBEAT, after="joined"),
            mark("unsubscribe"),
            command("m0", "unsubscribe"),
            requested("m0", _LEAVE, after="unsubscribe", within_ms=6_000, go_on=True),
            mark("left"),
            passing(1_600),
        ),
        leaves("m0", after="unsubscribe", requirement="CLIENT-73"),
        sends_none("m0", Api.HEARTBEAT, after="left", requirement="LEAVE-55", severity=Verdict.INFORMATIONAL, grace_ms=1_000),
    ),
    case(
        "leave/close-before-joined",
        "A client that closes while its JoinGroup waits takes no part in the generation that follows.",
        ("CLIENT-20", "CLIENT-73"),
        plan(
            reference_peer(),
            subject(session_timeout_ms=GHOST_SESSION_MS),
            *joined("a0"),
            holds("slow", Api.JOIN_GROUP, direction="request", client="a0"),
            *start("m0"),
            delivered("slow", within_ms=15_000),
            mark("close"),
            close("m0", wait=False),
            passing(1_500),
            heal("slow"),
            stable("a0", after="close", within_ms=12_000),
        ),
        syncs_no_more("m0", after="close"),
        leaves("m0", after="close", requirement="CLIENT-73", whole=True),
        closes("m0", after="close"),
    ),
    case(
        "leave/close-before-synced",
        "A client that closes while its SyncGroup waits leaves the group.",
        ("CLIENT-73",),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS),
            holds("slow", Api.SYNC_GROUP, client="m0"),
            *start("m0"),
            delivered("slow", within_ms=15_000),
            mark("close"),
            close("m0", wait=False),
            passing(1_200),
            heal("slow"),
            event("m0", "shutdown_complete", go_on=True),
            passing(200),
        ),
        leaves("m0", after="close", requirement="CLIENT-73", whole=True),
        closes("m0", after="close", within_ms=7_000),
    ),
    case(
        "leave/close-between-join-and-sync",
        "A client that closes before it has the answer to its JoinGroup syncs no more.",
        ("CLIENT-20", "CLIENT-73"),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS),
            holds("late", Api.JOIN_GROUP, error=0),
            *start("m0"),
            delivered("late", within_ms=15_000),
            mark("close"),
            close("m0", wait=False),
            passing(1_200),
            heal("late"),
            event("m0", "shutdown_complete", go_on=True),
            passing(300),
        ),
        syncs_no_more("m0", after="close"),
        leaves("m0", after="close", requirement="CLIENT-73", whole=True),
    ),
    case(
        "leave/unsubscribe-before-joined",
        "A client that unsubscribes while its JoinGroup waits takes no part in the generation that follows.",
        ("CLIENT-20", "CLIENT-73"),
        plan(
            reference_peer(),
            subject(session_timeout_ms=GHOST_SESSION_MS),
            *joined("a0"),
            holds("slow", Api.JOIN_GROUP, direction="request", client="a0"),
            *start("m0"),
            delivered("slow", within_ms=15_000),
            mark("unsubscribe"),
            command("m0", "unsubscribe", wait=False),
            passing(1_500),
            heal("slow"),
            stable("a0", after="unsubscribe", within_ms=12_000),
            passing(4_000),
        ),
        syncs_no_more("m0", after="unsubscribe", unsubscribes=True),
        leaves("m0", after="unsubscribe", requirement="CLIENT-73", whole=True),
    ),
    case(
        "leave/close-while-heartbeating",
        "A client that closes while a Heartbeat is unanswered leaves the group.",
        ("CLIENT-73", "CLIENT-71"),
        plan(
            subject(),
            *joined("m0"),
            holds("slow", Api.HEARTBEAT, client="m0"),
            delivered("slow"),
            mark("close"),
            close("m0", wait=False),
            passing(1_000),
            heal("slow"),
            event("m0", "shutdown_complete", go_on=True),
            passing(200),
        ),
        leaves("m0", after="close", requirement="CLIENT-73", whole=True),
        closes("m0", after="close", within_ms=6_000),
    ),
    case(
        "leave/close-in-a-rebalance",
        "A client that closes while it should rejoin leaves the group before it ends.",
        ("CLIENT-73",),
        plan(
            reference_peer(),
            subject(),
            *joined("a0", "m0"),
            holds("slow", Api.JOIN_GROUP, ms=1_500, client="m0"),
            *tells_of_a_rebalance(),
            delivered("slow"),
            mark("close"),
            close("m0", wait=False),
            event("m0", "shutdown_complete", go_on=True),
            passing(1_000),
        ),
        leaves("m0", after="close", requirement="CLIENT-73", whole=True),
        closes("m0", after="close", within_ms=7_000),
    ),
)

CASES: tuple[Case, ...] = (*_ERRORS, *_PHASES)
