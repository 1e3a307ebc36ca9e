"""OffsetFetch: every error that can answer it. A client must never treat a failure as "nothing committed" (CLIENT-79, FETCH-06)."""

from __future__ import annotations

from typing import Any

from groupproof.harness.cases.client.client_case_builders import GROUP, UNHEARD_OF, case, code_name
from groupproof.harness.judging.case_checkers.discovery import rediscovers
from groupproof.harness.judging.case_checkers.fields import fetches_only_assigned, starts_at
from groupproof.harness.judging.case_checkers.findings import TimedJudge
from groupproof.harness.judging.case_checkers.offset_fetch import goes_on_reading, if_stable, unless_asked_twice, unless_ended
from groupproof.harness.judging.case_checkers.reactions import request_came, retries, surfaces
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.model.plan import Arm, Plan, Step
from groupproof.harness.model.plan_builders import (
    JOIN_MS,
    answers,
    close,
    commit,
    consumed,
    delivered,
    event,
    holds,
    joined,
    passing,
    plan,
    reference_peer,
    requested,
    start,
    strikes,
    subject,
)
from groupproof.protocol.faults import Answer
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["CASES", "COMMITTED", "after_commits"]

_FETCH = Api.OFFSET_FETCH
_GOES_ON = unless_asked_twice(goes_on_reading("m0", after="error"), "m0", requirement="CLIENT-79")
_AGAIN = unless_asked_twice(retries("m0", _FETCH, after="error", requirement="CLIENT-79"), "m0", requirement="CLIENT-79")

COMMITTED = {("t", 0): 10}
"""The group's committed offsets before the subject joins."""


def after_commits(*steps: Step | list[Step], **settings: Any) -> Plan:
    """Return a plan in which a reference member commits and leaves before the other steps begin; `settings` are the subject's."""
    offsets = [(topic, partition, offset) for (topic, partition), offset in COMMITTED.items()]
    return plan(reference_peer(), subject(**settings), *joined("a0"), commit("a0", *offsets), close("a0"), *steps, topics={"t": 1})


def _arm(code: int) -> Arm:
    """Return the fault: an error of the group, or of each partition where brokers use one for partitions."""
    if code not in _OF_PARTITIONS:
        return answers("error", _FETCH, code)
    partitions = [{"partition_index": partition, "committed_offset": -1, "error_code": code} for _, partition in COMMITTED]
    groups = [{"group_id": GROUP, "topics": [{"name": "t", "partitions": partitions}]}]
    return strikes("error", _FETCH, Answer(error_code=0, body={"groups": groups}), direction="response")


_OF_PARTITIONS = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.UNSTABLE_OFFSET_COMMIT}


def _failing(code: int, *more: Step) -> Plan:
    return after_commits(
        _arm(code),
        *more,
        start("m0"),
        delivered("error", within_ms=15_000),
        consumed("m0", within_ms=8_000, go_on=True),
        requested("m0", Api.HEARTBEAT, after="error", within_ms=2_500, go_on=True),
        passing(500),
    )


def _continues(*, or_not: bool = False, means_nothing_once: bool = False) -> Judge:
    return starts_at("m0", COMMITTED, requirement="CLIENT-79", or_not=or_not, means_nothing_once=means_nothing_once)


def _case(code: int, title: str, made: Plan, *judges: Judge) -> Case:
    came = request_came("error", "m0", _FETCH, requirement="CLIENT-79", within_ms=12_000)
    return case(f"fetch/{code_name(code)}", title, ("CLIENT-79",), made, came, *judges)


def _retried(code: int, title: str, *more: Judge, made: Plan | None = None) -> Case:
    return _case(code, title, made or _failing(code), unless_ended(_AGAIN, "m0", requirement="CLIENT-79"), _CONTINUES_OR_ENDS, *more)


_CONTINUES_OR_ENDS = starts_at("m0", COMMITTED, requirement="CLIENT-79", ends_after="error")


