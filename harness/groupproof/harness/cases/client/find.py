"""Finding the coordinator: lookups that fail, and how often a client repeats them (CLIENT-01 to CLIENT-07, FIND-01)."""

from __future__ import annotations

from groupproof.harness.cases.client.client_case_builders import GROUP, SHOULD, UNHEARD_OF, case, code_name
from groupproof.harness.judging.case_checkers.discovery import finds_by_its_group, looks_up_once, looks_up_one_at_a_time, spaces_lookups
from groupproof.harness.judging.case_checkers.reactions import Identity, recovers, rejoins, request_came, retries, surfaces, survives
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.plan_builders import (
    answers,
    delivered,
    event,
    holds,
    joined,
    passing,
    plan,
    stable,
    start,
    subject,
    tells_of_a_rebalance,
)
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["CASES"]

_FIND = Api.FIND_COORDINATOR


def _failing(code: int, count: int = 1) -> Plan:
    """Return a plan whose first `count` lookups fail; the next one succeeds."""
    return plan(
        subject(), [answers("error", _FIND, code, count=count), *start("m0"), delivered("error"), stable("m0", after="error", within_ms=11_500)]
    )


def _retried(code: int, title: str) -> Case:
    return case(
        f"find/{code_name(code)}",
        title,
        ("CLIENT-06",),
        _failing(code, count=2),
        request_came("error", "m0", _FIND, requirement="CLIENT-06"),
        retries("m0", _FIND, after="error", requirement="CLIENT-06"),
        recovers("m0", after="error", requirement="CLIENT-06"),
        looks_up_one_at_a_time("m0"),
    )


def _error_case(code: int, title: str) -> Case:
    # Every lookup fails, as with a real ACL: sarama tells its application after six rounds of lookups, 10 to 15 s later.
    return case(
        f"find/{code_name(code)}",
        title,
        ("CLIENT-06",),
        plan(
            subject(),
            answers("error", _FIND, code, count=None),
            *start("m0"),
            delivered("error"),
            event("m0", "error", after="error", within_ms=20_000, go_on=True),
        ),
        request_came("error", "m0", _FIND, requirement="CLIENT-06"),
        surfaces("m0", after="error", requirement="CLIENT-06"),
    )


CASES: tuple[Case, ...] = (
    _retried(ErrorCode.COORDINATOR_NOT_AVAILABLE, "A client that finds no coordinator asks again and joins."),
    _retried(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "A client whose lookup meets a loading coordinator asks again and joins."),
    _error_case(ErrorCode.GROUP_AUTHORIZATION_FAILED, "A lookup that is not authorised reaches the application."),
    _error_case(ErrorCode.INVALID_GROUP_ID, "A lookup for an invalid group id reaches the application."),
    case(
        "find/unheard-of-error",
        "A lookup answered with an unheard-of error neither stops the client silently nor is hidden.",
        ("CLIENT-06",),
        plan(
            subject(),
            answers("error", _FIND, UNHEARD_OF),
            *start("m0"),
            delivered("error"),
            event("m0", "error", after="error", within_ms=7_000, go_on=True),
        ),
        request_came("error", "m0", _FIND, requirement="CLIENT-06"),
        survives("m0", after="error", requirement="CLIENT-06"),
    ),
    case(
        "find/waits-between-lookups",
        "A client waits before it repeats a lookup that failed.",
        ("CLIENT-75", "CLIENT-06"),
        _failing(ErrorCode.COORDINATOR_NOT_AVAILABLE, count=4),
        spaces_lookups("m0", after="error"),
        retries("m0", _FIND, after="error", requirement="CLIENT-06"),
        level=SHOULD,
    ),
    case(
        "find/late-answer",
        "A client takes the late answer to its lookup and joins.",
        ("FIND-01", "CLIENT-02"),
        plan(subject(), holds("late", _FIND, ms=1_500), *start("m0"), delivered("late"), stable("m0", after="late")),
        finds_by_its_group("m0", GROUP),
        looks_up_one_at_a_time("m0"),
        recovers("m0", after="late", requirement="FIND-01"),
    ),
    case(
        "find/known-through-a-rebalance",
        "A client that knows its coordinator rejoins it in a rebalance.",
        ("CLIENT-03", "HB-58"),
        plan(
            subject(),
            *joined("m0"),
            *tells_of_a_rebalance(),
            stable("m0", after="rebalance"),
            passing(300),
        ),
        rejoins("m0", after="rebalance", requirement="HB-58", identity=Identity.KEPT),
        looks_up_once("m0", after="rebalance"),
    ),
)
