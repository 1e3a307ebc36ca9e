"""Slow or ill-timed events: a JoinGroup behind others, a change during the join, an assignment between two polls, a slow handler."""

from __future__ import annotations

from groupproof.harness.cases.client.client_case_builders import GHOST_SESSION_MS, case
from groupproof.harness.judging.case_checkers.app_polls import application_holds, reads_nothing_while_joining, where_the_handler_is_slow
from groupproof.harness.judging.case_checkers.commit_reactions import commit_is_reported
from groupproof.harness.judging.case_checkers.fields import subscribes_to, syncs_protocol_agreed
from groupproof.harness.judging.case_checkers.first_join import keeps_pending_id, waits_for_its_join
from groupproof.harness.judging.case_checkers.heartbeats import heartbeats_go_on
from groupproof.harness.judging.case_checkers.partition_owner import revokes_before_joining
from groupproof.harness.judging.case_checkers.reactions import keeps_membership, recovers, takes_up_its_work
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan_builders import (
    close,
    command,
    commit,
    consumed,
    cuts,
    delivered,
    grow,
    heal,
    holds,
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
from groupproof.protocol.vocabulary import Api

__all__ = ["CASES"]

_JOIN = Api.JOIN_GROUP
_COORDINATOR = 1  # the coordinator's node until it moves
_ELSEWHERE = 0
_SHORT_MS = 2_000
_TIMEOUT_MS = 2_500  # of a request: some clients require more than the session
_HANDLER_MS = 4_500
_BOTH = ["cooperative-sticky", "range"]

_ON_THE_WAY_IN: tuple[Case, ...] = (
    case(
        "join/waits-until-the-rebalance-timeout",
        "A client whose JoinGroup waits longer than its requests may take goes on waiting for it.",
        ("CLIENT-22",),
        plan(
            reference_peer(session_timeout_ms=20_000),
            subject(session_timeout_ms=_SHORT_MS, request_timeout_ms=_TIMEOUT_MS),
            *joined("a0"),
            holds("slow", _JOIN, ms=6_500, direction="request", client="a0"),
            *start("m0"),
            delivered("slow", within_ms=12_000),
            mark("parked"),
            stable("a0", "m0", after="parked"),
        ),
        waits_for_its_join("m0", after="parked"),
        recovers("m0", after="parked", requirement="CLIENT-22", within_ms=15_000),
        required=False,
        spares=["request_timeout_ms"],
    ),
    case(
        "join/resubscribed-on-the-way-in",
        "A client whose application changes its subscription while its first JoinGroup waits keeps the id it is handed and joins with the newest.",
        ("CLIENT-18", "CLIENT-74"),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS),
            holds("slow", _JOIN, ms=1_500),
            *start("m0"),
            delivered("slow", within_ms=15_000),
            mark("change"),
            command("m0", "resubscribe", topics=["u"]),
            stable("m0", after="change", within_ms=15_000, go_on=True),
            passing(6_500),
            topics={"t": 2, "u": 3},
        ),
        keeps_pending_id("m0"),
        subscribes_to("m0", ("u",), after="change", requirement="CLIENT-74"),
        application_holds("m0", 3, after="change", requirement="CLIENT-74"),
    ),
    case(
        "join/topic-grows-on-the-way-in",
        "A client whose topic grows while its first JoinGroup waits keeps the id it is handed.",
        ("CLIENT-18",),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS, metadata_max_age_ms=500),
            holds("slow", _JOIN, ms=2_500),
            *start("m0"),
            delivered("slow", within_ms=15_000),
            mark("grown"),
            grow("t", 4),
            stable("m0", after="grown", within_ms=15_000),
            passing(500),
        ),
        keeps_pending_id("m0"),
        recovers("m0", after="grown", requirement="CLIENT-18"),
        required=False,
    ),
)

