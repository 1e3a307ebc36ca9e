"""Static members (KIP-345): the instance id on every request, restarts without a rebalance, and a fenced member that stops."""

from __future__ import annotations

from typing import Any

from groupproof.harness.cases.client.client_case_builders import GHOST_SESSION_MS, case
from groupproof.harness.judging.case_checkers.commit_reactions import commit_fails
from groupproof.harness.judging.case_checkers.fields import names_its_instance, starts_in_generation
from groupproof.harness.judging.case_checkers.leave_group import leaves_others_alone, sends_none
from groupproof.harness.judging.case_checkers.reactions import Identity, recovers, rejoins, request_came, stays_out, surfaces
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Member, Plan
from groupproof.harness.model.plan_builders import (
    answered,
    answers,
    close,
    command,
    commit,
    delivered,
    event,
    joined,
    kill,
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


_TELL_MS = 3_000
"""The time within which the application gets the error: the next poll is enough. It is short because a client that hides the error may spin."""


_RETURN_MS = 25_000  # a session in which even a slow process can restart


def _instance(name: str = "m0", **settings: Any) -> Member:
    return subject(name, instance_id="i0", **settings)


def _fenced(api: Api) -> Plan:
    """Return a plan in which a stable static member has to rejoin, and its `api` is answered with 82 from now on."""
    return plan(
        _instance(),
        *joined("m0"),
        answers("fenced", api, ErrorCode.FENCED_INSTANCE_ID, count=None),
        *([] if api is Api.HEARTBEAT else tells_of_a_rebalance()),
        delivered("fenced"),
        event("m0", "error", after="fenced", within_ms=_TELL_MS + 1_000, go_on=True),
        passing(500),
    )


# The answers to a replaced member: with its instance id it is fenced; without, in versions before KIP-345, only unknown.
_REPLACED = (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID)


def _fencing(api: Api, title: str, requirement: str) -> Case:
    return case(
        f"static/fenced-{api.name.lower().replace('_', '-')}",
        title,
        (requirement, "STATIC-10"),
        _fenced(api),
        request_came("fenced", "m0", api, requirement=requirement),
        surfaces(
            "m0",
            after="fenced",
            requirement=requirement,
            if_unreported=Verdict.FAILED if api is Api.HEARTBEAT else Verdict.NON_STRICT,
            within_ms=_TELL_MS,
        ),
        stays_out("m0", after="fenced", requirement=requirement),
    )


_FENCED: tuple[Case, ...] = (
    _fencing(Api.HEARTBEAT, "A static member whose Heartbeat is fenced tells the application and gives way.", "CLIENT-57"),
    _fencing(Api.JOIN_GROUP, "A static member whose JoinGroup is fenced tells the application and gives way.", "CLIENT-19"),
    _fencing(Api.SYNC_GROUP, "A static member whose SyncGroup is fenced tells the application and gives way.", "CLIENT-35"),
    case(
        "static/fenced-offset-commit",
        "A commit of a fenced static member fails.",
        ("CLIENT-69", "STATIC-10"),
        plan(
            _instance(),
            *joined("m0"),
            mark("commit"),
            answers("fenced", Api.OFFSET_COMMIT, ErrorCode.FENCED_INSTANCE_ID),
            commit("m0", ("t", 0, 5)),
            delivered("fenced"),
            passing(500),
        ),
        commit_fails("m0", after="commit", requirement="CLIENT-69"),
        stays_out("m0", after="fenced", requirement="STATIC-10"),
    ),
    case(
        "static/fenced-by-its-twin",
        "A static member that is replaced by a twin gives way to it, and tells its application.",
        ("CLIENT-57", "STATIC-10"),
        plan(
            _instance("m0"),
            _instance("m1"),
            *joined("m0"),
            mark("twin"),
            *start("m1"),
            stable("m1", after="twin", within_ms=8_000, go_on=True),
            event("m0", "error", after="twin", within_ms=_TELL_MS + 1_500, go_on=True),
            passing(1_000),
        ),
        surfaces(
            "m0", after="twin", requirement="CLIENT-57", if_unreported=Verdict.FAILED, before_joining=True, refusals=_REPLACED, within_ms=_TELL_MS
        ),
        stays_out("m0", after="twin", requirement="STATIC-10"),
        recovers("m1", after="twin", requirement="CLIENT-57"),
    ),
)

_COURSE: tuple[Case, ...] = (
    case(
        "static/instance-id",
        "A static member names its instance id when it joins, beats, commits and syncs.",
        ("STATIC-01", "STATIC-10"),
        plan(_instance(), *joined("m0"), commit("m0", ("t", 0, 5)), passing(700)),
        names_its_instance("m0", "i0"),
    ),
    case(
        "static/close-stays",
        "A static member that closes sends no LeaveGroup: its place waits for it until its session ends.",
        ("STATIC-15",),
        plan(_instance(), *joined("m0"), mark("close"), close("m0"), passing(300)),
        sends_none("m0", Api.LEAVE_GROUP, after="close", requirement="STATIC-15", severity=Verdict.NON_STRICT, whole=True),
    ),
    case(
        "static/unsubscribe-stays",
        "A static member that unsubscribes sends no LeaveGroup.",
        ("STATIC-15",),
        plan(
            _instance(heartbeat_interval_ms=800),
            *joined("m0"),
            mark("joined"),
            answered("m0", Api.HEARTBEAT, after="joined"),
            mark("unsubscribe"),
            command("m0", "unsubscribe"),
            passing(1_500),
        ),
        sends_none("m0", Api.LEAVE_GROUP, after="unsubscribe", requirement="STATIC-15", severity=Verdict.NON_STRICT),
    ),
    case(
        "static/restart-in-order",
        "A static member that closes and comes back within its session takes its place without a rebalance.",
        ("STATIC-16",),
        plan(
            reference_peer(),
            _instance("m0", session_timeout_ms=_RETURN_MS),
            _instance("m1", session_timeout_ms=_RETURN_MS),
            [*joined("a0", "m0"), passing(300), mark("restart"), close("m0"), *start("m1"), stable("m1", after="restart"), passing(700)],
        ),
        starts_in_generation("m1", of="m0", requirement="STATIC-16"),
        leaves_others_alone("a0", after="restart", requirement="STATIC-16"),
    ),
    case(
        "static/restart-after-a-crash",
        "A static member that is killed and comes back within its session takes its place without a rebalance.",
        ("STATIC-16",),
        plan(
            reference_peer(),
            _instance("m0", session_timeout_ms=_RETURN_MS),
            _instance("m1", session_timeout_ms=_RETURN_MS),
            [*joined("a0", "m0"), passing(300), mark("restart"), kill("m0"), *start("m1"), stable("m1", after="restart"), passing(700)],
        ),
        starts_in_generation("m1", of="m0", requirement="STATIC-16"),
        leaves_others_alone("a0", after="restart", requirement="STATIC-16"),
        isolated=True,
    ),
    case(
        "static/unknown-member-id",
        "A static member that is unknown joins anew under its instance id.",
        ("CLIENT-48", "STATIC-01"),
        plan(
            _instance(session_timeout_ms=GHOST_SESSION_MS),
            *joined("m0"),
            answers("error", Api.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID),
            delivered("error"),
            stable("m0", after="error", within_ms=11_500),
        ),
        rejoins("m0", after="error", requirement="CLIENT-48", identity=Identity.EMPTY),
        names_its_instance("m0", "i0"),
        recovers("m0", after="error", requirement="CLIENT-48"),
    ),
)

CASES: tuple[Case, ...] = (*_FENCED, *_COURSE)
