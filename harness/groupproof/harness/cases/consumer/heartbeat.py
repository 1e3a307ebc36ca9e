"""ConsumerGroupHeartbeat: every error that can answer it, and the coordinator's interval (CGC-24 to CGC-28, CGT-18 to CGT-32)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from groupproof.harness.cases.client.client_case_builders import UNHEARD_OF, code_name
from groupproof.harness.cases.consumer.epoch_builders import BEAT, LONG_MS, beaten, case, joined, plan, reconciled, rejoining, reported, subject
from groupproof.harness.judging.case_checkers.consumer.epoch_join import says_again
from groupproof.harness.judging.case_checkers.consumer.epoch_reactions import (
    gives_up_partitions,
    goes_on_in_full,
    joins_anew,
    keeps_epoch,
    keeps_partitions,
    shows_or_tries,
    spaces_its_tries,
    stays_a_member,
    stops_beating,
)
from groupproof.harness.judging.case_checkers.consumer.epoch_rhythm import keeps_interval, never_two_in_flight, stays_alive
from groupproof.harness.judging.case_checkers.discovery import rediscovers
from groupproof.harness.judging.case_checkers.reactions import request_came
from groupproof.harness.judging.checkers.claim import tolerated_ms
from groupproof.harness.model.case import Case
from groupproof.harness.model.plan import ConfigureGroup, Step
from groupproof.harness.model.plan_builders import (
    answers,
    cuts,
    delivered,
    event,
    heal,
    holds,
    mark,
    passing,
    paused,
    resume,
    silences,
    start,
)
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["CASES"]

ACKNOWLEDGING = 2
"""The number of a member's heartbeat that acknowledges its first assignment."""

_PATIENT_MS = 15_000
"""A session that is longer than the back-off of any client: librdkafka waits 10 s (reconnect.backoff.max.ms)."""


def _out(code: int, title: str, requirement: str, *, renamed: Verdict = Verdict.NON_STRICT) -> Case:
    """Return a case in which an error ends the membership of a settled member."""
    return case(
        f"heartbeat/{code_name(code)}",
        title,
        (requirement, "CGC-06"),
        plan(
            subject(),
            *joined("m0"),
            answers("error", BEAT, code),
            delivered("error"),
            rejoining("m0", after="error"),
            reconciled("m0", after="error"),
            event("m0", "partitions_assigned", after="error", go_on=True),  # the frames do not wait for the lines of the shim
            passing(500),
        ),
        request_came("error", "m0", BEAT, requirement="CGC-28"),
        joins_anew("m0", after="error", requirement=requirement, at_once_ms=1_000, renamed=renamed),
        gives_up_partitions("m0", after="error", requirement=requirement),
    )


def _out_at_once(code: int, title: str, requirement: str, *, renamed: Verdict = Verdict.NON_STRICT) -> Case:
    """Return a case in which that error answers the heartbeat that acknowledges the first assignment."""
    return case(
        f"heartbeat/{code_name(code)}-at-acknowledgement",
        title,
        (requirement, "CGC-06"),
        plan(
            subject(),
            answers("error", BEAT, code, nth=ACKNOWLEDGING),
            *start("m0"),
            delivered("error"),
            rejoining("m0", after="error"),
            reconciled("m0", after="error"),
            passing(500),
        ),
        request_came("error", "m0", BEAT, requirement="CGC-16", within_ms=7_000),
        joins_anew("m0", after="error", requirement=requirement, renamed=renamed),
    )


def _kept(code: int, title: str, requirement: str, *, looks: bool) -> Case:
    """Return a case in which a settled member gets a transient error."""
    found = (rediscovers("m0", after="error", requirement=requirement, api=BEAT), goes_on_in_full("m0", after="error")) if looks else ()
    return case(
        f"heartbeat/{code_name(code)}",
        title,
        (requirement, "CGC-26"),
        plan(
            subject(),
            *joined("m0"),
            answers("error", BEAT, code),
            delivered("error"),
            beaten("m0", after="error", count=3, within_ms=LONG_MS),
            passing(500),
            session_ms=_PATIENT_MS,
        ),
        request_came("error", "m0", BEAT, requirement="CGC-28"),
        keeps_epoch("m0", after="error", requirement=requirement),
        keeps_partitions("m0", after="error", requirement=requirement),
        spaces_its_tries("m0", after="error", requirement="CGC-26"),
        *found,
    )


