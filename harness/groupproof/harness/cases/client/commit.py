"""Synchronous OffsetCommit: every error that can answer it (CLIENT-66 to CLIENT-70, and the COMMIT rules on a client's side)."""

from __future__ import annotations

from groupproof.harness.cases.client.client_case_builders import GHOST_SESSION_MS, UNHEARD_OF, case, code_name
from groupproof.harness.judging.case_checkers.commit_reactions import commit_fails, commit_is_reported, commit_succeeds
from groupproof.harness.judging.case_checkers.discovery import rediscovers
from groupproof.harness.judging.case_checkers.fields import commits_carry_membership
from groupproof.harness.judging.case_checkers.reactions import Identity, recovers, rejoins, request_came
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Plan, Step
from groupproof.harness.model.plan_builders import (
    answers,
    commit,
    delivered,
    event,
    heal,
    joined,
    mark,
    passing,
    plan,
    requested,
    stable,
    subject,
    tells_of_a_rebalance,
)
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["CASES"]

_COMMIT = Api.OFFSET_COMMIT
_OFFSETS = (("t", 0, 5), ("t", 1, 7))

_ALIEN = {
    "protocol": ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    "group": ErrorCode.INVALID_GROUP_ID,
    "session": ErrorCode.INVALID_SESSION_TIMEOUT,
    "id": ErrorCode.MEMBER_ID_REQUIRED,
    "size": ErrorCode.GROUP_MAX_SIZE_REACHED,
}
"""Errors that no broker answers to an OffsetCommit, by the name of the mark before the commit."""


def _failing(code: int, *more: Step) -> Plan:
    """Return a plan that answers a stable member's commit with an error."""
    error = answers("error", _COMMIT, code)
    return plan(subject(), [*joined("m0"), mark("commit"), error, commit("m0", *_OFFSETS), delivered("error", go_on=True), *more, passing(300)])


def _failing_commit(name: str, code: int) -> tuple[Step, ...]:
    """Return one of several failing commits. The next waits until the error is delivered, even if the client calls it done before."""
    error = f"{name}-error"
    return mark(name), answers(error, _COMMIT, code), commit("m0", *_OFFSETS), delivered(error, go_on=True)


def _again() -> Step:
    """Return the wait for a repeated commit after its command was answered, as by a client whose commit returns no result."""
    return requested("m0", _COMMIT, after="error", within_ms=3_500, go_on=True)


def _outdated(code: int) -> Plan:
    """Return a plan with an error that ends the membership: as at a coordinator, each commit and Heartbeat gets it until the client joins again."""
    return plan(
        subject(session_timeout_ms=GHOST_SESSION_MS),
        *joined("m0"),
        mark("commit"),
        answers("error", _COMMIT, code, count=None),
        commit("m0", *_OFFSETS, wait=False),
        delivered("error"),
        answers("told", Api.HEARTBEAT, code, count=None),
        requested("m0", Api.JOIN_GROUP, after="error", go_on=True),
        heal("told"),
        heal("error"),
        event("m0", "offsets_committed", after="commit", within_ms=11_000, go_on=True),
        stable("m0", after="error", within_ms=9_000, go_on=True),
    )


def _raised(code: int, title: str, *, requirement: str = "CLIENT-69") -> Case:
    return case(
        f"commit/{code_name(code)}",
        title,
        (requirement,),
        _failing(code),
        request_came("error", "m0", _COMMIT, requirement=requirement),
        commit_fails("m0", after="commit", requirement=requirement),
    )


def _retried(code: int, title: str, *more: str) -> Case:
    rediscovery = (rediscovers("m0", after="error", requirement="CLIENT-04", api=_COMMIT),) if more else ()
    return case(
        f"commit/{code_name(code)}",
        title,
        ("CLIENT-69", *more),
        _failing(code, _again()),
        request_came("error", "m0", _COMMIT, requirement="CLIENT-69"),
        commit_succeeds("m0", after="commit", requirement="CLIENT-69"),
        *rediscovery,
    )


def _refused(code: int, title: str, identity: Identity) -> Case:
    """Return a case whose member gets the error from a commit and then from its next Heartbeat; it may wait for the latter."""
    return case(
        f"commit/{code_name(code)}",
        title,
        ("CLIENT-67", "CLIENT-76"),
        _outdated(code),
        request_came("error", "m0", _COMMIT, requirement="CLIENT-67"),
        commit_fails("m0", after="commit", requirement="CLIENT-67"),
        rejoins("m0", after="error", requirement="CLIENT-76", identity=identity),
    )


