"""Leaving a group of KIP-848: the order of its steps, the epoch, and a leave that is refused or lost (CGV-01 to CGV-15, CGV-22)."""

from __future__ import annotations

from typing import Any

from groupproof.harness.cases.consumer.epoch_builders import (
    BEAT,
    INTERVAL_MS,
    LONG_MS,
    case,
    joined,
    left,
    plan,
    reconciled,
    rejoining,
    subject,
    triggered,
)
from groupproof.harness.judging.case_checkers.consumer.epoch_commits import commits_with_epoch
from groupproof.harness.judging.case_checkers.consumer.epoch_join import carries_instance, joins_in_full
from groupproof.harness.judging.case_checkers.consumer.epoch_leave import (
    BACK_SOON,
    LEAVE,
    closes_in_time,
    comes_back_as,
    commits_as_nobody,
    commits_before_leaving,
    has_partitions_again,
    is_quiet_after_leaving,
    leaves,
    leaves_what_it_asked_for,
    returns_partitions_first,
    stays_out,
)
from groupproof.harness.judging.case_checkers.consumer.epoch_reactions import joins_anew
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import Step
from groupproof.harness.model.plan_builders import (
    REACT_MS,
    answers,
    append,
    close,
    command,
    consumed,
    cuts,
    delivered,
    event,
    holds,
    mark,
    passing,
    silences,
    start,
)
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["CASES"]


_DEADLINE_MS = 2_000
"""A short max.poll.interval.ms."""

_CALLBACK_MS = 2_500
"""How long an application takes to revoke its partitions, where another event happens meanwhile."""

_QUIET_MS = 5_000
"""An interval so long that a settled member's next heartbeat is its leave."""


def _closing(epoch: int = -1) -> list[Step]:
    return [*joined("m0"), passing(2 * INTERVAL_MS), mark("closing"), close("m0"), left("m0", after="closing", epoch=epoch), passing(2 * INTERVAL_MS)]


