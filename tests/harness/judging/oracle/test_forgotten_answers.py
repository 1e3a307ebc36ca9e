"""JoinGroups and SyncGroups that Kafka never answers: an answer is legal if it says what is true of the member."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.harness.judging.oracle.recording import SETTINGS, Recording, in_order

from groupproof.harness.judging.oracle import findings_of
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.trace import Trace

NONE, STRANGER, REBALANCES = 0, 25, 27


def findings(trace: Trace) -> list[tuple[str, Verdict]]:
    return [(finding.requirement, finding.verdict) for finding in findings_of(trace, profile="kafka-4.1", settings=SETTINGS)]


def answered_too(trace: Trace, label: str, like: str, **fields: Any) -> Trace:
    """Return the trace in which the request called `label` is answered when the one called `like` is: as that, except for `fields`."""
    asked = next(obs for obs in trace if obs.kind == "request" and obs.detail == label)
    answer = next(obs for obs in trace if obs.kind == "response" and obs.detail == like)
    body = {**answer.body, **fields}
    return in_order([*trace, replace(asked, kind="response", at_ns=answer.at_ns, body=body, error=body["error_code"])])


def joins_twice() -> Trace:
    recording = Recording()
    recording.stable("a", "b")
    recording.join("a", label="older")
    recording.wait(10)
    recording.join("a", over="a2", label="newer")
    recording.wait(10)
    recording.join("b")
    recording.wait(10)
    recording.sync("a", "a", "b")
    recording.wait(10)
    return recording.end()


def syncs_twice() -> Trace:
    recording = Recording()
    recording.stable("a", "b")
    recording.join("a")
    recording.join("b")
    recording.wait(10)
    recording.sync("b", label="older")
    recording.wait(10)
    recording.sync("b", over="b2", label="newer")
    recording.wait(10)
    recording.sync("a", "a", "b")
    recording.wait(10)
    return recording.end()


def leaves_while_it_syncs() -> Trace:
    recording = Recording()
    recording.stable("a", "b")
    recording.join("a")
    recording.join("b")
    recording.wait(10)
    recording.sync("b", label="sync")
    recording.wait(10)
    recording.leave("b", over="admin", label="leave")
    recording.wait(10)
    recording.beat("a")
    recording.wait(10)
    return recording.end()


@pytest.mark.parametrize("trace", [joins_twice(), syncs_twice(), leaves_while_it_syncs()])
def test_kafka_never_answers_them(trace: Trace) -> None:
    assert findings(trace) == []


@pytest.mark.parametrize(("trace", "requirement"), [(joins_twice(), "JOIN-35"), (syncs_twice(), "INV-08")])
@pytest.mark.parametrize(
    ("fields", "is_legal"),
    [({}, True), ({"error_code": REBALANCES}, True), ({"error_code": STRANGER}, False), ({"leader": "c", "assignment": b"for c"}, False)],
)
def test_the_older_of_two_requests_may_be_answered_as_the_newer_one(trace: Trace, requirement: str, fields: dict[str, Any], is_legal: bool) -> None:
    found = findings(answered_too(trace, "older", "newer", **fields))

    assert [verdict for _, verdict in found] == [Verdict.INFORMATIONAL if is_legal else Verdict.FAILED]
    assert not is_legal or found == [(requirement, Verdict.INFORMATIONAL)]


def test_a_request_that_is_the_only_one_is_not_answered_early() -> None:
    recording = Recording()
    recording.stable("a", "b")
    recording.join("a", label="joins")
    recording.wait(10)
    recording.beat("b", label="beat")
    recording.wait(10)
    trace = answered_too(recording.end(), "joins", "beat", error_code=REBALANCES)

    assert [verdict for _, verdict in findings(trace)] == [Verdict.FAILED]


@pytest.mark.parametrize(("code", "verdict"), [(STRANGER, Verdict.INFORMATIONAL), (REBALANCES, Verdict.INFORMATIONAL), (NONE, Verdict.FAILED)])
def test_the_sync_of_a_member_that_leaves_may_be_refused(code: int, verdict: Verdict) -> None:
    empty: dict[str, Any] = {"members": [], "protocol_type": None, "protocol_name": None, "assignment": b""}
    trace = answered_too(leaves_while_it_syncs(), "sync", "leave", error_code=code, **empty)

    assert [found for _, found in findings(trace)] == [verdict]
