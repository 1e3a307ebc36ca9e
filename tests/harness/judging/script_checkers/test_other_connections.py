"""Connections of those who did nothing wrong."""

from __future__ import annotations

from dataclasses import replace

from tests.harness.running.scripts.in_process import performed

from groupproof.harness.judging.script_checkers.other_connections import bystanders_stay_connected
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.script import AwaitClose, Raw, Script
from groupproof.harness.model.script_builders import beat, stable
from groupproof.harness.model.verdicts import Finding, Level, Verdict
from groupproof.protocol.trace import Trace

SCRIPT = Script(steps=(*stable("a"), Raw(connection="raw", data=b"\xff\xff\xff\xff"), AwaitClose(connection="raw"), beat("a", code=0)))


def judged(script: Script, trace: Trace, level: Level = Level.MUST) -> list[Finding]:
    return list(bystanders_stay_connected(script, "INV-10", level)(Evidence(trace)))


def ended_by_the_broker(trace: Trace) -> Trace:
    """Return the trace with the broker ending every connection that ends."""
    return [replace(obs, body={**obs.body, "by": "broker"}) if obs.body.get("name") == "closed" and obs.who == "link" else obs for obs in trace]


def test_a_broker_that_ends_the_connection_of_garbage_alone_is_not_spoken_of() -> None:
    assert judged(SCRIPT, performed(SCRIPT)) == []


def test_a_broker_that_ends_others_too_is_reported_as_severely_as_the_case_is() -> None:
    trace = ended_by_the_broker(performed(SCRIPT))

    assert [(finding.verdict, finding.observed) for finding in judged(SCRIPT, trace)] == [(Verdict.FAILED, "The broker ended connection a.")]
    assert [finding.verdict for finding in judged(SCRIPT, trace, Level.SHOULD)] == [Verdict.NON_STRICT]


def test_without_garbage_connections_are_the_brokers_own_affair() -> None:
    plain = Script(steps=stable("a"))

    assert judged(plain, ended_by_the_broker(performed(plain))) == []
