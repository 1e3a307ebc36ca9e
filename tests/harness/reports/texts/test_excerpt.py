from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.harness.reports.making import REBALANCE, played

from groupproof.harness.reports.texts.excerpt import AFTER_MAX, BEFORE_MAX, excerpt_of
from groupproof.harness.reports.texts.frame_text import line_of
from groupproof.protocol.trace import Observation, Trace


def trace_of(*columns: dict[str, Any]) -> Trace:
    return [Observation(seq=number, at_ns=number * 1_000_000, **column) for number, column in enumerate(columns)]


JOIN = {"kind": "request", "api": "JoinGroup", "version": 9, "client": "m0", "member": ""}
BEAT = {"kind": "request", "api": "Heartbeat", "version": 4, "client": "m0", "member": "a", "generation": 1}
ALIVE = {"kind": "response", "api": "Heartbeat", "client": "m0", "error": 0}
FETCH = {"kind": "request", "api": "Fetch", "client": "m0"}
END = {"kind": "event", "who": "kit", "body": {"name": "end"}}


def texts(trace: Trace, seq: int | None) -> list[str]:
    return [line.text for line in excerpt_of(trace, seq).lines]


def test_the_line_that_is_asked_for_is_there_and_marked() -> None:
    excerpt = excerpt_of(trace_of(JOIN, FETCH, FETCH, JOIN), 2)

    assert excerpt.seq == 2
    assert [line.seq for line in excerpt.lines] == [0, 2, 3]


def test_what_every_consumer_does_all_the_time_is_left_out() -> None:
    noise = (
        FETCH,
        {"kind": "processed", "api": "JoinGroup", "client": "m0"},
        {"kind": "event", "who": "shim", "client": "m0", "body": {"name": "records_consumed"}},
        {"kind": "event", "who": "shim", "client": "m0", "body": {"name": "answer", "ok": True}},
        {"kind": "event", "who": "kit", "body": {"name": "step"}},
        {"kind": "event", "who": "link", "body": {"name": "connected"}},
        {"kind": "event", "who": "link", "body": {"name": "closed", "by": "client"}},
        {"kind": "fault", "fault": "f", "detail": "armed"},
        {"kind": "fault", "fault": "f", "detail": "healed", "body": {"held": 0}},
    )

    assert [line.seq for line in excerpt_of(trace_of(*noise, JOIN), len(noise)).lines] == [len(noise)]


def test_heartbeats_in_a_row_are_one_line() -> None:
    lines = texts(trace_of(JOIN, *[BEAT, ALIVE] * 5, JOIN), 11)

    assert lines == ["JoinGroup v9 · member ''", "5 Heartbeats and their answers, all NONE", "JoinGroup v9 · member ''"]


def test_a_heartbeat_that_fails_is_never_folded_away() -> None:
    fields = {**ALIVE, "error": 27}

    assert "Heartbeat · REBALANCE_IN_PROGRESS" in texts(trace_of(JOIN, *[BEAT, ALIVE] * 3, BEAT, fields, JOIN), 9)


def test_an_excerpt_is_short_on_both_sides() -> None:
    lines = excerpt_of(trace_of(*[JOIN] * 100), 50).lines

    assert [line.seq for line in lines] == list(range(50 - BEFORE_MAX, 51 + AFTER_MAX))


def test_without_an_observation_the_last_before_the_close_are_reported() -> None:
    excerpt = excerpt_of(trace_of(JOIN, END, JOIN), None)

    assert excerpt.seq is None
    assert [line.seq for line in excerpt.lines] == [0, 1, 2]


def test_an_observation_beyond_the_trace_marks_nothing() -> None:
    assert excerpt_of(trace_of(JOIN), 7).seq is None


def test_a_real_failure_is_explained_by_the_fault_before_it() -> None:
    result = played(REBALANCE, variant="ignores-heartbeat-27")[0]
    trace, finding = result.plays[0].trace, result.ruling.findings[-1]

    lines = excerpt_of(trace, next(finding.seq for finding in result.ruling.findings if finding.seq is not None)).lines

    assert any("REBALANCE_IN_PROGRESS" in line.text for line in lines), finding
    assert all(line == line_of(trace[line.seq]) for line in lines if line.arrow in ("→", "←"))


def test_the_names_that_the_run_drew_come_first() -> None:
    named = Observation(seq=0, at_ns=0, kind="event", who="kit", body={"name": "names", "group": {"g": "ledger-3f2a"}, "topics": {}, "codes": {}})
    trace = [named, *(replace(obs, seq=obs.seq + 1) for obs in played(REBALANCE)[0].plays[0].trace)]

    lines = excerpt_of(trace, 60).lines

    assert lines[0] == line_of(named)
    assert [line.seq for line in lines].count(0) == 1
    assert lines[0] not in excerpt_of(trace[1:], 60).lines
