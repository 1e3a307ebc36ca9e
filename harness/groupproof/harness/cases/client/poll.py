"""An application that stops polling: after max.poll.interval.ms its member gives its partitions up (CLIENT-52, KIP-62).

That is a feature of clients, not of the protocol: a client that has it declares `poll-deadline`.
"""

from __future__ import annotations

from typing import Any

from groupproof.harness.cases.client.client_case_builders import case
from groupproof.harness.judging.case_checkers.commit_reactions import commit_fails
from groupproof.harness.judging.case_checkers.heartbeats import heartbeats_go_on, heartbeats_stop
from groupproof.harness.judging.case_checkers.leader_assignment import holds_partitions
from groupproof.harness.judging.case_checkers.leave_group import gives_its_place_up, sends_none, stays_in_time
from groupproof.harness.judging.case_checkers.reactions import recovers
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Member, Step
from groupproof.harness.model.plan_builders import (
    commit,
    consumed,
    joined,
    mark,
    passing,
    paused,
    plan,
    reference_peer,
    requested,
    resume,
    settled,
    stable,
    subject,
)
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api

__all__ = ["CASES"]

_SESSION_MS = 3_000
_POLL_MS = 3_000  # librdkafka requires at least the session timeout
_LONG_MS = 10_000
_TICK_MS = 1_500  # how often a client checks its poll deadline is its own choice


def _slow(**settings: Any) -> Member:
    return subject(session_timeout_ms=_SESSION_MS, max_poll_interval_ms=_POLL_MS, **settings)


def _stopped(partitions: int = 2) -> list[Step]:
    return [
        *paused("m0", {"t": partitions}),  # answered once polling has stopped, which a slow application may delay (contract, amendment 2)
        mark("stopped"),
        requested("m0", Api.LEAVE_GROUP, after="stopped", within_ms=_POLL_MS + _TICK_MS + 1_500, go_on=True),
    ]


CASES: tuple[Case, ...] = (
    case(
        "poll/stopped-leaves",
        "A member whose application polls no more leaves the group, and comes back when it polls again.",
        ("CLIENT-52",),
        plan(_slow(), *joined("m0"), *_stopped(), passing(1_000), mark("again"), resume("m0"), stable("m0", after="again")),
        gives_its_place_up("m0", after="stopped", within_ms=_POLL_MS + _TICK_MS),
        recovers("m0", after="again", requirement="CLIENT-52"),
        needs=["poll-deadline"],
    ),
    case(
        "poll/stopped-frees-partitions",
        "The partitions of a member whose application polls no more go to the others.",
        ("CLIENT-52", "ASSIGN-11"),
        plan(
            reference_peer(max_poll_interval_ms=30_000),
            _slow(),
            *joined("a0", "m0"),
            *paused("m0", {"t": 2}),
            mark("stopped"),
            settled({"t": 2}, "a0", after="stopped", within_ms=_POLL_MS + _TICK_MS + _SESSION_MS + 1_500),  # a silent member stays for a session
        ),
        gives_its_place_up("m0", after="stopped", within_ms=_POLL_MS + _TICK_MS),
        holds_partitions("a0", 2, after="stopped", requirement="ASSIGN-11", whom="The other member"),
        needs=["poll-deadline"],
    ),
    case(
        "poll/stopped-static",
        "A static member whose application polls no more stops heartbeating and sends no LeaveGroup.",
        ("CLIENT-52", "STATIC-15"),
        plan(_slow(instance_id="i0"), *joined("m0"), *paused("m0", {"t": 2}), mark("stopped"), passing(_POLL_MS + _TICK_MS + 2_000)),
        sends_none("m0", Api.LEAVE_GROUP, after="stopped", requirement="STATIC-15", severity=Verdict.NON_STRICT),
        heartbeats_stop("m0", after="stopped", requirement="CLIENT-52", within_ms=_POLL_MS + _TICK_MS),
        needs=["poll-deadline"],
    ),
    case(
        "poll/commit-after-leaving",
        "A commit of a member that has left for want of polls fails.",
        ("CLIENT-67",),
        plan(
            reference_peer(),
            _slow(),
            *joined("a0", "m0"),
            *_stopped(4),
            stable("a0", after="stopped"),
            mark("commit"),
            commit("m0", ("t", 2, 3), ("t", 3, 3)),
            passing(200),
            topics={"t": 4},
        ),
        commit_fails("m0", after="commit", requirement="CLIENT-67"),
        needs=["poll-deadline"],
    ),
    case(
        "poll/long-but-in-time",
        "A member whose application takes almost all of max.poll.interval.ms between polls stays in the group.",
        ("CLIENT-40", "CLIENT-52"),
        plan(
            subject(session_timeout_ms=_SESSION_MS, max_poll_interval_ms=_LONG_MS),
            [*joined("m0"), consumed("m0", go_on=True), mark("busy"), *paused("m0", {"t": 2}), passing(6_500), resume("m0"), passing(500)],
        ),
        heartbeats_go_on("m0", after="busy", requirement="CLIENT-40", unasked="poll-deadline"),
        stays_in_time("m0", after="busy", interval_ms=_LONG_MS, requirement="CLIENT-52"),
    ),
)
