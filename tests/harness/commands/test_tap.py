from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio
from tests.harness.commands.calling import Call
from tests.harness.commands.test_serve import serving, visit

TAP = (sys.executable, "-c", "import sys; from groupproof.harness.commands import main; sys.exit(main())", "tap")


@contextmanager
def tapping(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Tap in a process of its own and yield it with its bootstrap servers; it is interrupted by the caller, or killed here."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([*TAP, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip().removeprefix("bootstrap.servers=")
        finally:
            process.kill()


@pytest.mark.slow
def test_a_client_behind_the_tap_is_recorded_affected_by_faults_and_judged(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with (
        serving("--set", "group.initial.rebalance.delay.ms=0") as (_, upstream),
        tapping("--upstream", upstream, "--judge", "--output", str(out), "--fault", "Fetch,response,hold=50") as (process, bootstrap),
    ):
        assert bootstrap != upstream
        trio.run(visit, bootstrap)
        process.send_signal(signal.SIGINT)
        printed, err = process.communicate(timeout=300)

    assert process.returncode == 0, err
    assert "OK observed/classic/g: Nothing illegal in" in printed
    assert "fault fault-1: took effect once" in printed
    assert "is not judged" not in printed
    assert (out / "report.json").is_file()
    apis = {json.loads(line).get("api") for line in (out / "trace.ndjson").read_text().splitlines()}
    assert {"JoinGroup", "Fetch", "LeaveGroup"} <= apis


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--judge"], "Missing option '--upstream'"),
        (["--upstream", "nonsense"], "write HOST:PORT"),
        (["--upstream", "h:99999"], "a port is a number from 1 to 65535"),
        (["--upstream", "h:1", "--json"], "--json is for the report of --judge"),
        (["--upstream", "h:1", "--profile", "kafka-4"], "did you mean kafka-4.4"),
        (["--upstream", "h:1", "--fault", "Hartbeat,cut"], "did you mean Heartbeat"),
        (["--upstream", "h:1", "--properties", "absent"], "--properties absent can't be read"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], message: str, groupproof: Call) -> None:
    called = groupproof("tap", *arguments)

    assert called.code == 3
    assert message in called.complaint