def _kept_at_once(code: int, title: str, requirement: str) -> Case:
    """Return a case in which a transient error answers the acknowledgement: the member has to send it again."""
    return case(
        f"heartbeat/{code_name(code)}-at-acknowledgement",
        title,
        ("CGC-18", requirement),
        plan(
            subject(),
            [answers("error", BEAT, code, nth=ACKNOWLEDGING), *start("m0"), delivered("error"), reconciled("m0", after="error"), passing(500)],
            session_ms=_PATIENT_MS,
        ),
        request_came("error", "m0", BEAT, requirement="CGC-16", within_ms=7_000),
        keeps_epoch("m0", after="error", requirement=requirement),
        says_again("m0", after="error"),
    )


def _ends(
    code: int,
    title: str,
    requirement: str,
    *,
    is_static: bool = False,
    if_unreported: Verdict = Verdict.NON_STRICT,
    rejoin_requirement: str | None = None,
) -> Case:
    """Return a case in which each heartbeat of a settled member gets an error that no retry can cure."""
    settings = {"instance_id": "one"} if is_static else {}
    return case(
        f"heartbeat/{code_name(code)}",
        title,
        (requirement,) if rejoin_requirement is None else (rejoin_requirement, requirement),
        plan(
            subject(**settings),
            [
                *joined("m0"),
                answers("error", BEAT, code, count=None),
                delivered("error"),
                *reported("m0", after="error"),
                heal("error"),
                passing(500),
            ],
        ),
        request_came("error", "m0", BEAT, requirement="CGC-28"),
        shows_or_tries("m0", after="error", requirement=requirement, if_unreported=if_unreported, rejoin_requirement=rejoin_requirement),
        spaces_its_tries("m0", after="error", requirement=requirement),
    )


_FENCED, _UNKNOWN = ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID
_LOADING, _ELSEWHERE, _NOWHERE = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE

