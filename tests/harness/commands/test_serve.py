from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio
from tests.harness.commands.calling import Call
from tests.harness.subjects.offsets_topic.topic_logs import TopicLogs, commit, generation

from groupproof.clients.shims.reference import run_shim
from groupproof.harness.model.plan import Member
from groupproof.harness.running.plans.member_control import subscription_of

SERVE = (sys.executable, "-c", "import sys; from groupproof.harness.commands import main; sys.exit(main())", "serve")


@contextmanager
def serving(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Serve in a process of its own and yield it with its bootstrap servers; it is interrupted by the caller, or killed here."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([*SERVE, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip().removeprefix("bootstrap.servers=")
        finally:
            process.kill()


async def visit(bootstrap: str) -> None:
    """Let the reference member join, consume and leave."""
    sender, lines = trio.open_memory_channel[str](10)
    events: list[str] = []

    async def emit(line: str) -> None:
        events.append(line)
        if "records_consumed" in line:
            sender.close()

    fields = subscription_of(Member(name="shop"), bootstrap)
    import json

    await sender.send(json.dumps({"id": 1, "command": "subscribe", "member": "shop", **fields}))
    with trio.fail_after(300):
        await run_shim(aiter(lines), emit, trio.open_tcp_stream, seed=1)


@pytest.mark.slow
def test_a_client_that_connects_is_judged_at_the_end(tmp_path: Path) -> None:
    with serving("--judge", "--output", str(tmp_path / "out"), "--set", "group.initial.rebalance.delay.ms=0") as (process, bootstrap):
        trio.run(visit, bootstrap)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)

    assert process.returncode == 0, err
    assert "OK observed/classic/g: Nothing illegal in" in out
    assert "requests of shop.; goodbye CLEAN" in out
    assert (tmp_path / "out" / "report.json").is_file()


@pytest.mark.slow
def test_nobody_is_no_verdict(tmp_path: Path) -> None:
    with serving("--judge", "--output", str(tmp_path / "out")) as (process, _):
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=300)

    assert process.returncode == 2
    assert "nobody spoke of a group" in out


@pytest.mark.slow
def test_a_member_meets_the_groups_that_were_copied_from_a_broker(tmp_path: Path) -> None:
    logs = TopicLogs()
    logs.append(7, commit(1_000, "g", 0, 41), generation(2_000, "g", 3), (3_000, b"\x00\x63", b""))
    logs.write(tmp_path)
    with serving("--load", str(tmp_path), "--set", "group.initial.rebalance.delay.ms=0") as (process, bootstrap):
        trio.run(visit, bootstrap)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)

    assert process.returncode == 0, err
    assert "loaded 1 groups of the classic protocol, 0 of the consumer protocol, 1 committed offsets" in err
    assert "left out: 1 unreadable" in err


def test_a_port_in_use_is_the_environments_fault(groupproof: Call) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        called = groupproof("serve", "--port", str(listener.getsockname()[1]))

    assert called.code == 4
    assert "Address already in use; choose another port" in called.complaint


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "group.initial.rebalance.delay=0"], "did you mean group.initial.rebalance.delay.ms?"),
        (["--set", "group.initial.rebalance.delay.ms"], "write NAME=VALUE"),
        (["--topic", "t:none"], "write NAME or NAME:PARTITIONS"),
        (["--profile", "kafka-4"], "did you mean kafka-4.4"),
        (["--deny", "WRITE topic t"], "'WRITE topic t' denies nothing; write OPERATION RESOURCE NAME, such as 'READ group g'"),
        (["--port", "65535"], "choose a lower --port"),
        (["--load", str(Path(__file__).parent)], "holds no segment of __consumer_offsets"),
        (["--json"], "are for the report of --judge"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], message: str, groupproof: Call) -> None:
    called = groupproof("serve", *arguments)

    assert called.code == 3
    assert message in called.complaint
