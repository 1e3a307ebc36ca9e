"""The coordinator moves to another broker, with or without parked requests, with or without the group's state (CLIENT-04, CLIENT-07, EMIG)."""

from __future__ import annotations

from groupproof.harness.cases.client.client_case_builders import GHOST_SESSION_MS, case
from groupproof.harness.cases.client.fetch import COMMITTED, after_commits
from groupproof.harness.judging.case_checkers.commit_reactions import commit_is_reported, commit_succeeds
from groupproof.harness.judging.case_checkers.discovery import goes_to_another
from groupproof.harness.judging.case_checkers.fields import starts_at
from groupproof.harness.judging.case_checkers.leave_group import closes, leaves
from groupproof.harness.judging.case_checkers.offset_fetch import unless_ended
from groupproof.harness.judging.case_checkers.partition_owner import reports_no_revocation
from groupproof.harness.judging.case_checkers.reactions import Identity, keeps_membership, recovers, rejoins
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.plan_builders import (
    answered,
    close,
    commit,
    consumed,
    delivered,
    event,
    heal,
    holds,
    joined,
    mark,
    move,
    moves,
    passing,
    plan,
    reference_peer,
    requested,
    stable,
    start,
    subject,
)
from groupproof.protocol.vocabulary import Api

__all__ = ["CASES"]


def _while_joining(parked: str) -> Plan:
    """Return a plan in which the coordinator moves while the subject's JoinGroup is parked until another member joins."""
    return plan(
        reference_peer(),
        subject(session_timeout_ms=GHOST_SESSION_MS),
        *joined("a0"),
        holds("slow", Api.JOIN_GROUP, direction="request", client="a0"),
        *start("m0"),
        delivered("slow", within_ms=15_000),
        passing(200),
        mark("moved"),
        move(parked=parked),
        heal("slow"),
        stable("a0", "m0", after="moved", within_ms=12_000),
    )


def _while_syncing(parked: str) -> Plan:
    """Return a plan in which the coordinator moves while the subject's SyncGroup is parked until the leader's comes."""
    return plan(
        reference_peer(),
        subject(session_timeout_ms=GHOST_SESSION_MS),
        *joined("a0"),
        holds("slow", Api.SYNC_GROUP, direction="request", client="a0"),
        *start("m0"),
        delivered("slow", within_ms=15_000),
        requested("m0", Api.SYNC_GROUP, within_ms=4_000, go_on=True),
        passing(200),
        mark("moved"),
        move(parked=parked),
        heal("slow"),
        stable("a0", "m0", after="moved", within_ms=12_000),
    )


def _parked(name: str, title: str, made: Plan, api: Api) -> Case:
    return case(
        f"move/{name}",
        title,
        ("CLIENT-07",),
        made,
        goes_to_another("m0", api, after="moved", requirement="CLIENT-07"),
        recovers("m0", after="moved", requirement="CLIENT-07"),
    )


_IDLE: tuple[Case, ...] = (
    case(
        "move/idle",
        "A member whose coordinator moves with the group's state finds it and goes on as the member it is, with its partitions.",
        ("CLIENT-07", "CLIENT-49", "EMIG-04"),
        plan(
            subject(),
            *joined("m0"),
            passing(300),
            mark("moved"),
            move(),
            answered("m0", Api.HEARTBEAT, after="moved", count=2, go_on=True),
            passing(1_000),
        ),
        goes_to_another("m0", Api.HEARTBEAT, after="moved", requirement="CLIENT-07"),
        keeps_membership("m0", after="moved", requirement="CLIENT-49"),
        reports_no_revocation("m0", after="moved", requirement="EMIG-04"),
    ),
    case(
        "move/idle-state-lost",
        "A member whose coordinator moves and forgets the group joins anew at the new one.",
        ("CLIENT-07", "CLIENT-48"),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS),
            [*joined("m0"), passing(300), mark("moved"), move(state="lost"), stable("m0", after="moved", within_ms=12_000)],
        ),
        goes_to_another("m0", Api.JOIN_GROUP, after="moved", requirement="CLIENT-07"),
        recovers("m0", after="moved", requirement="CLIENT-48"),
    ),
    case(
        "move/there-and-back",
        "A member follows its coordinator there and back.",
        ("CLIENT-07",),
        plan(
            subject(),
            *joined("m0"),
            passing(300),
            mark("moved"),
            move(),
            answered("m0", Api.HEARTBEAT, after="moved", count=2, go_on=True),
            passing(500),
            mark("back"),
            move(),
            answered("m0", Api.HEARTBEAT, after="back", count=2, go_on=True),
            passing(1_500),
        ),
        goes_to_another("m0", Api.HEARTBEAT, after="moved", requirement="CLIENT-07"),
        goes_to_another("m0", Api.HEARTBEAT, after="back", requirement="CLIENT-07"),
    ),
    case(
        "move/two-members",
        "Two members follow their coordinator, and neither loses its partitions to the other.",
        ("CLIENT-07", "EMIG-04"),
        plan(
            subject("m0"),
            subject("m1"),
            *joined("m0", "m1"),
            passing(300),
            mark("moved"),
            move(),
            answered("m0", Api.HEARTBEAT, after="moved", count=2, go_on=True),
            answered("m1", Api.HEARTBEAT, after="moved", count=2, go_on=True),
            passing(1_500),
            topics={"t": 4},
        ),
        goes_to_another("m0", Api.HEARTBEAT, after="moved", requirement="CLIENT-07"),
        goes_to_another("m1", Api.HEARTBEAT, after="moved", requirement="CLIENT-07"),
        reports_no_revocation("m0", after="moved", requirement="EMIG-04"),
    ),
)