CASES: tuple[Case, ...] = (
    _retried(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "A commit that meets a loading coordinator is repeated, or its failure told."),
    _retried(ErrorCode.COORDINATOR_NOT_AVAILABLE, "A commit that meets no coordinator is repeated after a lookup, or its failure told.", "CLIENT-04"),
    _retried(ErrorCode.NOT_COORDINATOR, "A commit that meets another broker is repeated after a lookup, or its failure told.", "CLIENT-04"),
    _retried(ErrorCode.REQUEST_TIMED_OUT, "A commit that the coordinator could not store in time is repeated, or its failure told."),
    _raised(ErrorCode.OFFSET_METADATA_TOO_LARGE, "A commit whose metadata is too large fails for the application."),
    _raised(ErrorCode.INVALID_COMMIT_OFFSET_SIZE, "A commit that is too large fails for the application."),
    _raised(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "A commit to a topic that is not authorised fails for the application."),
    _raised(ErrorCode.GROUP_AUTHORIZATION_FAILED, "A commit to a group that is not authorised fails for the application."),
    _raised(UNHEARD_OF, "A commit answered with an unheard-of error fails for the application."),
    _refused(ErrorCode.ILLEGAL_GENERATION, "A commit of a generation that has passed fails, and its member joins again.", Identity.KEPT),
    _refused(ErrorCode.UNKNOWN_MEMBER_ID, "A commit of an unknown member fails, and its client joins anew.", Identity.EMPTY),
    case(
        "commit/rebalance-in-progress",
        "A commit refused for a rebalance fails, and its member stays who it is.",
        ("CLIENT-68", "CLIENT-65"),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS),
            *joined("m0"),
            mark("commit"),
            answers("error", _COMMIT, ErrorCode.REBALANCE_IN_PROGRESS),
            commit("m0", *_OFFSETS),
            delivered("error"),
            requested("m0", Api.JOIN_GROUP, after="error", within_ms=2_500, go_on=True),
            # A client that does not rejoin for this gets the error from its Heartbeat, as from any coordinator.
            answers("rebalance", Api.HEARTBEAT, ErrorCode.REBALANCE_IN_PROGRESS, count=None, direction="response"),
            requested("m0", Api.JOIN_GROUP, after="error", go_on=True),
            heal("rebalance"),
            stable("m0", after="error", within_ms=9_000, go_on=True),
        ),
        request_came("error", "m0", _COMMIT, requirement="CLIENT-68"),
        commit_fails("m0", after="commit", requirement="CLIENT-68"),
        rejoins("m0", after="error", requirement="CLIENT-65", within_ms=9_000),
        recovers("m0", after="error", requirement="CLIENT-76"),
    ),
    case(
        "commit/unknown-topic-or-partition",
        "A commit of a topic that the coordinator does not know is repeated or told to have failed.",
        ("CLIENT-69",),
        _failing(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _again()),
        request_came("error", "m0", _COMMIT, requirement="CLIENT-69"),
        commit_is_reported("m0", after="commit", requirement="CLIENT-69"),
    ),
    case(
        "commit/codes-of-other-requests",
        "Commits answered with codes that belong to other requests fail for the application, one by one.",
        ("CLIENT-69",),
        plan(subject(), *joined("m0"), *(step for name, code in _ALIEN.items() for step in _failing_commit(name, code)), passing(300)),
        *(commit_fails("m0", after=name, requirement="CLIENT-69") for name in _ALIEN),
    ),
    case(
        "commit/membership",
        "A commit carries the member's id and its newest generation.",
        ("CLIENT-66", "COMMIT-06"),
        plan(
            subject(),
            *joined("m0"),
            *tells_of_a_rebalance(),
            stable("m0", after="rebalance"),
            passing(200),  # in a cooperative group no event that a plan could wait for reports an assignment without new partitions
            mark("commit"),
            commit("m0", *_OFFSETS),
            passing(200),
        ),
        commits_carry_membership("m0", after="commit"),
        commit_succeeds("m0", after="commit", requirement="COMMIT-06", failing=Verdict.FAILED),
    ),
)
