"""Lost, late and missing answers in every phase: connections that are cut, reset, or silent (CLIENT-05, CLIENT-22, CLIENT-51)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from groupproof.harness.cases.client.client_case_builders import GHOST_SESSION_MS, case
from groupproof.harness.cases.client.fetch import COMMITTED, after_commits
from groupproof.harness.judging.case_checkers.commit_reactions import commit_is_reported, commit_succeeds
from groupproof.harness.judging.case_checkers.discovery import unless_asked_elsewhere
from groupproof.harness.judging.case_checkers.fields import joins_once, starts_at
from groupproof.harness.judging.case_checkers.leave_group import closes, leaves, sends_none
from groupproof.harness.judging.case_checkers.reactions import comes_back, keeps_membership, recovers, rejoins, retries
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Arm, Plan, Step
from groupproof.harness.model.plan_builders import (
    answered,
    close,
    commit,
    consumed,
    cuts,
    delivered,
    event,
    holds,
    joined,
    mark,
    passing,
    plan,
    requested,
    silences,
    stable,
    start,
    subject,
)
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api

__all__ = ["CASES"]

_FAULT = "broken"
_SHORT_MS = 2_000
_TIMEOUT_MS = 2_500  # of a request: some clients require more than the session
_POLL_MS = 6_000


def _lost(api: Api, **selector: Any) -> Arm:
    """Return the fault that cuts the connection when the answer should leave: the coordinator has processed the request."""
    return cuts(_FAULT, api, **selector)


def _reset(api: Api) -> Arm:
    """Return the fault that resets the connection when the request arrives: the coordinator never gets it."""
    return cuts(_FAULT, api, reset=True, direction="request")


def _coming(fault: Arm) -> Plan:
    """Return a plan in which the fault acts on a client that is joining the group."""
    return plan(
        subject(session_timeout_ms=GHOST_SESSION_MS),
        [fault, *start("m0"), delivered(_FAULT, within_ms=15_000), stable("m0", after=_FAULT, within_ms=12_000)],
    )


def _next_heartbeat() -> Step:
    return requested("m0", Api.HEARTBEAT, after=_FAULT, go_on=True)


def _staying(fault: Arm, *steps: Step) -> Plan:
    """Return a plan in which the fault acts on a stable member."""
    return plan(subject(), *joined("m0"), passing(300), fault, *steps)


_CUT: tuple[Case, ...] = (
    case(
        "link/cut-find",
        "A client whose lookup's answer is lost asks again and joins.",
        ("CLIENT-06", "CLIENT-05"),
        _coming(_lost(Api.FIND_COORDINATOR)),
        unless_asked_elsewhere(retries("m0", Api.FIND_COORDINATOR, after=_FAULT, requirement="CLIENT-06"), "m0"),
        recovers("m0", after=_FAULT, requirement="CLIENT-05"),
    ),
    case(
        "link/cut-join",
        "A client whose JoinGroup's answer is lost joins again with the id that it was handed.",
        ("CLIENT-10", "CLIENT-05"),
        _coming(_lost(Api.JOIN_GROUP, error=0)),
        rejoins("m0", after=_FAULT, requirement="CLIENT-10"),
        recovers("m0", after=_FAULT, requirement="CLIENT-05"),
    ),
    case(
        "link/cut-sync",
        "A member whose SyncGroup's answer is lost syncs or joins again as the member it is.",
        ("CLIENT-31", "CLIENT-10"),
        _coming(_lost(Api.SYNC_GROUP)),
        rejoins("m0", after=_FAULT, requirement="CLIENT-10", or_syncs=True),
        recovers("m0", after=_FAULT, requirement="CLIENT-31"),
    ),
    case(
        "link/cut-heartbeat",
        "A member whose Heartbeat's answer is lost reconnects and goes on as the member it is.",
        ("CLIENT-05",),
        # One broker: with two, it is random whether a Fetch is under way when the Heartbeat is lost (kafkajs reads from each, and heartbeats between
        # two reads).
        replace(_staying(_lost(Api.HEARTBEAT), delivered(_FAULT), _next_heartbeat(), passing(700)), brokers=1),
        keeps_membership("m0", after=_FAULT, requirement="CLIENT-05"),
    ),
    case(
        "link/cut-commit",
        "A commit whose answer is lost is repeated, or its fate told as unknown.",
        ("CLIENT-69", "CLIENT-05"),
        _staying(_lost(Api.OFFSET_COMMIT), mark("commit"), commit("m0", ("t", 0, 5)), _next_heartbeat(), passing(700)),
        commit_is_reported("m0", after="commit", requirement="CLIENT-69"),
        keeps_membership("m0", after=_FAULT, requirement="CLIENT-05"),
    ),
    case(
        "link/cut-fetch",
        "A member whose fetched offsets are lost fetches them again and goes on where the group had committed.",
        ("CLIENT-79",),
        after_commits(
            _lost(Api.OFFSET_FETCH, client="m0"), start("m0"), delivered(_FAULT, within_ms=15_000), consumed("m0", go_on=True), passing(300)
        ),
        retries("m0", Api.OFFSET_FETCH, after=_FAULT, requirement="CLIENT-79"),
        starts_at("m0", COMMITTED, requirement="CLIENT-79"),
    ),
    case(
        "link/cut-leave",
        "A client whose answer to LeaveGroup is lost closes all the same.",
        ("CLIENT-73", "CLIENT-71"),
        _staying(_lost(Api.LEAVE_GROUP), mark("close"), close("m0", wait=False), event("m0", "shutdown_complete", after="close", go_on=True)),
        leaves("m0", after="close", requirement="CLIENT-73", whole=True),
        closes("m0", after="close"),
    ),
)

_RESET: tuple[Case, ...] = (
    case(
        "link/reset-find",
        "A client whose connection is reset at its lookup asks again and joins.",
        ("CLIENT-06", "CLIENT-05"),
        _coming(_reset(Api.FIND_COORDINATOR)),
        unless_asked_elsewhere(retries("m0", Api.FIND_COORDINATOR, after=_FAULT, requirement="CLIENT-06"), "m0"),
        recovers("m0", after=_FAULT, requirement="CLIENT-05"),
    ),
    case(
        "link/reset-leave",
        "A client whose connection is reset at its LeaveGroup closes all the same.",
        ("CLIENT-73", "CLIENT-71"),
        _staying(_reset(Api.LEAVE_GROUP), mark("close"), close("m0", wait=False), event("m0", "shutdown_complete", after="close", go_on=True)),
        leaves("m0", after="close", requirement="CLIENT-73", whole=True),
        closes("m0", after="close"),
    ),
    case(
        "link/reset-join",
        "A client whose connection is reset at its JoinGroup connects again and joins.",
        ("CLIENT-05", "CLIENT-06"),
        _coming(_reset(Api.JOIN_GROUP)),
        retries("m0", Api.JOIN_GROUP, after=_FAULT, requirement="CLIENT-05"),
        recovers("m0", after=_FAULT, requirement="CLIENT-05"),
    ),
    case(
        "link/reset-sync",
        "A member whose connection is reset at its SyncGroup connects again and syncs or joins as the member it is.",
        ("CLIENT-31", "CLIENT-10"),
        _coming(_reset(Api.SYNC_GROUP)),
        rejoins("m0", after=_FAULT, requirement="CLIENT-10", or_syncs=True),
        recovers("m0", after=_FAULT, requirement="CLIENT-31"),
    ),
    case(
        "link/reset-heartbeat",
        "A member whose connection is reset connects again and goes on as the member it is.",
        ("CLIENT-05",),
        _staying(_reset(Api.HEARTBEAT), delivered(_FAULT), requested("m0", Api.HEARTBEAT, after=_FAULT, go_on=True), passing(700)),
        keeps_membership("m0", after=_FAULT, requirement="CLIENT-05"),
    ),
    case(
        "link/reset-commit",
        "A commit whose connection is reset before the coordinator saw it is repeated, or its failure told.",
        ("CLIENT-69", "CLIENT-05"),
        _staying(_reset(Api.OFFSET_COMMIT), mark("commit"), commit("m0", ("t", 0, 5)), _next_heartbeat(), passing(700)),
        commit_succeeds("m0", after="commit", requirement="CLIENT-69"),
        keeps_membership("m0", after=_FAULT, requirement="CLIENT-05"),
    ),
    case(
        "link/reset-fetch",
        "A member whose connection is reset when it fetches offsets goes on where the group had committed.",
        ("CLIENT-79",),
        after_commits(
            cuts(_FAULT, Api.OFFSET_FETCH, reset=True, direction="request", client="m0"),
            start("m0"),
            delivered(_FAULT, within_ms=15_000),
            consumed("m0", go_on=True),
            passing(300),
        ),
        retries("m0", Api.OFFSET_FETCH, after=_FAULT, requirement="CLIENT-79"),
        starts_at("m0", COMMITTED, requirement="CLIENT-79"),
    ),
    case(
        "link/reset-in-a-rebalance",
        "A member whose connection is reset at its rejoin connects again and joins as the member it is.",
        ("CLIENT-10", "CLIENT-05"),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS),
            subject("m1"),
            *joined("m0"),
            passing(300),
            cuts(_FAULT, Api.JOIN_GROUP, reset=True, direction="request", client="m0"),
            *start("m1"),
            delivered(_FAULT, within_ms=12_000),
            stable("m0", "m1", after=_FAULT, within_ms=12_000),
        ),
        rejoins("m0", after=_FAULT, requirement="CLIENT-10"),
        recovers("m0", after=_FAULT, requirement="CLIENT-05"),
    ),
)

_LATE: tuple[Case, ...] = (
    case(
        "link/late-heartbeat",
        "A Heartbeat answered late, but within the session, costs no membership.",
        ("CLIENT-40",),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS),
            [*joined("m0"), passing(300), holds(_FAULT, Api.HEARTBEAT, ms=1_200), delivered(_FAULT), _next_heartbeat(), passing(3_000)],
        ),
        # Less than that of the session remains when the answer has come.
        keeps_membership("m0", after=_FAULT, requirement="CLIENT-40", within_ms=1_500),
        sends_none("m0", Api.JOIN_GROUP, after=_FAULT, requirement="CLIENT-40", severity=Verdict.NON_STRICT),
    ),
    case(
        "link/late-commit",
        "A commit answered late is reported as done once it is, and not before.",
        ("CLIENT-69",),
        _staying(holds(_FAULT, Api.OFFSET_COMMIT, ms=1_800), mark("commit"), commit("m0", ("t", 0, 5)), passing(300)),
        commit_succeeds("m0", after="commit", requirement="CLIENT-69"),
    ),
    case(
        "link/late-fetch",
        "A member whose offsets come late goes on where the group had committed.",
        ("CLIENT-79",),
        after_commits(
            holds(_FAULT, Api.OFFSET_FETCH, ms=1_500, client="m0"),
            start("m0"),
            delivered(_FAULT, within_ms=15_000),
            consumed("m0", go_on=True),
            passing(300),
        ),
        starts_at("m0", COMMITTED, requirement="CLIENT-79"),
    ),
    case(
        "link/late-rejoin",
        "A member whose rejoin is answered late waits for it and goes on with the new generation.",
        ("CLIENT-22", "CLIENT-11"),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS),
            subject("m1"),
            *joined("m0"),
            passing(300),
            holds(_FAULT, Api.JOIN_GROUP, ms=2_000, client="m0", error=0),
            *start("m1"),
            delivered(_FAULT, within_ms=12_000),
            stable("m0", "m1", after=_FAULT, within_ms=12_000),
        ),
        joins_once("m0", after=_FAULT, requirement="CLIENT-22"),
        recovers("m0", after=_FAULT, requirement="CLIENT-11"),
    ),
    case(
        "link/late-leave",
        "A client whose LeaveGroup is answered late closes all the same.",
        ("CLIENT-73", "CLIENT-71"),
        _staying(
            holds(_FAULT, Api.LEAVE_GROUP, ms=1_500),
            mark("close"),
            close("m0", wait=False),
            event("m0", "shutdown_complete", after="close", go_on=True),
        ),
        leaves("m0", after="close", requirement="CLIENT-73", whole=True),
        closes("m0", after="close"),
    ),
)


def _back() -> Step:
    """Return the wait for the coordinator's next answer to the member, on another connection."""
    return answered("m0", Api.HEARTBEAT, after=_FAULT, within_ms=10_500, go_on=True)


