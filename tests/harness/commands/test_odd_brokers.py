"""Brokers that hang, refuse, say nonsense or die, as the command line meets them: exit 4, one line that says what was seen, and what was reached is kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.harness.commands.calling import Call
from tests.harness.commands.fake_broker import fake_broker

from groupproof.harness.running.runs import whole_run
from groupproof.harness.subjects.brokers import cluster_map, readiness, running_broker
from groupproof.harness.subjects.networks import request_connection
from groupproof.harness.subjects.networks.ports import kept_port

NEEDS_TLS = "a port with TLS needs --properties FILE with security.protocol=SSL or SASL_SSL"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second, and the last attempt for as long as it takes: what is wrong comes in its own time, unless silence is."""
    monkeypatch.setattr(running_broker, "_UP_S", 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("oddity", "text"),
    [
        ("hangs", " within 0.5 s: no answer to ApiVersions within 0.2 s"),
        ("closes", rf" within 0\.5 s: (the broker closed the connection|socket connection broken: .*); {NEEDS_TLS}"),
        ("garbage", r" within 0\.5 s: ApiVersions v0 response cannot be read: .*"),
        ("http", ": it looks like an HTTP server: its answer begins with 'HTTP/1.1 400 Bad'"),
        ("ssh", ": it speaks another protocol: its answer begins with 'SSH-2.0-OpenSSH_'"),
        ("tls", f": it answers with a TLS alert; {NEEDS_TLS}"),
    ],
)
def test_a_server_that_is_no_broker_is_reported_in_one_line(groupproof: Call, monkeypatch: pytest.MonkeyPatch, oddity: str, text: str) -> None:
    if oddity == "hangs":
        monkeypatch.setattr(request_connection, "ANSWER_S", 0.2)
    with fake_broker(oddity) as where:
        called, by_profile = groupproof("certify", "coordinator", where), groupproof("certify", "coordinator", where, "--profile", "kafka-4.1")

    for item in (called, by_profile):
        assert (item.code, item.out) == (4, "")
        _matches(item.complaint, rf"groupproof: no broker answers at {where}{text}")


@pytest.mark.slow
def test_a_port_that_never_answers_is_reported_once_the_time_is_over(groupproof: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "_ATTEMPT_S", 0.3)
    with fake_broker("hangs") as where:
        called = groupproof("certify", "coordinator", where)

    assert called.code == 4
    _matches(called.complaint, rf"groupproof: no broker answers at {where} within 0\.5 s: a connection can be made, but no request is answered")


@pytest.mark.slow
def test_a_tap_reports_an_upstream_that_is_no_broker(groupproof: Call) -> None:
    with fake_broker("http") as where:
        called = groupproof("tap", "--upstream", where)

    assert called.code == 4
    _matches(called.complaint, rf"groupproof: no broker answers at {where}: it looks like an HTTP server: its answer begins with .*")


def test_a_port_that_refuses_is_reported_in_one_line(groupproof: Call) -> None:
    with kept_port() as port:
        called = groupproof("certify", "coordinator", f"127.0.0.1:{port}")

    assert called.code == 4
    _matches(
        called.complaint,
        rf"groupproof: no broker answers at 127\.0\.0\.1:{port} within 0\.5 s: all attempts to connect to 127\.0\.0\.1:{port} failed",
    )


@pytest.mark.slow
@pytest.mark.parametrize("oddity", ["dies", "freezes"])
def test_of_a_broker_that_ends_in_the_middle_what_was_reached_is_kept(
    groupproof: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, oddity: str
) -> None:
    monkeypatch.setattr(running_broker, "_UP_S", 20.0)
    monkeypatch.setattr(running_broker, "_REMOVAL_S", 1.0)
    monkeypatch.setattr(request_connection, "ANSWER_S", 3.0)
    monkeypatch.setattr(cluster_map, "FOUND_S", 3.0)
    monkeypatch.setattr(cluster_map, "ALIVE_S", 3.0)
    monkeypatch.setattr(whole_run, "GONE_MAX", 4)
    with fake_broker(oddity) as where:
        called = groupproof("certify", "coordinator", where, "--profile", "kafka-4.1", "--only", "leave", "--jobs", "4", "--output", "out", "--json")

    assert called.code == 4
    verdicts = {case["id"]: case["verdict"] for case in called.json["cases"]}
    assert "OK" in verdicts.values()
    (given_up,) = [line for line in called.err.splitlines() if line.startswith("given up: ")]
    _matches(given_up, r"given up: the last 4 cases could not be carried through: .*")
    kept = tmp_path / "out" / "cases" / next(case for case, verdict in verdicts.items() if verdict == "OK")
    assert (kept / "trace.ndjson").stat().st_size > 0


def _matches(line: str, pattern: str) -> None:
    assert re.fullmatch(pattern, line), line
