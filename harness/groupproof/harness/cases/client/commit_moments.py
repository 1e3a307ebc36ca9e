"""Commits at other moments: asynchronous, automatic, from a callback, during a rebalance, and after the membership was lost."""

from __future__ import annotations

from groupproof.harness.cases.client.client_case_builders import GHOST_SESSION_MS, UNHEARD_OF, case, code_name
from groupproof.harness.judging.case_checkers.commit_reactions import (
    commit_fails,
    commit_is_reported,
    commit_reaches_coordinator,
    commit_succeeds,
    commits_before_joining,
    commits_by_itself,
)
from groupproof.harness.judging.case_checkers.reactions import rejoins
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.plan_builders import (
    answers,
    close,
    commit,
    consumed,
    delivered,
    event,
    joined,
    mark,
    move,
    passing,
    plan,
    reference_peer,
    requested,
    stable,
    start,
    subject,
)
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["CASES"]

_COMMIT = Api.OFFSET_COMMIT
_OFFSETS = (("t", 0, 5), ("t", 1, 7))


def _async(code: int) -> Plan:
    return plan(
        subject(session_timeout_ms=GHOST_SESSION_MS),
        *joined("m0"),
        mark("commit"),
        answers("error", _COMMIT, code),
        commit("m0", *_OFFSETS, mode="async"),
        delivered("error"),
        event("m0", "offsets_committed", after="commit", go_on=True),
        passing(300),
    )


def _error_case(code: int, title: str) -> Case:
    """Return a case with an error after which the client may repeat the commit or report it."""
    return case(
        f"commit/async-{code_name(code)}", title, ("CLIENT-69",), _async(code), commit_is_reported("m0", after="commit", requirement="CLIENT-69")
    )


def _fails(code: int, title: str, requirement: str) -> Case:
    return case(f"commit/async-{code_name(code)}", title, (requirement,), _async(code), commit_fails("m0", after="commit", requirement=requirement))


_ASYNC: tuple[Case, ...] = (
    _error_case(
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "An asynchronous commit that meets a loading coordinator ends in success or in an error told."
    ),
    _error_case(ErrorCode.NOT_COORDINATOR, "An asynchronous commit that meets another broker ends in success or in an error told."),
    _fails(ErrorCode.ILLEGAL_GENERATION, "An asynchronous commit of a generation that has passed fails.", "CLIENT-67"),
    _fails(ErrorCode.UNKNOWN_MEMBER_ID, "An asynchronous commit of an unknown member fails.", "CLIENT-67"),
    _fails(ErrorCode.REBALANCE_IN_PROGRESS, "An asynchronous commit refused for a rebalance fails.", "CLIENT-68"),
    _fails(ErrorCode.OFFSET_METADATA_TOO_LARGE, "An asynchronous commit whose metadata is too large fails.", "CLIENT-69"),
    _fails(UNHEARD_OF, "An asynchronous commit answered with an unheard-of error fails.", "CLIENT-69"),
)

_AUTOMATIC: tuple[Case, ...] = (
    case(
        "commit/auto-by-interval",
        "A member with auto-commit commits what was consumed when its interval has passed, and no more than that.",
        ("CLIENT-62", "CLIENT-66"),
        plan(
            subject(auto_commit=True, auto_commit_interval_ms=500),
            *joined("m0"),
            consumed("m0"),
            mark("consumed"),
            requested("m0", _COMMIT, after="consumed", within_ms=7_000, go_on=True),
            passing(300),
        ),
        commits_by_itself("m0", after="consumed", requirement="CLIENT-62", within_ms=6_500),
        commit_reaches_coordinator("m0", after="consumed", requirement="CLIENT-66"),
    ),
    case(
        "commit/auto-before-rejoin",
        "A member with auto-commit commits what was consumed before it hands its partitions over.",
        ("CLIENT-62",),
        plan(
            subject(auto_commit=True, auto_commit_interval_ms=60_000),
            reference_peer(),
            [*joined("m0"), consumed("m0"), passing(500), mark("newcomer"), *start("a0"), stable("m0", "a0", after="newcomer")],
        ),
        commits_before_joining("m0", after="newcomer", requirement="CLIENT-62"),
        spares=["auto_commit_interval_ms"],
    ),
    case(
        "commit/auto-at-close",
        "A member with auto-commit commits what was consumed when it closes.",
        ("COMMIT-23", "CLIENT-62"),
        plan(
            subject(auto_commit=True, auto_commit_interval_ms=60_000),
            [*joined("m0"), consumed("m0"), passing(500), mark("close"), close("m0"), passing(300)],
        ),
        commits_by_itself("m0", after="close", requirement="COMMIT-23", within_ms=0, absent=Verdict.NON_STRICT),
        spares=["auto_commit_interval_ms"],
    ),
)

_REBALANCE: tuple[Case, ...] = (
    case(
        "commit/on-revoked",
        "A commit from the callback that hands partitions over is accepted, for the generation is still the old one.",
        ("COMMIT-08", "CLIENT-46"),
        plan(
            subject(on_revoked={"sleep_ms": 800, "commit": True}),
            reference_peer(),
            *joined("m0"),
            consumed("m0"),
            passing(300),
            mark("newcomer"),
            *start("a0"),
            event("m0", "partitions_revoked", after="newcomer", go_on=True),
            mark("handing over"),
            stable("m0", "a0", after="newcomer"),
        ),
        commit_succeeds("m0", after="newcomer", requirement="COMMIT-08"),
        rejoins("m0", after="handing over", requirement="CLIENT-46"),
    ),
    case(
        "commit/after-the-group-forgot",
        "A commit after the coordinator lost the group fails: it is never stored as anybody's.",
        ("CLIENT-67", "CLIENT-66"),
        plan(
            subject(heartbeat_interval_ms=2_500, session_timeout_ms=9_000),
            *joined("m0"),
            passing(300),
            move(state="lost"),
            mark("commit"),
            commit("m0", *_OFFSETS),
            requested("m0", _COMMIT, after="commit", count=2, within_ms=3_500, go_on=True),
            passing(300),
        ),
        commit_fails("m0", after="commit", requirement="CLIENT-67"),
    ),
)

CASES: tuple[Case, ...] = (*_ASYNC, *_AUTOMATIC, *_REBALANCE)
