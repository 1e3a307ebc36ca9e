"""Commits that a client sends once too often: after it was removed, refused for good, during a rebalance, or after a partition changed its owner."""

from __future__ import annotations

from typing import Any

from groupproof.harness.cases.client.client_case_builders import GHOST_SESSION_MS, SHOULD, case
from groupproof.harness.judging.case_checkers.app_polls import hears_nothing_fatal
from groupproof.harness.judging.case_checkers.commit_reactions import commit_is_reported
from groupproof.harness.judging.case_checkers.reactions import recovers, rejoins, request_came
from groupproof.harness.judging.case_checkers.repeated_commits import (
    commits_never_go_back,
    commits_nothing_handed_over,
    gives_refused_commits_up,
    pauses_between_commits,
    repeats_no_refused_commit,
)
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.plan_builders import (
    answered,
    answers,
    commit,
    consumed,
    delivered,
    event,
    heal,
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
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["CASES"]

_COMMIT = Api.OFFSET_COMMIT
_OLD = (("t", 0, 5), ("t", 1, 5))
_NEW = (("t", 0, 20), ("t", 1, 20))
_GIVES_UP_MS = 11_500


def _thrown_out(mode: str) -> Plan:
    """Return a plan in which the coordinator never gets the subject's heartbeats, though they are answered, as by a stale proxy. The coordinator
    removes the subject, another member takes its partitions over and continues, and then the subject commits what it had read."""
    return plan(
        subject(session_timeout_ms=GHOST_SESSION_MS),
        reference_peer(),
        *joined("m0"),
        answers("unheard", Api.HEARTBEAT, ErrorCode.NONE, client="m0", count=None),
        delivered("unheard"),
        *start("a0"),
        stable("a0", after="unheard", within_ms=15_000),
        consumed("a0"),
        commit("a0", *_NEW),
        mark("commit"),
        commit("m0", *_OLD, mode=mode, wait=False),
        answered("m0", _COMMIT, error=None, after="commit", go_on=True),
        heal("unheard"),
        stable("a0", "m0", after="commit", within_ms=12_000, go_on=True),
        passing(2_000),
    )


def _of_a_zombie(mode: str, name: str, title: str, *needs: str) -> Case:
    return case(
        f"commit/{name}",
        title,
        ("CLIENT-67", "CLIENT-55"),
        _thrown_out(mode),
        repeats_no_refused_commit("m0", after="commit"),
        commit_is_reported("m0", after="commit", requirement="CLIENT-67"),
        recovers("m0", after="commit", requirement="CLIENT-55"),
    )


def _refused_each_time(code: int, name: str, title: str, requirement: str, **settings: Any) -> Case:
    return case(
        f"commit/{name}",
        title,
        (requirement,),
        plan(
            subject(**settings),
            *joined("m0"),
            answers("refused", _COMMIT, code, count=None),
            mark("commit"),
            commit("m0", *_OLD, wait=False),
            delivered("refused"),
            event("m0", "answer", after="commit", within_ms=_GIVES_UP_MS, go_on=True),
            passing(2_000),
        ),
        request_came("refused", "m0", _COMMIT, requirement=requirement),
        gives_refused_commits_up("m0", after="commit", requirement=requirement),
    )


CASES: tuple[Case, ...] = (
    _of_a_zombie("sync", "of-a-zombie", "A commit of a member that was thrown out fails, and does not come back when its client does."),
    _of_a_zombie(
        "async",
        "async-of-a-zombie",
        "An asynchronous commit of a member that was thrown out fails, and does not come back when its client does.",
        "commit-async",
    ),
    _refused_each_time(
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        "forbidden-for-good",
        "A commit that is never authorised is given up, and told to have failed.",
        "CLIENT-69",
    ),
    _refused_each_time(
        ErrorCode.ILLEGAL_GENERATION,
        "outdated-for-good",
        "A commit whose generation is refused each time is given up, and told to have failed.",
        "CLIENT-67",
        session_timeout_ms=GHOST_SESSION_MS,
    ),
    case(
        "commit/auto-while-a-rebalance-waits",
        "An automatic commit that the rebalance refuses neither keeps its member from joining again nor ends it, and comes again after a pause.",
        ("CLIENT-75", "CLIENT-76", "CLIENT-46"),
        plan(
            subject(auto_commit=True, auto_commit_interval_ms=500),
            reference_peer(),
            answers("refused", _COMMIT, ErrorCode.REBALANCE_IN_PROGRESS, client="m0", count=None),
            *start("m0"),
            consumed("m0", within_ms=15_000),
            delivered("refused"),
            mark("newcomer"),
            *start("a0"),
            stable("a0", "m0", after="newcomer", within_ms=12_000, go_on=True),
            passing(1_000),
            heal("refused"),
            passing(1_500),  # the refused commit comes again and is accepted: it must name only the remaining partitions
        ),
        request_came("refused", "m0", _COMMIT, requirement="CLIENT-76", within_ms=12_000),
        rejoins("m0", after="newcomer", requirement="CLIENT-46"),
        recovers("m0", after="newcomer", requirement="CLIENT-76"),
        pauses_between_commits("m0", after="refused"),
        hears_nothing_fatal("m0", after="refused", requirement="CLIENT-76"),
    ),
    case(
        "commit/auto-only-grows",
        "What a member commits by itself never falls behind what it had committed.",
        ("CLIENT-62",),
        plan(
            subject(auto_commit=True, auto_commit_interval_ms=300),
            mark("begun"),
            *joined("m0"),
            passing(1_500),
            *tells_of_a_rebalance(),
            stable("m0", after="rebalance"),
            passing(1_500),
        ),
        commits_never_go_back("m0", after="begun"),
    ),
    case(
        "cooperative/commits-until-handed-over",
        "A cooperative member that commits by itself commits nothing more for what it has handed over.",
        ("COMMIT-27",),
        plan(
            subject(assignors=["cooperative-sticky"], auto_commit=True, auto_commit_interval_ms=300),
            reference_peer("z0", assignors=["cooperative-sticky"]),
            [*joined("m0"), mark("newcomer"), *start("z0"), stable("m0", "z0", after="newcomer"), passing(3_500)],
            topics={"t": 4},
        ),
        commits_nothing_handed_over("m0", after="newcomer"),
    ),
    case(
        "join/rejoin-rebalance-in-progress",
        "A member whose JoinGroup is answered with 27 joins again, and its application is not ended by it.",
        ("CLIENT-75", "CLIENT-76"),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS),
            *joined("m0"),
            answers("error", Api.JOIN_GROUP, ErrorCode.REBALANCE_IN_PROGRESS, count=2),
            *tells_of_a_rebalance(),
            delivered("error"),
            stable("m0", after="error", within_ms=9_000, go_on=True),
            passing(500),
        ),
        request_came("error", "m0", Api.JOIN_GROUP, requirement="CLIENT-76"),
        rejoins("m0", after="error", requirement="CLIENT-76", or_reports=True),
        hears_nothing_fatal("m0", after="error", requirement="CLIENT-75", severity=Verdict.NON_STRICT),
        level=SHOULD,
    ),
)
