"""Commits and positions of a member of KIP-848 (CGP-01 to CGP-16): their epoch, every error, and that none sends a client to auto.offset.reset."""

from __future__ import annotations

from typing import Any

from groupproof.harness.cases.client.client_case_builders import code_name
from groupproof.harness.cases.consumer.epoch_builders import (
    BEAT,
    INTERVAL_MS,
    answered_commit,
    case,
    consumed_each,
    joined,
    plan,
    reconciled,
    subject,
    triggered,
)
from groupproof.harness.judging.case_checkers.consumer.epoch_commits import (
    asks_again_or_reports,
    commit_is_answered,
    commits_on,
    commits_with_epoch,
    if_asked_as_member,
    reads_on_from,
    refused_commit_is_reported,
    retries_commit,
)
from groupproof.harness.judging.case_checkers.consumer.epoch_reactions import keeps_epoch
from groupproof.harness.judging.case_checkers.consumer.epoch_rhythm import never_two_in_flight
from groupproof.harness.judging.case_checkers.reactions import request_came
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.plan_builders import answers, append, close, commit, delivered, heal, holds, mark, passing, start
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["CASES"]

_COMMIT, _FETCH = Api.OFFSET_COMMIT, Api.OFFSET_FETCH
_TEN = (("t", 0, 10), ("t", 1, 10))
_NAMED = {("t", 0): 10, ("t", 1): 10}
_TRIES_MS = 1_500
"""The client's API timeout, where it has to be short."""


def _refused(code: int, *, count: int | None = 1) -> Plan:
    return plan(
        subject(),
        *joined("m0"),
        answers("error", _COMMIT, code, count=count),
        commit("m0", *_TEN, wait=False, within_ms=20_000),
        delivered("error"),
        *answered_commit("m0", after="error"),
        session_ms=15_000,
    )


def _reported(code: int, title: str, requirement: str, **open_ends: Any) -> Case:
    """Return a case in which a commit is refused once; `open_ends` are what the refusal may do to the membership."""
    return case(
        f"commit/{code_name(code)}",
        title,
        (requirement, "CGP-01"),
        _refused(code),
        request_came("error", "m0", _COMMIT, requirement="CGP-01"),
        refused_commit_is_reported("m0", after="error", requirement=requirement),
        commit_is_answered("m0", after="error", requirement=requirement, **open_ends),
        commits_with_epoch("m0"),
    )


def _retried(code: int, title: str) -> Case:
    return case(
        f"commit/{code_name(code)}",
        title,
        ("CGP-08", "CGP-04"),
        _refused(code),
        request_came("error", "m0", _COMMIT, requirement="CGP-01"),
        retries_commit("m0", after="error", requirement="CGP-08"),
        commit_is_answered("m0", after="error", requirement="CGP-08"),
        commits_with_epoch("m0"),
    )


_COMMITS: tuple[Case, ...] = (
    case(
        "commit/epoch",
        "A commit carries the member's id and its epoch, before and after others have come.",
        ("CGP-01", "CGP-04"),
        plan(
            subject(),
            subject("m1"),
            *joined("m0", topics={"t": 4}),
            commit("m0"),
            *start("m1"),
            reconciled("m0", "m1", topics={"t": 4}),
            passing(4 * INTERVAL_MS),
            mark("later"),
            commit("m0"),
            passing(300),
            topics={"t": 4},
        ),
        commits_with_epoch("m0"),
    ),
    case(
        "commit/auto-by-interval",
        "A member that commits by itself does so with its id and its epoch.",
        ("CGP-01", "CGP-04"),
        plan(subject(auto_commit=True, auto_commit_interval_ms=500), *joined("m0"), passing(2_500)),
        commits_with_epoch("m0"),
        spares=["auto_commit_interval_ms"],
    ),
    _reported(ErrorCode.STALE_MEMBER_EPOCH, "A commit whose epoch is stale is told to the application, or sent again with the newest.", "CGP-06"),
    # franz-go 6f5471d4: the commit triggered an extra heartbeat beside the one under way.
    case(
        "commit/stale-while-heartbeats-are-slow",
        "A member whose commit is stale sends no heartbeat beside the one that waits for its answer.",
        ("CGC-27", "CGP-06"),
        plan(
            subject(),
            *joined("m0"),
            holds("held", BEAT, ms=700, count=None),  # longer than the interval
            answers("error", _COMMIT, ErrorCode.STALE_MEMBER_EPOCH),
            triggered("held"),
            commit("m0", *_TEN, wait=False, within_ms=20_000),
            delivered("error"),
            passing(3_000),
            session_ms=15_000,
        ),
        request_came("error", "m0", _COMMIT, requirement="CGP-01"),
        never_two_in_flight("m0"),
    ),
    case(
        "commit/auto-after-stale",
        "A member that commits by itself goes on doing so after a commit whose epoch was stale.",
        ("CGP-19",),
        plan(
            subject(auto_commit=True, auto_commit_interval_ms=500),
            *joined("m0"),
            answers("error", _COMMIT, ErrorCode.STALE_MEMBER_EPOCH),
            append("t", 2, 5),
            delivered("error"),
            append("t", 2, 5),
            passing(8_000),
            session_ms=15_000,
        ),
        request_came("error", "m0", _COMMIT, requirement="CGP-01", within_ms=7_000),
        commits_on("m0", after="error"),
        spares=["auto_commit_interval_ms"],
    ),
    # A real coordinator that answers so has no such member. Here the kit invented the code, so the new join is one too many.
    _reported(
        ErrorCode.UNKNOWN_MEMBER_ID,
        "A commit of a member that is unknown is told to the application, and costs no membership by itself.",
        "CGP-07",
        joined_anew=Verdict.INFORMATIONAL,
    ),
    _reported(
        ErrorCode.GROUP_ID_NOT_FOUND,
        "A commit to a group that is gone is told to the application.",
        "CGP-07",
        or_ends=True,
        joined_anew=Verdict.INFORMATIONAL,
    ),
    _reported(ErrorCode.GROUP_AUTHORIZATION_FAILED, "A commit that is not authorised is told to the application.", "CGP-07", or_ends=True),
    _retried(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "A commit that meets a loading coordinator is sent again."),
    _retried(ErrorCode.NOT_COORDINATOR, "A commit that meets another broker than the coordinator is sent again."),
    _retried(ErrorCode.COORDINATOR_NOT_AVAILABLE, "A commit that meets no coordinator is sent again."),
)


