"""A Kafka Streams member as a member of a classic group: errors, a moved coordinator. It keeps its tasks, except where it was removed."""

from __future__ import annotations

from groupproof.harness.cases.client.client_case_builders import SHOULD, code_name
from groupproof.harness.cases.embedded.streams_builders import PARTITIONS, WAIT_MS, application, plan, streams_case, synced, working
from groupproof.harness.judging.case_checkers.discovery import rediscovers
from groupproof.harness.judging.case_checkers.embedded.streams_member import ends, names_its_tasks, rejoins_uncommitted
from groupproof.harness.judging.case_checkers.fields import names_its_instance, starts_in_generation
from groupproof.harness.judging.case_checkers.leave_group import leaves_others_alone
from groupproof.harness.judging.case_checkers.reactions import REACT_MS, Identity, keeps_membership, recovers, rejoins, request_came, stays_out
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan_builders import answers, append, close, delivered, event, mark, passing, refuses_a_heartbeat, requested, start
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["CASES"]

_BEAT, _SYNC, _JOIN, _COMMIT = Api.HEARTBEAT, Api.SYNC_GROUP, Api.JOIN_GROUP, Api.OFFSET_COMMIT
_RETURN_MS = 25_000  # a session in which even a slow process can restart


def _beat(code: ErrorCode, title: str, *requirements: str, identity: Identity = Identity.KEPT) -> Case:
    keeps = code is ErrorCode.REBALANCE_IN_PROGRESS
    return streams_case(
        f"heartbeat-{code_name(code)}",
        title,
        (*requirements, *(["STREAMS-04"] if keeps else [])),
        plan(
            application(),
            *working(),
            *refuses_a_heartbeat(code),
            synced("m0", after="error", within_ms=WAIT_MS, go_on=True),
            passing(300),
        ),
        request_came("error", "m0", _BEAT, requirement="CLIENT-30"),
        rejoins("m0", after="error", requirement=requirements[0], identity=identity),
        recovers("m0", after="error", requirement=requirements[-1]),
        *([names_its_tasks("m0", after="error")] if keeps else []),
    )


def _sync(code: ErrorCode, title: str, *requirements: str, identity: Identity = Identity.KEPT) -> Case:
    return streams_case(
        f"sync-{code_name(code)}",
        title,
        requirements,
        plan(
            application(),
            answers("error", _SYNC, code),
            *start("m0"),
            delivered("error", within_ms=WAIT_MS),
            synced("m0", after="error", within_ms=WAIT_MS, go_on=True),
            passing(round(REACT_MS) + 1_000),
        ),
        request_came("error", "m0", _SYNC, requirement="CLIENT-11", within_ms=WAIT_MS),
        rejoins("m0", after="error", requirement=requirements[0], identity=identity),
        recovers("m0", after="error", requirement=requirements[-1]),
    )


def _commit(code: ErrorCode, title: str) -> Case:
    return streams_case(
        f"commit-{code_name(code)}",
        title,
        ("STREAMS-19", "CLIENT-30"),
        plan(
            application(),
            answers("error", _COMMIT, code, client="m0"),
            *start("m0"),
            delivered("error", within_ms=WAIT_MS),
            synced("m0", after="error", within_ms=WAIT_MS, go_on=True),
            passing(300),
        ),
        rejoins_uncommitted("m0", after="error"),
        recovers("m0", after="error", requirement="CLIENT-30"),
    )


