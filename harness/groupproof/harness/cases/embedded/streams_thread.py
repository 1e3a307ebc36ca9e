"""A Kafka Streams member: its reports on its tasks, and its reaction to an assignment."""

from __future__ import annotations

from groupproof.harness.cases.embedded.streams_builders import (
    PARTITIONS,
    WAIT_MS,
    application,
    assigns,
    peer,
    plan,
    rejoins_at_leisure,
    streams_case,
    synced,
    working,
)
from groupproof.harness.judging.case_checkers.embedded.streams_member import (
    asks_for_the_end,
    comes_back_at_once,
    commits_what_goes,
    describes_itself,
    differs_each_time,
    ends,
    is_one_process,
    joins_in_version,
    names_its_tasks,
    stays_a_member,
    stays_when_closed,
    waits,
)
from groupproof.harness.judging.case_checkers.reactions import REACT_MS
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan_builders import append, close, consumed, delivered, event, mark, passing, requested, start
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.embedded.streams_protocol import ASSIGNMENT_ERROR, INCOMPLETE_SOURCE_TOPICS, SHUTDOWN_REQUESTED

__all__ = ["CASES"]

_OLDER, _NEWER = 8, 9
_FAR_MS = 4_102_444_800_000  # in the year 2100
_PAST_MS = 1_000
_UNKNOWN_ERROR = 99
_ENDING_MS = 3_500
_QUIET_MS = 2_500
_SELDOM_MS = 5_000
_RESTORED_MS = 600
_FATAL = 20  # the offset of the record that the application fails at

_SUBSCRIPTIONS: tuple[Case, ...] = (
    streams_case(
        "describes-itself",
        "A member offers the assignor of Kafka Streams alone, says which version it uses and knows, and says so otherwise each time.",
        ("STREAMS-01", "STREAMS-02", "STREAMS-03"),
        plan(application(), *working(), *rejoins_at_leisure(), passing(300)),
        describes_itself("m0"),
        is_one_process("m0"),
        differs_each_time("m0"),
    ),
    streams_case(
        "names-its-tasks",
        "A member that joins again names the tasks that it runs.",
        ("STREAMS-04",),
        plan(application(), *working(), *rejoins_at_leisure(), passing(300)),
        names_its_tasks("m0", after="rebalance"),
    ),
    streams_case(
        "names-its-standbys",
        "A member that joins again names the standby tasks that it keeps, with how far they are.",
        ("STREAMS-04",),
        plan(application(), assigns("shared", active=(0, 1, 2), standby=(3,)), *working(), passing(_QUIET_MS), *rejoins_at_leisure(), passing(300)),
        names_its_tasks("m0", after="rebalance", has_standbys=True),
    ),
)

_VERSIONS: tuple[Case, ...] = (
    streams_case(
        "takes-an-older-version",
        "A member that is assigned tasks in an older version than it used joins again at once in the one that all know.",
        ("STREAMS-06",),
        plan(
            application(),
            assigns("older", version=_OLDER, commonly=_OLDER),
            *start("m0"),
            delivered("older", within_ms=WAIT_MS),
            requested("m0", Api.JOIN_GROUP, after="older", within_ms=WAIT_MS, go_on=True),
            passing(300),
        ),
        joins_in_version("m0", _OLDER, after="older", requirement="STREAMS-06"),
    ),
    streams_case(
        "takes-a-newer-version",
        "A member that is told that all know a newer version than it used joins again at once in that.",
        ("STREAMS-07", "STREAMS-06"),
        plan(
            application(),
            assigns("older", version=_OLDER, commonly=_OLDER),
            *start("m0"),
            delivered("older", within_ms=WAIT_MS),
            assigns("newer", version=_OLDER, commonly=_NEWER),
            delivered("newer", within_ms=WAIT_MS),
            requested("m0", Api.JOIN_GROUP, after="newer", within_ms=WAIT_MS, go_on=True),
            passing(300),
        ),
        joins_in_version("m0", _OLDER, after="older", requirement="STREAMS-06"),
        joins_in_version("m0", _NEWER, after="newer", requirement="STREAMS-07"),
    ),
)

