"""A Kafka Streams member as the leader of its group: m0 starts first and leads, a0 is a reference member."""

from __future__ import annotations

from groupproof.harness.cases.embedded.streams_builders import PARTITIONS, WAIT_MS, application, peer, plan, streams_case, synced, working
from groupproof.harness.judging.case_checkers.embedded.streams_assignments import (
    agrees_on_versions,
    answers_error,
    calls_back,
    deals_everything,
    deals_once,
    deals_standbys,
    keeps_standbys_apart,
)
from groupproof.harness.judging.case_checkers.embedded.streams_member import ends
from groupproof.harness.judging.case_checkers.reactions import REACT_MS
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Step
from groupproof.harness.model.plan_builders import close, event, mark, passing, start
from groupproof.protocol.wire.embedded.streams_protocol import INCOMPLETE_SOURCE_TOPICS, SHUTDOWN_REQUESTED

__all__ = ["CASES"]

_REPLY_MS = round(REACT_MS) + 1_000
_SESSION_MS = 6_000
_OLDER, _FUTURE = 8, 12
_ENDING_MS = 3_500
_SHARED = "threads"
_TOLD_MS = 15_000


def _second(*, count: int = 2) -> list[Step]:
    """Start a0 beside the running m0: its work is revoked from m0 in one generation and assigned to a0 in the next."""
    return [mark("second"), *start("a0"), synced("a0", after="second", count=count, go_on=True)]


def _agrees(name: str, title: str, **versions: int) -> Case:
    return streams_case(
        name,
        title,
        ("STREAMS-05", "STREAMS-08"),
        plan(application(), peer(**versions), *working(), *_second(), passing(_REPLY_MS)),
        agrees_on_versions("m0", after="second"),
        deals_once("m0"),
        deals_everything("m0", PARTITIONS, after="second"),
    )


CASES: tuple[Case, ...] = (
    streams_case(
        "deals-every-task-once",
        "A leader gives each task of each subtopology to one member, with its partitions.",
        ("STREAMS-08",),
        plan(application(topics=("t", "u")), *working(), passing(_REPLY_MS), topics={"t": PARTITIONS, "u": 2}),
        deals_once("m0"),
        deals_everything("m0", PARTITIONS + 2, after="start-m0"),
    ),
    streams_case(
        "hands-over-in-two-steps",
        "A leader withholds a task that moves while its owner has it, and has a member come for it at once.",
        ("STREAMS-09", "STREAMS-08"),
        plan(application(), peer(), *working(), *_second(), passing(_REPLY_MS)),
        calls_back("m0", after="second"),
        deals_once("m0"),
        deals_everything("m0", PARTITIONS, after="second"),
    ),
    streams_case(
        "takes-over-from-a-lost-member",
        "A leader gives the tasks of a member that is gone to who is there.",
        ("STREAMS-08",),
        plan(
            application(),
            peer(),
            *working(),
            *_second(),
            passing(300),
            mark("left"),
            close("a0", leave=True),
            synced("m0", after="left", within_ms=_SESSION_MS + WAIT_MS, go_on=True),
            passing(_REPLY_MS),
        ),
        deals_once("m0"),
        deals_everything("m0", PARTITIONS, after="left"),
    ),
    _agrees("leads-an-older-release", "A leader assigns in the version of a member of an older release.", kit_latest=_OLDER),
    _agrees("leads-a-newer-release", "A leader answers a member of a newer release in the version that it knows itself.", kit_latest=_FUTURE),
    _agrees("ends-a-rolling-upgrade", "A leader names the newest version that all know to members of which one used an older.", kit_first=_OLDER),
    streams_case(
        "deals-standbys",
        "A leader with num.standby.replicas=1 gives each stateful task a standby at another member.",
        ("STREAMS-11", "STREAMS-08"),
        plan(application(num_standby_replicas=1), peer(num_standby_replicas=1), [*working(), *_second(), passing(_REPLY_MS)]),
        deals_standbys("m0", PARTITIONS, after="second"),
        deals_once("m0"),
    ),
    streams_case(
        "threads-of-one-process",
        "A leader with num.standby.replicas=1 gives a process with two threads no standby of a task that one of them runs.",
        ("STREAMS-22", "STREAMS-11", "STREAMS-08"),
        plan(
            application(num_standby_replicas=1),
            peer(num_standby_replicas=1, kit_process=_SHARED),
            application("a1", kind="reference", num_standby_replicas=1, kit_process=_SHARED),
            [*working(), *_second(), mark("third"), *start("a1"), synced("a1", after="third", count=2, go_on=True), passing(_REPLY_MS)],
        ),
        keeps_standbys_apart("m0", after="third"),
        deals_standbys("m0", PARTITIONS, after="third"),
        deals_once("m0"),
    ),
    streams_case(
        "source-topic-is-not-there",
        "A leader that lacks a source topic answers all members with the error of missing source topics.",
        ("STREAMS-12", "STREAMS-13"),
        plan(
            application(topics=("t", "u")),
            mark("start-m0"),
            *start("m0"),
            synced("m0", after="start-m0"),
            event("m0", "error", after="start-m0", within_ms=round(REACT_MS), go_on=True),
            passing(_ENDING_MS),
        ),
        answers_error("m0", INCOMPLETE_SOURCE_TOPICS, after="start-m0", requirement="STREAMS-12"),
        ends("m0", after="start-m0", requirement="STREAMS-13"),
    ),
    streams_case(
        "member-requests-shutdown",
        "A leader answers all members that a shutdown was requested when one of them says so, and ends itself.",
        ("STREAMS-14", "STREAMS-15"),
        plan(
            application(),
            peer(kit_error=SHUTDOWN_REQUESTED),
            *working(),
            mark("second"),
            *start("a0"),
            event("m0", "error", after="second", within_ms=_TOLD_MS + 2_000, go_on=True),
            passing(_ENDING_MS),
        ),
        answers_error("m0", SHUTDOWN_REQUESTED, after="second", requirement="STREAMS-14"),
        ends("m0", after="second", requirement="STREAMS-15", within_ms=_TOLD_MS),
    ),
)