_ORDERLY: tuple[Case, ...] = (
    case(
        "leave/close",
        "A member that closes gives its partitions up, leaves with epoch -1, and is silent then.",
        ("CGV-01", "CGV-08", "CGV-11"),
        plan(subject(), _closing()),
        leaves("m0", after="closing"),
        returns_partitions_first("m0", after="closing"),
        is_quiet_after_leaving("m0", after="closing"),
    ),
    case(
        "leave/close-auto-commit",
        "A member that commits by itself has committed what it read before it leaves.",
        ("CGV-07",),
        plan(subject(auto_commit=True, auto_commit_interval_ms=60_000), _closing()),
        commits_before_leaving("m0", after="closing"),
        leaves("m0", after="closing"),
        spares=["auto_commit_interval_ms"],
    ),
    case(
        "leave/close-without-partitions",
        "A member without partitions leaves as any other.",
        ("CGV-01",),
        plan(
            subject(),
            subject("m1"),
            *joined("m0", "m1", topics={"t": 1}, idle=["m0", "m1"]),
            mark("closing"),
            close("m1"),
            left("m1", after="closing"),
            mark("closing too"),
            close("m0"),
            left("m0", after="closing too"),
            passing(500),
            topics={"t": 1},
        ),
        leaves("m1", after="closing"),
        leaves("m0", after="closing too"),
    ),
    # KAFKA-17518: a member without time left for its callbacks never left.
    case(
        "leave/close-without-time",
        "A member whose close has no time to wait for anything leaves all the same.",
        ("CGV-01", "CGV-06"),
        plan(
            subject(),
            *joined("m0"),
            passing(2 * INTERVAL_MS),
            mark("closing"),
            close("m0", timeout_ms=0),
            left("m0", after="closing"),
            passing(3 * INTERVAL_MS),
            session_ms=15_000,
        ),
        leaves("m0", after="closing"),
        is_quiet_after_leaving("m0", after="closing"),
    ),
    case(
        "leave/unsubscribe",
        "A member that unsubscribes leaves, and joins anew when it subscribes again.",
        ("CGV-14", "CGV-15"),
        plan(
            subject(),
            *joined("m0"),
            mark("leaving"),
            command("m0", "unsubscribe"),
            left("m0", after="leaving"),
            passing(3 * INTERVAL_MS),
            mark("back"),
            command("m0", "resubscribe", topics=["t"]),
            rejoining("m0", after="back"),
            reconciled("m0", after="back", go_on=True),
            passing(300),
        ),
        leaves("m0", after="leaving", requirement="CGV-14"),
        returns_partitions_first("m0", after="leaving"),
        is_quiet_after_leaving("m0", after="leaving", before="back"),
        joins_anew("m0", after="back", requirement="CGV-15"),
        joins_in_full("m0"),
    ),
    case(
        "leave/unsubscribe-while-joining",
        "A member that unsubscribes while its join waits for an answer leaves all the same.",
        ("CGV-14",),
        plan(
            subject(),
            holds("held", BEAT, ms=2_500),
            *start("m0"),
            triggered("held"),
            mark("leaving"),
            command("m0", "unsubscribe", wait=False, within_ms=LONG_MS),
            left("m0", after="leaving", within_ms=LONG_MS + 1_000),
            passing(3 * INTERVAL_MS),
            session_ms=30_000,
        ),
        leaves_what_it_asked_for("m0", after="leaving"),
        needs=["resubscribe"],
    ),
    case(
        "leave/unsubscribe-while-giving-up",
        "A member that unsubscribes leaves when its application has given its partitions up, and not before.",
        ("CGV-08", "CGV-14", "CGV-11"),
        plan(
            subject(on_revoked={"sleep_ms": _CALLBACK_MS, "commit": False}),
            *joined("m0"),
            mark("leaving"),
            command("m0", "unsubscribe", wait=False, within_ms=_CALLBACK_MS + LONG_MS),
            left("m0", after="leaving", within_ms=_CALLBACK_MS + REACT_MS),
            event("m0", "callback_done", after="leaving", within_ms=_CALLBACK_MS + REACT_MS, go_on=True),
            passing(3 * INTERVAL_MS),
            session_ms=15_000,
        ),
        leaves("m0", after="leaving", requirement="CGV-14", within_ms=_CALLBACK_MS + 4_000),
        returns_partitions_first("m0", after="leaving"),
        is_quiet_after_leaving("m0", after="leaving"),
        needs=["resubscribe"],
    ),
    # KAFKA-16165: the poll deadline passed during the leave, and the leave was never sent.
    case(
        "leave/unsubscribe-past-the-poll-deadline",
        "A member whose application takes longer than its poll interval to give partitions up as it unsubscribes leaves all the same.",
        ("CGV-14", "CGV-11"),
        plan(
            subject(max_poll_interval_ms=_DEADLINE_MS, on_revoked={"sleep_ms": 2 * _DEADLINE_MS, "commit": False}),
            *joined("m0"),
            mark("leaving"),
            command("m0", "unsubscribe", wait=False, within_ms=3 * _DEADLINE_MS + REACT_MS),
            event("m0", "callback_done", after="leaving", within_ms=2 * _DEADLINE_MS + REACT_MS, go_on=True),
            left("m0", after="leaving"),
            passing(3 * INTERVAL_MS),
            session_ms=30_000,
        ),
        leaves("m0", after="leaving", requirement="CGV-14", within_ms=2 * _DEADLINE_MS + 4_000),
        is_quiet_after_leaving("m0", after="leaving"),
        needs=["poll-deadline", "resubscribe"],
    ),
    case(
        "leave/static-close",
        "A static member that closes says with epoch -2 that it will be back, and which it is.",
        ("CGV-02", "CGC-02"),
        plan(subject(instance_id="one"), _closing(BACK_SOON), session_ms=15_000),
        leaves("m0", after="closing", epoch=BACK_SOON, requirement="CGV-02"),
        carries_instance("m0", "one"),
        is_quiet_after_leaving("m0", after="closing"),
    ),
    case(
        "leave/static-return",
        "A static member that closed and comes back has its partitions again, as a new member.",
        ("CGV-23", "CGV-02"),
        plan(
            subject(instance_id="one"),
            *joined("m0"),
            mark("closing"),
            close("m0"),
            mark("back"),
            *start("m0"),
            reconciled("m0", after="back", within_ms=15_000, go_on=True),
            passing(300),
            session_ms=20_000,
        ),
        has_partitions_again("m0", after="back"),
        comes_back_as("m0", after="back"),
    ),
)


def _troubled(name: str, title: str, fault: Step, *, within_ms: int = 8_000, **settings: Any) -> Case:
    """Return a case with a fault on the leave.

    It acts on no other frame: a closing member's earlier heartbeats, such as one without partitions, are those of a member.
    """
    ending = event("m0", "shutdown_complete", after="closing", within_ms=round(within_ms * 1.2), go_on=True)
    return case(
        f"leave/{name}",
        title,
        ("CGV-12", "CGV-01"),
        plan(
            subject(**settings),
            *joined("m0"),
            fault,
            mark("closing"),
            close("m0", wait=False, within_ms=within_ms),
            left("m0", after="closing"),
            ending,
            passing(300),
            interval_ms=_QUIET_MS,
            session_ms=15_000,
        ),
        leaves("m0", after="closing"),
        closes_in_time("m0", after="closing", within_ms=within_ms),
        is_quiet_after_leaving("m0", after="closing"),
    )


def _refused(name: str, title: str, code: ErrorCode) -> Case:
    return _troubled(name, title, answers("error", BEAT, code, member_epoch=LEAVE))