def _silent(api: Api, *steps: Step) -> Plan:
    """Return a plan in which a stable member's connection falls silent at `api`. Its session is short, its request timeout longer."""
    return plan(subject(session_timeout_ms=_SHORT_MS, request_timeout_ms=_TIMEOUT_MS), [*joined("m0"), passing(300), silences(_FAULT, api), *steps])


def _unheard(fault: Arm, within_ms: int, **settings: Any) -> Plan:
    """Return a plan in which a joining client's connection falls silent; only its request timeout can detect this."""
    return plan(
        subject(session_timeout_ms=_SHORT_MS, request_timeout_ms=_TIMEOUT_MS, **settings),
        [fault, *start("m0"), delivered(_FAULT, within_ms=15_000), stable("m0", after=_FAULT, within_ms=within_ms)],
    )


_SILENT: tuple[Case, ...] = (
    case(
        "link/silent-find",
        "A client whose lookup is never answered gives it up after its request timeout, asks again and joins.",
        ("CLIENT-06", "CLIENT-05"),
        # One broker: with two, it is random whether the client's next requests use the silent connection (kafkajs chooses brokers at random).
        replace(_unheard(silences(_FAULT, Api.FIND_COORDINATOR), 12_000), brokers=1),
        retries("m0", Api.FIND_COORDINATOR, after=_FAULT, requirement="CLIENT-06", within_ms=_TIMEOUT_MS + 5_000),
        recovers("m0", after=_FAULT, requirement="CLIENT-05"),
    ),
    case(
        "link/silent-sync",
        "A member whose SyncGroup is never answered gives the connection up and comes back.",
        ("CLIENT-31",),
        # A follower's SyncGroup may be parked for the rebalance timeout, so a client may wait that long for its answer.
        _unheard(silences(_FAULT, Api.SYNC_GROUP), 20_000, max_poll_interval_ms=_POLL_MS),
        recovers("m0", after=_FAULT, requirement="CLIENT-31", within_ms=_POLL_MS + 12_000),
    ),
    case(
        "link/silent-fetch",
        "A member whose fetch of offsets is never answered gives the connection up and goes on where the group had committed.",
        ("CLIENT-79",),
        after_commits(
            silences(_FAULT, Api.OFFSET_FETCH, client="m0"),
            start("m0"),
            delivered(_FAULT, within_ms=15_000),
            consumed("m0", go_on=True, within_ms=12_000),
            passing(200),
            session_timeout_ms=_SHORT_MS,
            request_timeout_ms=_TIMEOUT_MS,
        ),
        starts_at("m0", COMMITTED, requirement="CLIENT-79"),
    ),
    case(
        "link/silent-heartbeat",
        "A member whose coordinator falls silent gives the connection up after its session and comes back, without a LeaveGroup.",
        ("CLIENT-51",),
        _silent(Api.HEARTBEAT, delivered(_FAULT), _back(), passing(500)),
        comes_back("m0", after=_FAULT, requirement="CLIENT-51"),
        sends_none("m0", Api.LEAVE_GROUP, after=_FAULT, requirement="CLIENT-51", severity=Verdict.NON_STRICT),
    ),
    case(
        "link/silent-commit",
        "A member whose coordinator falls silent at a commit comes back, and tells how the commit went.",
        ("CLIENT-51", "CLIENT-69"),
        _silent(Api.OFFSET_COMMIT, mark("commit"), commit("m0", ("t", 0, 5), within_ms=12_000), delivered(_FAULT), _back(), passing(500)),
        comes_back("m0", after=_FAULT, requirement="CLIENT-51"),
        commit_is_reported("m0", after="commit", requirement="CLIENT-69"),
    ),
)

CASES: tuple[Case, ...] = (*_CUT, *_RESET, *_LATE, *_SILENT)
