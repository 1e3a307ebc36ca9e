"""Cooperative members (KIP-429): a partition that stays with its owner is never revoked, and subscriptions name the partitions truly owned."""

from __future__ import annotations

from typing import Any

from groupproof.harness.cases.client.client_case_builders import GHOST_SESSION_MS, case
from groupproof.harness.judging.case_checkers.leader_assignment import holds_partitions
from groupproof.harness.judging.case_checkers.partition_owner import claims_nothing, keeps_partitions, names_owned_partitions, reports_no_revocation
from groupproof.harness.judging.case_checkers.reactions import Identity, ignores_stale_refusal, recovers, rejoins, request_came
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.model.plan import Member
from groupproof.harness.model.plan_builders import (
    answers,
    commit,
    delivered,
    holds,
    joined,
    mark,
    passing,
    plan,
    requested,
    settled,
    stable,
    start,
    subject,
    tells_of_a_rebalance,
)
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState

__all__ = ["CASES"]


def _cooperative(name: str = "m0", **settings: Any) -> Member:
    return subject(name, assignors=["cooperative-sticky"], **settings)


def _keeps_all(*, after: str) -> Judge:
    return reports_no_revocation("m0", after=after, requirement="ASSIGN-06")


CASES: tuple[Case, ...] = (
    case(
        "cooperative/hand-over",
        "A cooperative member keeps the partitions that stay with it while another joins, and hands over the rest.",
        ("ASSIGN-09", "ASSIGN-06"),
        plan(
            _cooperative("m0"),
            _cooperative("m1"),
            [*joined("m0"), passing(300), mark("newcomer"), *start("m1"), settled({"t": 4}, "m0", "m1", after="newcomer"), passing(300)],
            topics={"t": 4},
        ),
        names_owned_partitions("m0", after="newcomer", requirement="ASSIGN-09"),
        keeps_partitions("m0", 2, after="newcomer", requirement="ASSIGN-06"),
        recovers("m1", after="newcomer", requirement="ASSIGN-09"),
        holds_partitions("m1", 2, after="newcomer", requirement="ASSIGN-09"),
    ),
    case(
        "cooperative/rebalance-without-change",
        "A rebalance that changes nothing takes no partition from a cooperative member.",
        ("ASSIGN-09", "ASSIGN-06", "CLIENT-46"),
        plan(
            _cooperative(),
            *joined("m0"),
            passing(300),
            *tells_of_a_rebalance(),
            stable("m0", after="rebalance"),
            passing(500),
        ),
        rejoins("m0", after="rebalance", requirement="CLIENT-46"),
        names_owned_partitions("m0", after="rebalance", requirement="ASSIGN-09"),
        _keeps_all(after="rebalance"),
    ),
    case(
        "cooperative/sync-overtaken",
        "A cooperative member whose SyncGroup meets a new rebalance keeps its partitions and names them again.",
        ("ASSIGN-09", "CLIENT-32", "ASSIGN-06"),
        plan(
            _cooperative(),
            *joined("m0"),
            passing(300),
            answers("error", Api.SYNC_GROUP, ErrorCode.REBALANCE_IN_PROGRESS),
            *tells_of_a_rebalance(),
            delivered("error"),
            stable("m0", after="error"),
            passing(500),
        ),
        request_came("error", "m0", Api.SYNC_GROUP, requirement="CLIENT-11"),
        rejoins("m0", after="error", requirement="CLIENT-32"),
        names_owned_partitions("m0", after="error", requirement="ASSIGN-09"),
        _keeps_all(after="error"),
    ),
    case(
        "cooperative/commit-refused-while-joining",
        "A cooperative member whose commit of the old generation is refused while it joins goes on with the new one.",
        ("CLIENT-11", "CLIENT-64"),
        plan(
            _cooperative(session_timeout_ms=9_000),
            *joined("m0"),
            passing(300),
            holds("slow", Api.JOIN_GROUP, ms=1_500, error=0),
            # Not a commit in the new generation, which a shim may send late: the state is that of the held JoinGroup.
            answers("refused", Api.OFFSET_COMMIT, ErrorCode.ILLEGAL_GENERATION, state=GroupState.COMPLETING_REBALANCE.value),
            *tells_of_a_rebalance(),
            delivered("slow"),
            mark("commit"),
            commit("m0", ("t", 0, 5), mode="async", wait=False),
            stable("m0", after="slow", within_ms=11_500),
            passing(700),
        ),
        recovers("m0", after="slow", requirement="CLIENT-11"),
        ignores_stale_refusal("m0", fault="refused", join="slow"),
    ),
    case(
        "cooperative/unknown-member-id",
        "A cooperative member that was thrown out claims none of the partitions it had.",
        ("CLIENT-48", "ASSIGN-09"),
        plan(
            _cooperative(session_timeout_ms=GHOST_SESSION_MS),
            *joined("m0"),
            passing(300),
            answers("error", Api.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID),
            delivered("error"),
            requested("m0", Api.JOIN_GROUP, after="error", go_on=True),
            stable("m0", after="error", within_ms=12_000),
        ),
        rejoins("m0", after="error", requirement="CLIENT-48", identity=Identity.EMPTY),
        claims_nothing("m0", after="error", requirement="ASSIGN-09"),
        recovers("m0", after="error", requirement="CLIENT-48"),
    ),
)