_AT_WORK: tuple[Case, ...] = (
    case(
        "heartbeat/assigned-between-polls",
        "A member whose assignment comes while no poll of its application runs heartbeats from then on.",
        ("CLIENT-40", "CLIENT-30"),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS, poll_timeout_ms=10),
            holds("slow", Api.SYNC_GROUP, ms=900, error=0),
            *start("m0"),
            delivered("slow", within_ms=15_000),
            stable("m0", after="slow", within_ms=9_000, go_on=True),
            mark("stable"),
            passing(4_500),
        ),
        takes_up_its_work("m0", after="slow", requirement="CLIENT-30"),
        heartbeats_go_on("m0", after="stable", requirement="CLIENT-40"),
    ),
    case(
        "heartbeat/slow-handler",
        "A member whose application works on its records for longer than its session heartbeats meanwhile.",
        ("CLIENT-40",),
        plan(
            subject(session_timeout_ms=GHOST_SESSION_MS, handler_delay_ms=_HANDLER_MS),
            [*start("m0"), stable("m0"), consumed("m0"), mark("busy"), passing(5_000)],
        ),
        where_the_handler_is_slow("m0", _HANDLER_MS, heartbeats_go_on("m0", after="busy", requirement="CLIENT-40", unasked="poll-deadline")),
        where_the_handler_is_slow("m0", _HANDLER_MS, keeps_membership("m0", after="busy", requirement="CLIENT-40")),
        required=False,
    ),
    case(
        "rebalance/reads-nothing-while-joining",
        "An eager member that gave its partitions back delivers none of the records that still come in, until it is assigned again.",
        ("CLIENT-63",),
        plan(
            subject(),
            reference_peer(),
            # Not at the coordinator, where a held Fetch holds the heartbeats of a client with one connection to each broker, and ends its session.
            holds("fetched", Api.FETCH, node=_ELSEWHERE, client="m0", count=None),
            *start("m0"),
            stable("m0"),
            delivered("fetched"),
            holds("slow", _JOIN, ms=2_500, error=0, client="m0"),
            mark("newcomer"),
            *start("a0"),
            delivered("slow", go_on=True),
            passing(900),
            heal("fetched"),
            stable("m0", "a0", after="newcomer", go_on=True),
            passing(1_000),
        ),
        reads_nothing_while_joining("m0", after="newcomer"),
    ),
    case(
        "link/cut-heartbeat-while-reading",
        "A member whose Heartbeat's answer is lost while the same broker holds its Fetch reconnects and goes on as the member it is.",
        ("CLIENT-05",),
        plan(
            subject(),
            *joined("m0"),
            passing(300),
            # On a connection of its own the Heartbeat overtakes the Fetch; on the same one it waits for it, less than a session.
            holds("read", Api.FETCH, ms=1_500, node=_COORDINATOR, client="m0"),
            delivered("read", within_ms=12_000),  # the answer to a Fetch may come after 5 s (franz-go)
            cuts("broken", Api.HEARTBEAT),
            delivered("broken"),
            passing(300),  # so that the client has noticed the cut before the Fetch is answered
            heal("read"),
            requested("m0", Api.HEARTBEAT, after="broken", go_on=True),
            passing(700),
        ),
        keeps_membership("m0", after="broken", requirement="CLIENT-05"),
    ),
    case(
        "move/commit-outside-the-group",
        "A client that commits after it has left the group finds a coordinator that has moved, or tells that it did not.",
        ("CLIENT-69",),
        plan(
            subject(),
            *joined("m0"),
            command("m0", "unsubscribe"),
            passing(500),
            move(),
            mark("moved"),
            commit("m0", ("t", 0, 5), within_ms=11_500),
            passing(200),
        ),
        commit_is_reported("m0", after="moved", requirement="CLIENT-69"),
    ),
)

_UPGRADES: tuple[Case, ...] = (
    case(
        "cooperative/among-eager-members",
        "A member that knows cooperative assignors too is eager in a group that agreed on an eager one.",
        ("ASSIGN-01", "CLIENT-62"),
        plan(
            reference_peer("a0"),
            subject(assignors=_BOTH),
            reference_peer("z0"),
            *joined("a0", "m0"),
            holds("slow", _JOIN, ms=1_500, direction="request", client="a0"),  # time in which a member may still own what it should have revoked
            mark("newcomer"),
            *start("z0"),
            stable("a0", "m0", "z0", after="newcomer"),
            passing(1_000),
            # krafka 0.28.1 takes the answer to a Heartbeat of the previous generation for one of this generation, leaves, and joins again.
            stable("a0", "m0", "z0", after="newcomer"),
            topics={"t": 6},
        ),
        syncs_protocol_agreed("m0", "range"),
        revokes_before_joining("m0", after="newcomer"),
        application_holds("m0", 2, after="newcomer", requirement="ASSIGN-01"),
    ),
    case(
        "cooperative/last-eager-member-goes",
        "When the last member leaves that knows no cooperative assignor, its partitions and its own are the other's.",
        ("ASSIGN-11",),
        plan(
            reference_peer("a0"),
            subject(assignors=_BOTH),
            [*joined("a0", "m0"), mark("gone"), close("a0"), stable("m0", after="gone", within_ms=9_000, go_on=True), passing(6_600)],
            topics={"t": 4},
        ),
        application_holds("m0", 4, after="gone", requirement="ASSIGN-11"),
    ),
)

CASES: tuple[Case, ...] = (*_ON_THE_WAY_IN, *_AT_WORK, *_UPGRADES)
