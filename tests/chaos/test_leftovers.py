"""A real run that is ended while a client or a broker stands still: a whole command, real brokers, Toxiproxy, clients; nothing of it is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from tests.chaos.engines import running_engine
from tests.chaos.scenario_texts import HEAD, HEALED
from tests.harness.subjects.shims.leaving import MARK, marked, wait_until_gone

from groupproof.chaos.images.build_images import build_kafka, build_proxy
from groupproof.chaos.images.container_engine import Engine
from groupproof.chaos.wire.toxiproxy_server import Program
from groupproof.clients.registry.install_cache import default_cache
from groupproof.harness.subjects.processes.images import PROVIDER, owned

__all__ = ["running_engine"]

COMMAND = ("broker-stands-still", "--client", "kafka-python", "--coordinator", "apache-kafka@4.1.0", "--output")
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]

FROZEN = f"""{HEAD}[[phase]]
name = "frozen"
faults = [{{ name = "slow", kind = "slow", latency = 50, who = "half" }}]
actions = [{{ do = "freeze", who = "one" }}]
for = 3_600_000
{HEALED}"""
"""A client's process stands still for an hour, and a Toxiproxy impairs its ways."""

of_kafka = [
    pytest.mark.soak, pytest.mark.java, pytest.mark.network,
    pytest.mark.skipif(not (shutil.which("java") and shutil.which("mvn")), reason="absent: Java and Maven, which run Apache Kafka"),
]  # fmt: skip


def each_signal(*, marks: Mapping[signal.Signals, Sequence[pytest.MarkDecorator]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("number", [pytest.param(signals, marks=marks[signals], id=signals.name) for signals in SIGNALS])


def _ended(
    number: int, folder: Path, provider: str, stands_still: Callable[[str], bool], command: Sequence[str]
) -> tuple[int, int, list[int], list[str]]:
    """Signal the command when a broker stands still; return its number, how many processes it had, and what processes and folders are left."""
    mark = uuid.uuid4().hex
    argv = [str(Path(sys.executable).with_name("groupproof")), "chaos", "run", *command]
    env = {**os.environ, MARK: mark, PROVIDER: provider, "TMPDIR": str(folder)}
    with (folder / "said").open("w") as output, subprocess.Popen(argv, env=env, stdout=output, stderr=output, start_new_session=True) as kit:
        while not stands_still(mark):
            with suppress(subprocess.TimeoutExpired):
                pytest.fail(f"it ended with status {kit.wait(0.1)} before anything stood still: {(folder / 'said').read_text()[-500:]}")
        had = marked(mark)
        kit.send_signal(number)
        kit.wait(120)
    for pid in had:
        wait_until_gone(pid)
    return kit.pid, len(had), marked(mark), [path.name for path in folder.glob("groupproof-*")]


def _is_stopped(mark: str) -> bool:
    return any(_state(pid) == "T" for pid in marked(mark))


def _state(pid: int) -> str:
    """Return what a process does, or nothing where it has ended since it was found."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


@pytest.mark.slow
@each_signal(marks={signal.SIGINT: [pytest.mark.soak], signal.SIGTERM: [pytest.mark.soak], signal.SIGKILL: []})
def test_clients_and_proxies(number: int, program: Program, tmp_path: Path) -> None:
    (tmp_path / "frozen.toml").write_text(FROZEN)
    command = (str(tmp_path / "frozen.toml"), "--output", str(tmp_path / "report"), "--", sys.executable, "-m", "groupproof.clients.shims.reference")
    _, had, processes, folders = _ended(number, tmp_path, "local", _is_stopped, command)

    assert had > 5
    assert (processes, folders) == ([], [])


@each_signal(marks=dict.fromkeys(SIGNALS, of_kafka))
def test_processes(number: int, tmp_path: Path) -> None:
    _, had, processes, folders = _ended(number, tmp_path, "local", _is_stopped, (*COMMAND, str(tmp_path / "report")))

    assert had > 6
    assert (processes, folders) == ([], [])


@each_signal(marks=dict.fromkeys(SIGNALS, (*of_kafka, pytest.mark.docker)))
def test_containers(number: int, running_engine: Engine, tmp_path: Path) -> None:
    build_kafka(running_engine, "4.1.0", default_cache(), print)
    build_proxy(running_engine, default_cache(), print)
    others = owned()

    def stands_still(_: str) -> bool:
        argv = ["docker", "ps", "--filter", "status=paused", "--format", "{{.Names}}"]
        return bool(set(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()) - set(others))

    kit, _, processes, folders = _ended(number, tmp_path, "docker", stands_still, (*COMMAND, str(tmp_path / "report")))

    assert (processes, folders) == ([], [])
    assert kit not in owned().values()