_NEXT: tuple[Case, ...] = (
    streams_case(
        "comes-for-its-tasks",
        "A member whose assignment names a time that has come for the next rebalance joins again at once.",
        ("STREAMS-10",),
        plan(
            application(),
            assigns("called", active=(0, 1), next_rebalance_ms=_PAST_MS),
            *start("m0"),
            delivered("called", within_ms=WAIT_MS),
            requested("m0", Api.JOIN_GROUP, after="called", within_ms=WAIT_MS, go_on=True),
            passing(300),
        ),
        comes_back_at_once("m0", after="called"),
    ),
    streams_case(
        "waits-for-the-next-rebalance",
        "A member whose assignment names a time that is far off for the next rebalance does not join again before.",
        ("STREAMS-20",),
        plan(
            application(),
            assigns("later", next_rebalance_ms=_FAR_MS),
            *start("m0"),
            delivered("later", within_ms=WAIT_MS),
            passing(_QUIET_MS),
            requested("m0", Api.HEARTBEAT, after="later", go_on=True),  # Kafka's own interval is three seconds
        ),
        waits("m0", after="later"),
        stays_a_member("m0", after="later", requirement="STREAMS-20"),
    ),
    streams_case(
        "commits-what-goes",
        "A member from which tasks are taken commits what it processed of them, and joins again.",
        ("STREAMS-17", "STREAMS-09"),
        plan(
            application(commit_ms=_SELDOM_MS),
            *working(),
            mark("more"),
            append("t", PARTITIONS, 5),
            consumed("m0", after="more"),
            passing(1_000),
            assigns("taken", active=(0, 1)),
            *rejoins_at_leisure(),
            delivered("taken"),
            requested("m0", Api.JOIN_GROUP, after="taken", within_ms=WAIT_MS, go_on=True),
            passing(300),
        ),
        commits_what_goes("m0", ("t", 2), ("t", 3), after="taken"),
        comes_back_at_once("m0", after="taken", requirement="STREAMS-09"),
    ),
)


def _failed(name: str, title: str, error: int, requirement: str) -> Case:
    return streams_case(
        name,
        title,
        (requirement,),
        plan(
            application(),
            *working(),
            assigns("failed", active=(), error=error),
            *rejoins_at_leisure(),
            delivered("failed"),
            event("m0", "error", after="failed", within_ms=round(REACT_MS), go_on=True),
            passing(_ENDING_MS),
        ),
        ends("m0", after="failed", requirement=requirement),
    )


_ERRORS: tuple[Case, ...] = (
    _failed("source-topics-missing", "A member that is answered that source topics are missing ends.", INCOMPLETE_SOURCE_TOPICS, "STREAMS-13"),
    _failed("assignment-failed", "A member that is answered that the assignment failed ends.", ASSIGNMENT_ERROR, "STREAMS-13"),
    _failed("unknown-error", "A member that is answered with an error that it does not know ends.", _UNKNOWN_ERROR, "STREAMS-13"),
    _failed("shutdown-requested", "A member that is answered that a shutdown was requested ends.", SHUTDOWN_REQUESTED, "STREAMS-15"),
    streams_case(
        "ends-everywhere",
        "A member whose application fails and is to end everywhere says so to the leader.",
        ("STREAMS-21",),
        plan(
            application(kit_fails_at=_FATAL),
            peer(),
            *working(),
            mark("second"),
            *start("a0"),
            synced("a0", after="second", count=2, go_on=True),
            passing(_RESTORED_MS),
            mark("failure"),
            append("t", PARTITIONS, 5),
            event("m0", "error", after="failure", within_ms=WAIT_MS, go_on=True),
            passing(round(REACT_MS) + 1_000),
            records=_FATAL,
        ),
        asks_for_the_end("m0", after="failure"),
    ),
    streams_case(
        "stays-when-closed",
        "A member that is closed stays in the group until its session is over.",
        ("STREAMS-18",),
        plan(
            application(),
            [*working(), mark("close"), close("m0", wait=False), event("m0", "shutdown_complete", within_ms=WAIT_MS, go_on=True), passing(300)],
        ),
        stays_when_closed("m0", after="close"),
    ),
)

CASES: tuple[Case, ...] = (*_SUBSCRIPTIONS, *_VERSIONS, *_NEXT, *_ERRORS)