def _slow_rejoin() -> Arm:
    """Hold the answer to a second JoinGroup, so that a lookup beside the join differs from one after it (IBM/sarama#3574)."""
    return holds("rejoin", Api.JOIN_GROUP, ms=500, error=0, nth=2)


def _error_case(code: int, title: str) -> Case:
    made = after_commits(_arm(code), start("m0"), delivered("error", within_ms=15_000), event("m0", "error", after="error", go_on=True), passing(500))
    tells = unless_asked_twice(surfaces("m0", after="error", requirement="CLIENT-79", tried_again=_FETCH), "m0", requirement="CLIENT-79")
    return _case(code, title, made, tells, _GOES_ON, _continues(or_not=True))


def _odd(code: int, title: str, *, means_nothing_once: bool = False) -> Case:
    """Return a case whose error the client may report or retry, but not treat as an offset."""
    continues = _continues(or_not=True, means_nothing_once=means_nothing_once)
    made = after_commits(_arm(code), start("m0"), delivered("error", within_ms=15_000), consumed("m0", within_ms=6_700, go_on=True), passing(500))
    return _case(code, title, made, _GOES_ON, continues)


def _if_stable(*judges: TimedJudge) -> list[Judge]:
    """Ask a client that takes any offsets nothing: no broker gives it such an error."""
    return [if_stable(judge, "m0", requirement="CLIENT-79") for judge in judges]


CASES: tuple[Case, ...] = (
    _retried(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "A fetch of offsets that meets a loading coordinator is repeated."),
    _error_case(ErrorCode.COORDINATOR_NOT_AVAILABLE, "A fetch of offsets that meets no coordinator is repeated, or told to the application."),
    _retried(
        ErrorCode.NOT_COORDINATOR,
        "A fetch of offsets that meets another broker is repeated after a lookup.",
        rediscovers("m0", after="error", requirement="CLIENT-04", api=_FETCH),
        made=_failing(ErrorCode.NOT_COORDINATOR, _slow_rejoin()),
    ),
    _case(
        ErrorCode.UNSTABLE_OFFSET_COMMIT,
        "A fetch of stable offsets (KIP-447) that meets an open transaction is repeated.",
        _failing(ErrorCode.UNSTABLE_OFFSET_COMMIT),
        *_if_stable(_GOES_ON, _AGAIN, TimedJudge(_continues(or_not=True), after="error", within_ms=0)),
    ),
    _error_case(ErrorCode.GROUP_AUTHORIZATION_FAILED, "A fetch of offsets that is not authorised is reported to the application or tried again."),
    _error_case(
        ErrorCode.TOPIC_AUTHORIZATION_FAILED, "A fetch of offsets of a topic that is not authorised is reported to the application or tried again."
    ),
    # Only brokers' version 0 answers so, from the time of offsets in ZooKeeper; there it meant that no offset was committed.
    _odd(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "A fetch of offsets of an unknown topic is never taken for nothing committed.", means_nothing_once=True
    ),
    _odd(ErrorCode.UNKNOWN_MEMBER_ID, "A fetch of offsets answered with 25 is never taken for nothing committed."),
    _odd(ErrorCode.ILLEGAL_GENERATION, "A fetch of offsets answered with 22 is never taken for nothing committed."),
    _odd(UNHEARD_OF, "A fetch of offsets answered with an unheard-of error is never taken for nothing committed."),
    case(
        "fetch/committed",
        "A member that takes partitions over goes on where the group had committed.",
        ("CLIENT-79", "FETCH-06"),
        after_commits(start("m0"), consumed("m0", within_ms=JOIN_MS, go_on=True), passing(500)),
        _continues(),
        fetches_only_assigned("m0"),
    ),
    case(
        "fetch/nothing-committed",
        "A member of a group that has committed nothing begins where auto.offset.reset says.",
        ("CLIENT-79",),
        plan(subject(), *joined("m0"), passing(500), topics={"t": 1}),
        starts_at("m0", {("t", 0): 0}, requirement="CLIENT-79"),
    ),
)