_ERRORS: tuple[Case, ...] = (
    _out(_FENCED, "A member whose epoch is fenced gives its partitions up and joins again as the member it is.", "CGT-18"),
    _out(_UNKNOWN, "A member that is told that it is unknown gives its partitions up and joins again.", "CGT-19", renamed=Verdict.INFORMATIONAL),
    _out_at_once(_FENCED, "A member whose first acknowledgement is fenced joins again as the member it is.", "CGT-18"),
    _out_at_once(_UNKNOWN, "A member that is unknown by its first acknowledgement joins again.", "CGT-19", renamed=Verdict.INFORMATIONAL),
    _kept(_LOADING, "A heartbeat that meets a loading coordinator costs neither epoch nor partitions.", "CGT-23", looks=False),
    _kept(
        _ELSEWHERE,
        "A heartbeat that meets another broker than the coordinator makes the client look for that, and costs no membership.",
        "CGT-22",
        looks=True,
    ),
    _kept(_NOWHERE, "A heartbeat that meets no coordinator makes the client look for it, and costs no membership.", "CGT-22", looks=True),
    _kept_at_once(_LOADING, "An acknowledgement that meets a loading coordinator is sent again.", "CGT-23"),
    _kept_at_once(_ELSEWHERE, "An acknowledgement that meets another broker than the coordinator is sent again.", "CGT-22"),
    _kept_at_once(_NOWHERE, "An acknowledgement that meets no coordinator is sent again.", "CGT-22"),
    _ends(ErrorCode.GROUP_AUTHORIZATION_FAILED, "A member that may no longer be in its group tells its application.", "CGT-25"),
    _ends(ErrorCode.INVALID_REQUEST, "A member whose heartbeat is invalid tells its application.", "CGT-25"),
    _ends(ErrorCode.GROUP_MAX_SIZE_REACHED, "A member whose group is full tells its application.", "CGT-25"),
    _ends(ErrorCode.UNSUPPORTED_ASSIGNOR, "A member whose assignor is gone tells its application.", "CGT-25"),
    _ends(ErrorCode.INVALID_REGULAR_EXPRESSION, "A member whose regular expression is refused later on tells its application.", "CGT-25"),
    _ends(
        ErrorCode.UNRELEASED_INSTANCE_ID,
        "A static member whose instance is another's tells its application, or tries again with a pause.",
        "CGT-27",
        is_static=True,
        if_unreported=Verdict.OK,
    ),
    _ends(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "A member that may no longer read a topic tells its application.", "CGT-30"),
    case(
        "heartbeat/topic-authorization-failed-once",
        "A member that is told once that it may not read a topic stays one: the right to it may be given back.",
        ("CGT-28",),
        plan(
            subject(),
            *joined("m0"),
            answers("error", BEAT, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            delivered("error"),
            beaten("m0", after="error", within_ms=LONG_MS),
            passing(500),
            session_ms=_PATIENT_MS,
        ),
        request_came("error", "m0", BEAT, requirement="CGC-28"),
        stays_a_member("m0", after="error", requirement="CGT-28"),
    ),
    _ends(ErrorCode.GROUP_ID_NOT_FOUND, "A member whose group is gone joins again or tells its application.", "CGT-30", rejoin_requirement="CGT-29"),
    _ends(
        ErrorCode.STALE_MEMBER_EPOCH,
        "A heartbeat answered with what is for commits costs no more than a new join.",
        "CGT-30",
        if_unreported=Verdict.INFORMATIONAL,
    ),
    _ends(ErrorCode.UNKNOWN_SERVER_ERROR, "A heartbeat that makes the coordinator fail is not looped on in silence.", "CGT-30"),
    _ends(UNHEARD_OF, "A heartbeat answered with an unheard-of error is not looped on in silence.", "CGT-30"),
    case(
        "heartbeat/fenced-instance-id",
        "A static member whose instance another has taken over tells its application, and ends.",
        ("CGT-26",),
        plan(
            subject(instance_id="one"),
            [*joined("m0"), answers("error", BEAT, ErrorCode.FENCED_INSTANCE_ID), delivered("error"), *reported("m0", after="error")],
        ),
        request_came("error", "m0", BEAT, requirement="CGC-28"),
        stops_beating("m0", after="error", requirement="CGT-26"),
    ),
)


_BEATS = 5


def _interval(name: str, title: str, *, first_ms: int, then_ms: int) -> Case:
    """Return a case in which the coordinator changes the interval with some answer.

    It waits for heartbeats and not for a time: a client may have a minimum interval of its own (krafka: a second), and the judge then finds it
    slower.
    If the client keeps a previous interval that exceeds the whole wait, no heartbeat comes, which `keeps_epoch` finds.
    """
    changes = answers("change", BEAT, 0, direction="response", count=None, body={"heartbeat_interval_ms": then_ms})
    some = beaten("m0", after="changed", count=_BEATS, within_ms=round(_BEATS * tolerated_ms(then_ms)))
    window: list[Step] = [mark("changed"), some, mark("over"), heal("change")]
    return case(
        f"heartbeat/{name}",
        title,
        ("CGC-25", "CGC-24"),
        plan(subject(), *joined("m0"), changes, delivered("change", within_ms=15_000), *window, interval_ms=first_ms, session_ms=15_000),
        keeps_interval("m0", after="changed", before="over", ms=then_ms, requirement="CGC-25"),
        keeps_epoch("m0", after="change", requirement="CGC-25", within_ms=then_ms + 1_500),
    )


_SHORTER_MS = 500
_SHORTER_SESSION_MS = 2_000
_LEAST: Final[Mapping[str, int]] = {"group.consumer.min.session.timeout.ms": 1_000, "group.consumer.min.heartbeat.interval.ms": 100}

_STEADY_MS = 600
"""Far from half of krafka's minimum interval of a second: an interval near the limit would pass in one run and fail in the next."""

_COURSE: tuple[Case, ...] = (
    case(
        "heartbeat/steady",
        "A settled member heartbeats by the coordinator's interval, keeps its epoch and joins no second time.",
        ("CGC-24", "CGC-28"),
        plan(subject(), *joined("m0"), mark("settled"), passing(7 * _STEADY_MS), interval_ms=_STEADY_MS, session_ms=2_000),
        keeps_interval("m0", after="settled", ms=_STEADY_MS),
        stays_alive("m0", after="settled", session_ms=2_000),
        keeps_epoch("m0", after="settled", requirement="CGC-28", within_ms=3_000),
        never_two_in_flight("m0"),
    ),
    case(
        "heartbeat/slow-interval",
        "A member that is asked for heartbeats every three seconds sends them every three seconds.",
        ("CGC-24",),
        plan(subject(), *joined("m0"), mark("settled"), passing(14_000), interval_ms=3_000, session_ms=15_000),
        keeps_interval("m0", after="settled", ms=3_000),
    ),
    _interval("shorter-interval", "A member that is asked for more frequent heartbeats sends them from the next on.", first_ms=6_000, then_ms=400),
    _interval("longer-interval", "A member that is asked for less frequent heartbeats sends them from the next on.", first_ms=400, then_ms=2_500),
    case(
        "heartbeat/group-settings-change",
        "A member whose group is given a shorter session and a shorter heartbeat interval keeps its membership.",
        ("CGC-28",),
        plan(
            subject(),
            *joined("m0"),
            mark("configured"),
            # A member gets the new values with its next response; from then on its session is the shorter one (KIP-848).
            ConfigureGroup(settings={"consumer.heartbeat.interval.ms": _SHORTER_MS, "consumer.session.timeout.ms": _SHORTER_SESSION_MS}),
            beaten("m0", after="configured"),
            mark("changed"),
            beaten("m0", after="changed", count=_BEATS, within_ms=round(_BEATS * tolerated_ms(_SHORTER_MS))),
            mark("over"),
            interval_ms=3_000,
            session_ms=15_000,
            coordinator=_LEAST,
        ),
        stays_alive("m0", after="changed", before="over", session_ms=_SHORTER_SESSION_MS),
    ),
    case(
        "heartbeat/application-busy",
        "A member whose application is busy for longer than the session, but polls in time, keeps its membership.",
        ("CGC-28",),
        plan(
            subject(max_poll_interval_ms=30_000),
            [*joined("m0"), mark("busy"), *paused("m0", {"t": 2}), passing(4_500), resume("m0"), mark("back"), passing(700)],
            session_ms=2_000,
        ),
        stays_alive("m0", after="busy", session_ms=2_000),
        keeps_epoch("m0", after="busy", requirement="CGC-28", within_ms=4_000),
        spares=["max_poll_interval_ms"],
    ),
)

_PATIENCE_MS = 2_000


def _unheard(name: str, title: str, fault: Step, *, in_full: bool, patient: bool = False) -> Case:
    """Return a case in which the answer to a settled member's heartbeat is late or lost."""
    settings: dict[str, Any] = {"request_timeout_ms": _PATIENCE_MS} if patient else {}
    return case(
        f"heartbeat/{name}",
        title,
        ("CGT-24",),
        plan(
            subject(**settings),
            [*joined("m0"), fault, delivered("lost"), beaten("m0", after="lost", count=2, within_ms=12_000), passing(300)],
            session_ms=15_000,
        ),
        request_came("lost", "m0", BEAT, requirement="CGC-28"),
        keeps_epoch("m0", after="lost", requirement="CGT-24", within_ms=8_000),
        keeps_partitions("m0", after="lost", requirement="CGT-24"),
        never_two_in_flight("m0", patience_ms=_PATIENCE_MS * 0.8 if patient else None),
        *((goes_on_in_full("m0", after="lost"),) if in_full else ()),
    )


_LOST: tuple[Case, ...] = (
    _unheard("cut-request", "A heartbeat whose connection ends before the coordinator has it is sent again.", cuts("lost", BEAT, direction="request"), in_full=True),
    _unheard("cut-answer", "A heartbeat whose connection ends before its answer leaves is sent again.", cuts("lost", BEAT), in_full=True),
    _unheard("reset-request", "A heartbeat whose connection is reset is sent again.", cuts("lost", BEAT, direction="request", reset=True), in_full=True),
    _unheard("late-answer", "A heartbeat whose answer is two seconds late is waited for.", holds("lost", BEAT, ms=2_000), in_full=False),
    _unheard(
        "lost-answer", "A heartbeat whose answer never comes is given up after the request timeout, and sent again.",
        silences("lost", BEAT, direction="response"), in_full=True, patient=True,
    ),
    _unheard(
        "silent-connection", "A member whose coordinator falls silent on a connection opens another.", silences("lost", BEAT), in_full=True, patient=True
    ),
)  # fmt: skip

CASES: tuple[Case, ...] = (*_ERRORS, *_COURSE, *_LOST)