_TROUBLE: tuple[Case, ...] = (
    _refused("refused-loading", "A close goes on though the leave meets a loading coordinator.", ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    _refused("refused-elsewhere", "A close goes on though the leave meets another broker.", ErrorCode.NOT_COORDINATOR),
    _refused("refused-unknown", "A close goes on though the coordinator does not know the member that leaves.", ErrorCode.UNKNOWN_MEMBER_ID),
    _refused("refused-fenced", "A close goes on though the member that leaves is fenced.", ErrorCode.FENCED_MEMBER_EPOCH),
    _refused("refused-group-gone", "A close takes a leave for done whose group is gone.", ErrorCode.GROUP_ID_NOT_FOUND),
    _troubled("cut-answer", "A close goes on though the connection ends at the leave.", cuts("error", BEAT, member_epoch=LEAVE)),
    _troubled(
        "lost-answer",
        "A close goes on though the leave is never answered.",
        silences("error", BEAT, direction="response", member_epoch=LEAVE),
        within_ms=12_000,
        request_timeout_ms=2_000,
    ),
    case(
        "leave/heartbeat-in-flight",
        "A member that closes while a heartbeat waits for its answer leaves all the same.",
        ("CGV-09",),
        plan(
            subject(),
            *joined("m0"),
            holds("held", BEAT, ms=2_500),
            triggered("held"),
            mark("closing"),
            close("m0", wait=False),
            left("m0", after="closing"),
            event("m0", "shutdown_complete", after="closing", within_ms=10_000, go_on=True),
            passing(300),
            session_ms=15_000,
        ),
        leaves("m0", after="closing", requirement="CGV-09"),
        is_quiet_after_leaving("m0", after="closing"),
    ),
    # KAFKA-16933: the epoch was cleared only where the member left without a command.
    case(
        "leave/fenced-while-giving-up",
        "A member that is fenced while its application gives partitions up to unsubscribe commits no more with its epoch, and does not join again.",
        ("CGV-22", "CGP-15"),
        plan(
            subject(on_revoked={"sleep_ms": _CALLBACK_MS, "commit": True}),
            *joined("m0"),
            mark("leaving"),
            command("m0", "unsubscribe", wait=False, within_ms=_CALLBACK_MS + LONG_MS),
            event("m0", "partitions_revoked", after="leaving"),
            answers("error", BEAT, ErrorCode.FENCED_MEMBER_EPOCH),
            delivered("error"),
            passing(_CALLBACK_MS + 4 * INTERVAL_MS),
            session_ms=15_000,
        ),
        commits_as_nobody("m0", after="error"),
        stays_out("m0", after="error"),
        needs=["resubscribe"],
    ),
    # librdkafka#4672: responses to heartbeats were ignored once the member had to leave.
    case(
        "leave/new-epoch-while-giving-up",
        "A member that is given a new epoch while its application gives partitions up to close commits with that one.",
        ("CGP-04", "CGV-08"),
        plan(
            subject(on_revoked={"sleep_ms": _CALLBACK_MS, "commit": True}),
            subject("m1"),
            *joined("m0", "m1", idle=["m1"]),  # m0 commits when it revokes partitions
            mark("more"),
            append("t", 2, 5),
            consumed("m0", after="more"),
            mark("alone"),
            close("m1", wait=False),
            left("m1", after="alone"),
            holds("held", BEAT, ms=1_000, client="m0"),
            triggered("held"),
            mark("closing"),
            close("m0", wait=False, within_ms=_CALLBACK_MS + LONG_MS),
            left("m0", after="closing", within_ms=_CALLBACK_MS + REACT_MS),
            passing(300),
            interval_ms=1_500,
            session_ms=15_000,
        ),
        commits_with_epoch("m0", after="closing"),
        returns_partitions_first("m0", after="closing"),
    ),
    case(
        "leave/while-handing-over",
        "A member that closes while its application gives partitions up leaves when that is done.",
        ("CGV-01", "CGV-08"),
        plan(
            subject(on_revoked={"sleep_ms": 1_500, "commit": False}),
            subject("m1"),
            *joined("m0", topics={"t": 4}),
            mark("newcomer"),
            *start("m1"),
            event("m0", "partitions_revoked", after="newcomer", go_on=True),
            mark("closing"),
            close("m0", wait=False, within_ms=12_000),
            left("m0", after="closing"),
            reconciled("m1", topics={"t": 4}, after="closing", go_on=True),
            topics={"t": 4},
            session_ms=15_000,
        ),
        leaves("m0", after="closing", within_ms=7_000),
        returns_partitions_first("m0", after="closing"),
        is_quiet_after_leaving("m0", after="closing"),
    ),
)

CASES: tuple[Case, ...] = (*_ORDERLY, *_TROUBLE)
