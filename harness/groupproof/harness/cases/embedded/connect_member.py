"""A Kafka Connect worker as a member of a classic group: errors, a moved coordinator, the clean close. It keeps its work meanwhile."""

from __future__ import annotations

from groupproof.harness.cases.client.client_case_builders import code_name
from groupproof.harness.cases.embedded.connect_builders import connect_case, jobs, joined_workers, synced, worker
from groupproof.harness.judging.case_checkers.discovery import rediscovers
from groupproof.harness.judging.case_checkers.embedded.connect_assignments import assigns_everything
from groupproof.harness.judging.case_checkers.embedded.connect_duties import keeps_membership_in_reach, names_its_jobs
from groupproof.harness.judging.case_checkers.leave_group import leaves
from groupproof.harness.judging.case_checkers.reactions import REACT_MS, Identity, recovers, rejoins, request_came
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan_builders import answers, close, delivered, event, mark, passing, plan, refuses_a_heartbeat, requested, start
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["CASES"]

_BEAT, _SYNC, _JOIN = Api.HEARTBEAT, Api.SYNC_GROUP, Api.JOIN_GROUP
_WAIT_MS = 12_000


def _beat(code: ErrorCode, title: str, *requirements: str, identity: Identity = Identity.KEPT) -> Case:
    return connect_case(
        f"heartbeat-{code_name(code)}",
        title,
        (*requirements, "CONNECT-03"),
        plan(
            worker(),
            *joined_workers("m0"),
            *refuses_a_heartbeat(code),
            synced("m0", after="error", within_ms=_WAIT_MS, go_on=True),
            passing(300),
        ),
        request_came("error", "m0", _BEAT, requirement="CLIENT-30"),
        rejoins("m0", after="error", requirement=requirements[0], identity=identity),
        recovers("m0", after="error", requirement=requirements[-1]),
        names_its_jobs("m0"),
    )


def _sync(code: ErrorCode, title: str, *requirements: str, identity: Identity = Identity.KEPT) -> Case:
    # A worker with a new identity leaves a dead member behind, which gets a part of the work.
    deals = [assigns_everything("m0", *jobs("t"), after="error")] if identity is Identity.KEPT else []
    return connect_case(
        f"sync-{code_name(code)}",
        title,
        (*requirements, *(["CONNECT-05"] if deals else [])),
        plan(
            worker(),
            answers("error", _SYNC, code),
            *start("m0"),
            delivered("error"),
            synced("m0", after="error", within_ms=_WAIT_MS, go_on=True),
            passing(round(REACT_MS) + 1_000),
        ),
        request_came("error", "m0", _SYNC, requirement="CLIENT-11"),
        rejoins("m0", after="error", requirement=requirements[0], identity=identity),
        recovers("m0", after="error", requirement=requirements[-1]),
        *deals,
    )


_ERRORS: tuple[Case, ...] = (
    _beat(ErrorCode.REBALANCE_IN_PROGRESS, "A worker told of a rebalance joins again as the member it is.", "CLIENT-46"),
    _beat(ErrorCode.ILLEGAL_GENERATION, "A worker told that its generation has passed joins again as the member it is.", "CLIENT-76"),
    _beat(ErrorCode.UNKNOWN_MEMBER_ID, "A worker told that it is unknown joins anew.", "CLIENT-48", "CLIENT-55", identity=Identity.EMPTY),
    _sync(ErrorCode.REBALANCE_IN_PROGRESS, "A worker whose SyncGroup is overtaken by a rebalance joins again.", "CLIENT-31", "CLIENT-36"),
    _sync(ErrorCode.UNKNOWN_MEMBER_ID, "A worker that is unknown when it syncs joins anew.", "CLIENT-33", "CLIENT-36", identity=Identity.EMPTY),
    connect_case(
        "heartbeat-not-coordinator",
        "A worker told that this is not its coordinator looks for it and goes on as the member it is.",
        ("CLIENT-49", "CLIENT-04"),
        plan(
            worker(),
            *joined_workers("m0"),
            answers("error", _BEAT, ErrorCode.NOT_COORDINATOR),
            delivered("error"),
            requested("m0", _BEAT, after="error", go_on=True),
            passing(800),
        ),
        request_came("error", "m0", _BEAT, requirement="CLIENT-30"),
        rediscovers("m0", after="error", requirement="CLIENT-04", api=_BEAT),
        keeps_membership_in_reach("m0", after="error", requirement="CLIENT-49"),
    ),
    connect_case(
        "join-coordinator-load-in-progress",
        "A worker that meets a loading coordinator tries again.",
        ("CLIENT-15",),
        plan(
            worker(),
            answers("error", _JOIN, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
            *start("m0"),
            delivered("error"),
            synced("m0", after="error", within_ms=_WAIT_MS, go_on=True),
            passing(300),
        ),
        request_came("error", "m0", _JOIN, requirement="CLIENT-11"),
        recovers("m0", after="error", requirement="CLIENT-15"),
    ),
)

_END: tuple[Case, ...] = (
    connect_case(
        "leaves-when-stopped",
        "A worker that is stopped leaves the group.",
        ("CLIENT-73",),
        plan(worker(), [*joined_workers("m0"), mark("close"), close("m0", wait=False), event("m0", "shutdown_complete", go_on=True), passing(300)]),
        leaves("m0", after="close", requirement="CLIENT-73", whole=True),
    ),
)

CASES: tuple[Case, ...] = (*_ERRORS, *_END)