_BUSY: tuple[Case, ...] = (
    _parked(
        "join-parked", "A member whose parked JoinGroup is answered 16 finds the new coordinator and joins.", _while_joining("answer"), Api.JOIN_GROUP
    ),
    _parked(
        "join-dropped",
        "A member whose parked JoinGroup is cut off by a move finds the new coordinator and joins.",
        _while_joining("drop"),
        Api.JOIN_GROUP,
    ),
    _parked(
        "sync-parked", "A member whose parked SyncGroup is answered 16 finds the new coordinator and joins.", _while_syncing("answer"), Api.JOIN_GROUP
    ),
    _parked(
        "sync-dropped",
        "A member whose parked SyncGroup is cut off by a move finds the new coordinator and joins.",
        _while_syncing("drop"),
        Api.JOIN_GROUP,
    ),
    case(
        "move/at-sync-state-lost",
        "A leader whose coordinator moves and forgets the group just before its SyncGroup joins at the new one.",
        ("CLIENT-34", "CLIENT-07"),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS),
            moves("moved", Api.SYNC_GROUP, state="lost", client="m0"),
            *start("m0"),
            delivered("moved", within_ms=15_000),
            stable("m0", after="moved", within_ms=13_500),
        ),
        goes_to_another("m0", Api.JOIN_GROUP, after="moved", requirement="CLIENT-07"),
        recovers("m0", after="moved", requirement="CLIENT-34"),
    ),
    case(
        "move/at-commit",
        "A commit that the coordinator's move overtakes is stored at the new one, or its failure told.",
        ("CLIENT-69", "CLIENT-07"),
        plan(
            subject(),
            *joined("m0"),
            passing(300),
            moves("moved", Api.OFFSET_COMMIT, client="m0"),
            mark("commit"),
            commit("m0", ("t", 0, 5)),
            requested("m0", Api.OFFSET_COMMIT, after="moved", within_ms=3_500, go_on=True),
            answered("m0", Api.HEARTBEAT, after="moved", go_on=True),
            passing(300),
        ),
        commit_succeeds("m0", after="commit", requirement="CLIENT-69"),
        goes_to_another("m0", Api.HEARTBEAT, after="moved", requirement="CLIENT-07"),
    ),
    case(
        "move/at-commit-state-lost",
        "A commit to a coordinator that moved and forgot the group is reported as it went.",
        ("CLIENT-69", "CLIENT-67"),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS),
            *joined("m0"),
            passing(300),
            moves("moved", Api.OFFSET_COMMIT, state="lost", client="m0"),
            mark("commit"),
            commit("m0", ("t", 0, 5)),
            requested("m0", Api.OFFSET_COMMIT, after="moved", within_ms=3_500, go_on=True),
            stable("m0", after="moved", within_ms=11_500),
        ),
        commit_is_reported("m0", after="commit", requirement="CLIENT-69"),
        recovers("m0", after="moved", requirement="CLIENT-67"),
    ),
    case(
        "move/at-fetch",
        "A fetch of offsets that the coordinator's move overtakes goes on where the group had committed.",
        ("CLIENT-79", "CLIENT-07"),
        after_commits(
            moves("moved", Api.OFFSET_FETCH, client="m0"), start("m0"), delivered("moved", within_ms=15_000), consumed("m0", go_on=True), passing(500)
        ),
        unless_ended(goes_to_another("m0", Api.OFFSET_FETCH, after="moved", requirement="CLIENT-07"), "m0", requirement="CLIENT-79"),
        starts_at("m0", COMMITTED, requirement="CLIENT-79", ends_after="moved"),
    ),
    case(
        "move/at-leave",
        "A client that closes while its coordinator moves sends its LeaveGroup and closes.",
        ("CLIENT-73", "CLIENT-71"),
        plan(
            subject(),
            *joined("m0"),
            passing(300),
            moves("moved", Api.LEAVE_GROUP, client="m0"),
            mark("close"),
            close("m0", wait=False),
            event("m0", "shutdown_complete", after="close", go_on=True),
        ),
        leaves("m0", after="close", requirement="CLIENT-73", whole=True),
        closes("m0", after="close"),
    ),
    case(
        "move/rejoin",
        "A member that should rejoin finds its coordinator moved, and rejoins at the new one as the member it is.",
        ("CLIENT-16", "CLIENT-10"),
        plan(
            reference_peer(),
            subject(),
            *joined("m0"),
            passing(300),
            moves("moved", Api.JOIN_GROUP, client="m0"),
            mark("newcomer"),
            *start("a0"),
            delivered("moved", within_ms=12_000),
            stable("m0", "a0", after="moved", within_ms=12_000),
        ),
        rejoins("m0", after="moved", requirement="CLIENT-10", identity=Identity.KEPT),
        goes_to_another("m0", Api.JOIN_GROUP, after="moved", requirement="CLIENT-16"),
        recovers("m0", after="moved", requirement="CLIENT-16"),
    ),
)

CASES: tuple[Case, ...] = (*_IDLE, *_BUSY)