def _positions(code: int) -> Plan:
    """Return a plan in which a member commits half of its records, closes and returns, and its OffsetFetch is refused.

    The session is short: a member that takes another id after UNKNOWN_MEMBER_ID has to wait until the old one expires.
    """
    return plan(
        subject(),
        *joined("m0"),
        commit("m0", *_TEN),
        close("m0"),
        answers("error", _FETCH, code),
        mark("back"),
        *start("m0"),
        delivered("error", within_ms=15_000),
        *consumed_each("m0", 0, 1, after="error"),
        append("t", 2, 5),
        passing(4_000),
        session_ms=3_000,
    )


def _read_on(code: int, title: str) -> Case:
    """Return a case in which a transient error answers the OffsetFetch."""
    return case(
        f"fetch/{code_name(code)}",
        title,
        ("CGP-10", "CGP-11"),
        _positions(code),
        request_came("error", "m0", _FETCH, requirement="CGP-11", within_ms=12_000),
        # kafrust's join() asks for the positions, and ends with this error: the application learns it, and has to join anew.
        reads_on_from("m0", after="back", positions=_NAMED, ends_after="error", if_ended=Verdict.NON_STRICT),
    )


def _as_member(code: int, title: str) -> Case:
    """Return a case in which an error about its membership answers the member's OffsetFetch."""
    return case(
        f"fetch/{code_name(code)}",
        title,
        ("CGP-10", "CGP-09"),
        _positions(code),
        request_came("error", "m0", _FETCH, requirement="CGP-11", within_ms=12_000),
        if_asked_as_member(reads_on_from("m0", after="back", positions=_NAMED, reads=None), "m0", error="error"),
        asks_again_or_reports("m0", after="error", requirement="CGP-09"),
        *(() if code == ErrorCode.UNKNOWN_MEMBER_ID else (keeps_epoch("m0", after="error", requirement="CGP-09", or_reports=True),)),
    )


_OFFSETS: tuple[Case, ...] = (
    case(
        "fetch/from-commit",
        "A member begins where its group has committed, and not where it had read to or at auto.offset.reset.",
        ("CGP-11", "CGP-10"),
        plan(
            subject(),
            *joined("m0"),
            commit("m0", *_TEN),
            close("m0"),
            mark("back"),
            *start("m0"),
            *consumed_each("m0", 0, 1, after="back"),
            passing(1_000),
            session_ms=15_000,
        ),
        reads_on_from("m0", after="back", positions=_NAMED),
    ),
    _as_member(ErrorCode.STALE_MEMBER_EPOCH, "A member whose epoch is stale as it asks for its positions does not begin at auto.offset.reset."),
    _read_on(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "A member that asks a loading coordinator for its positions asks again."),
    _read_on(ErrorCode.NOT_COORDINATOR, "A member that asks another broker for its positions asks the coordinator."),
    _read_on(ErrorCode.COORDINATOR_NOT_AVAILABLE, "A member that finds no coordinator for its positions asks again."),
    # franz-go 8038d16d treated the error like a heartbeat's, which is retried in place, and never fetched the positions again.
    case(
        "fetch/not-coordinator-for-long",
        "A member that finds no coordinator for its positions for longer than its client tries asks again when there is one.",
        ("CGP-10", "CGP-11"),
        plan(
            subject(default_api_timeout_ms=_TRIES_MS),
            *joined("m0"),
            commit("m0", *_TEN),
            close("m0"),
            answers("error", _FETCH, ErrorCode.NOT_COORDINATOR, count=None),
            mark("back"),
            *start("m0"),
            delivered("error", within_ms=15_000),
            passing(3 * _TRIES_MS),
            heal("error"),
            mark("healed"),
            *consumed_each("m0", 0, 1, after="healed"),
            append("t", 2, 5),
            passing(4_000),
            session_ms=15_000,
        ),
        reads_on_from("m0", after="back", positions=_NAMED, ends_after="error"),
        required=False,  # librdkafka has no such setting: rd_kafka_committed() gets its timeout from the caller
    ),
    _as_member(ErrorCode.UNKNOWN_MEMBER_ID, "A member that is unknown as it asks for its positions does not begin at auto.offset.reset."),
)

CASES: tuple[Case, ...] = (*_COMMITS, *_OFFSETS)