_STATIC: tuple[Case, ...] = (
    streams_case(
        "static-member-returns",
        "A static member of Kafka Streams that is closed and comes back within its session takes its place without a rebalance.",
        ("STATIC-16", "STATIC-01"),
        plan(
            application("a0", kind="reference"),
            application("m0", instance="i0", session_ms=_RETURN_MS),
            application("m1", instance="i0", session_ms=_RETURN_MS),
            *working("a0"),
            mark("start-m0"),
            *start("m0"),
            synced("m0", after="start-m0"),
            passing(1_500),
            append("t", PARTITIONS, 5),
            requested("m0", _COMMIT, after="start-m0", within_ms=WAIT_MS),
            mark("restart"),
            close("m0"),
            *start("m1"),
            synced("m1", after="restart", within_ms=_RETURN_MS),
            passing(700),
        ),
        names_its_instance("m1", "i0"),
        starts_in_generation("m1", of="m0", requirement="STATIC-16"),
        leaves_others_alone("a0", after="restart", requirement="STATIC-16"),
        needs=["static"],
        level=SHOULD,
    ),
    streams_case(
        "static-member-fenced",
        "A static member of Kafka Streams whose Heartbeat is fenced ends and gives way.",
        ("CLIENT-57", "STATIC-10"),
        plan(
            application(instance="i0"),
            *working(),
            answers("fenced", _BEAT, ErrorCode.FENCED_INSTANCE_ID, count=None),
            delivered("fenced"),
            event("m0", "error", after="fenced", within_ms=round(REACT_MS), go_on=True),
            passing(3_500),
        ),
        request_came("fenced", "m0", _BEAT, requirement="CLIENT-57"),
        ends("m0", after="fenced", requirement="CLIENT-57"),
        stays_out("m0", after="fenced", requirement="STATIC-10"),
        needs=["static"],
    ),
)

CASES: tuple[Case, ...] = (
    _beat(
        ErrorCode.REBALANCE_IN_PROGRESS,
        "A member of Kafka Streams that is told of a rebalance joins again as the member it is, with its tasks.",
        "CLIENT-46",
    ),
    _beat(
        ErrorCode.ILLEGAL_GENERATION,
        "A member of Kafka Streams that is told that its generation has passed joins again as the member it is.",
        "CLIENT-76",
    ),
    _beat(
        ErrorCode.UNKNOWN_MEMBER_ID,
        "A member of Kafka Streams that is told that it is unknown joins anew.",
        "CLIENT-48",
        "CLIENT-55",
        identity=Identity.EMPTY,
    ),
    _sync(
        ErrorCode.REBALANCE_IN_PROGRESS,
        "A member of Kafka Streams whose SyncGroup is overtaken by a rebalance joins again.",
        "CLIENT-31",
        "CLIENT-36",
    ),
    _sync(
        ErrorCode.UNKNOWN_MEMBER_ID,
        "A member of Kafka Streams that is unknown when it syncs joins anew.",
        "CLIENT-33",
        "CLIENT-36",
        identity=Identity.EMPTY,
    ),
    _commit(ErrorCode.ILLEGAL_GENERATION, "A member whose commit is refused for an old generation gives its tasks up and joins again."),
    _commit(ErrorCode.UNKNOWN_MEMBER_ID, "A member whose commit is refused as a stranger's gives its tasks up and joins again."),
    streams_case(
        "heartbeat-not-coordinator",
        "A member of Kafka Streams that is told that this is not its coordinator looks for it and goes on as the member it is.",
        ("CLIENT-49", "CLIENT-04"),
        plan(
            application(),
            *working(),
            answers("error", _BEAT, ErrorCode.NOT_COORDINATOR),
            delivered("error"),
            requested("m0", _BEAT, after="error", go_on=True),
            passing(800),
        ),
        request_came("error", "m0", _BEAT, requirement="CLIENT-30"),
        rediscovers("m0", after="error", requirement="CLIENT-04", api=_BEAT),
        keeps_membership("m0", after="error", requirement="CLIENT-49"),
    ),
    streams_case(
        "join-coordinator-load-in-progress",
        "A member of Kafka Streams that meets a loading coordinator tries again.",
        ("CLIENT-15",),
        plan(
            application(),
            answers("error", _JOIN, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
            *start("m0"),
            delivered("error", within_ms=WAIT_MS),
            synced("m0", after="error", within_ms=WAIT_MS, go_on=True),
            passing(300),
        ),
        request_came("error", "m0", _JOIN, requirement="CLIENT-11", within_ms=WAIT_MS),
        recovers("m0", after="error", requirement="CLIENT-15"),
    ),
    *_STATIC,
)
