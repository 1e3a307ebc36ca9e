from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from groupproof.harness.subjects.processes import guard
from groupproof.harness.subjects.processes.guard import main

pytestmark = pytest.mark.slow

PATIENT = "import time; print('up', flush=True); time.sleep(600)"


def _guard(plan: dict[str, object]) -> subprocess.Popen[str]:
    argv = [sys.executable, "-I", "-S", str(guard.__file__), json.dumps(plan)]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_the_end_of_its_input_ends_the_program_and_what_it_left(tmp_path: Path) -> None:
    data = tmp_path / "run" / "broker-0"
    data.mkdir(parents=True)
    file = data.parent / "0.properties"
    file.write_text("a=1")
    after = [sys.executable, "-c", f"open({str(tmp_path / 'after')!r}, 'w').close()"]
    with _guard({"argv": [sys.executable, "-c", PATIENT], "remove": [str(data), str(file)], "after": [after]}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=300) == 128 + signal.SIGKILL

    assert not data.parent.exists()
    assert (tmp_path / "after").exists()


def test_a_word_on_its_input_lets_the_program_end_in_order() -> None:
    code = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(5)); print('up', flush=True); time.sleep(600)"
    with _guard({"argv": [sys.executable, "-c", code]}) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert process.stdin is not None
        process.stdin.write("end\n")
        process.stdin.flush()
        assert process.wait(timeout=300) == 5


class _Guarded:
    """A guard whose input is a socket, as a run has it; the program says its number and what it was called with."""

    def __init__(self, plan: dict[str, object]) -> None:
        self.ours, theirs = socket.socketpair()
        argv = [sys.executable, "-I", "-S", str(guard.__file__), json.dumps(plan)]
        with theirs:
            self.process = subprocess.Popen(argv, stdin=theirs.fileno(), stdout=subprocess.PIPE, text=True)
        self.answers = self.ours.makefile()

    def __enter__(self) -> _Guarded:
        return self

    def __exit__(self, *_: object) -> None:
        self.answers.close()
        self.ours.close()
        with self.process:
            self.process.wait(timeout=300)

    def order(self, order: str) -> str:
        self.ours.sendall(f"{order}\n".encode())
        return self.answers.readline().strip()

    def line(self) -> str:
        assert self.process.stdout is not None
        return str(self.process.stdout.readline()).strip()


TELLING = "import os, sys, time; print(os.getpid(), *sys.argv[1:], flush=True); time.sleep(600)"


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.skipif(sys.platform != "linux", reason="absent: /proc, which tells what a process does")
def test_the_program_is_paused_resumed_killed_and_started_again_by_order(tmp_path: Path) -> None:
    data = tmp_path / "run" / "data"
    data.mkdir(parents=True)
    telling = [sys.executable, "-c", TELLING]
    with _Guarded({"argv": [*telling, "first"], "again": [*telling, "again"], "remove": [str(data)]}) as guarded:
        pid, word = guarded.line().split()
        assert word == "first"
        assert (guarded.order("pause"), _state(int(pid))) == ("done", "T")
        assert (guarded.order("resume"), _state(int(pid)) != "T") == ("done", True)
        guarded.order("pause")
        assert (guarded.order("kill"), Path(f"/proc/{pid}").exists()) == ("done", False)
        assert guarded.process.poll() is None
        assert data.exists()
        assert guarded.order("start") == "done"
        again, word = guarded.line().split()
        assert (word, again != pid) == ("again", True)
        assert guarded.order("start") == "done"
        guarded.order("pause")
    assert not Path(f"/proc/{again}").exists()
    assert not data.exists()


def test_the_end_of_its_input_ends_a_guard_whose_program_was_killed(tmp_path: Path) -> None:
    (tmp_path / "run" / "data").mkdir(parents=True)
    with _Guarded({"argv": [sys.executable, "-c", TELLING], "remove": [str(tmp_path / "run" / "data")]}) as guarded:
        guarded.line()
        assert guarded.order("kill") == "done"
    assert not (tmp_path / "run").exists()


def test_orders_of_its_own_are_run_in_place_of_signals_and_their_failure_is_reported(tmp_path: Path) -> None:
    orders = {"pause": ["touch", str(tmp_path / "paused")], "kill": [sys.executable, "-c", "raise SystemExit('no such container')"]}
    with _Guarded({"argv": [sys.executable, "-c", TELLING], "orders": orders}) as guarded:
        pid = int(guarded.line().split()[0])
        assert guarded.order("pause") == "done"
        assert ((tmp_path / "paused").exists(), _state(pid) != "T") == (True, True)
        assert guarded.order("kill") == "kill failed: no such container"
        assert guarded.order("drown") == "there is no order 'drown'"
        os.kill(pid, signal.SIGKILL)
        assert guarded.process.wait(timeout=300) == 128 + signal.SIGKILL


def test_its_own_death_ends_the_program() -> None:
    with _guard({"argv": [sys.executable, "-c", PATIENT]}) as process:
        assert process.stdout is not None
        process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        # The pipe's other end closes with the last process that holds it.
        assert process.stdout.read() == ""


def test_ctrl_c_is_left_to_whoever_started_it() -> None:
    with _guard({"argv": [sys.executable, "-c", PATIENT]}) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.3)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=300) == 128 + signal.SIGKILL


def test_it_ends_with_the_programs_status() -> None:
    with _guard({"argv": [sys.executable, "-c", "raise SystemExit(7)"]}) as process:
        assert process.wait(timeout=300) == 7


def test_an_aftermath_that_fails_does_not_keep_the_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(guard, "_obey", lambda _: None)
    data = tmp_path / "data"
    data.mkdir()

    assert main(json.dumps({"argv": ["true"], "after": [["/no/such/program"]], "remove": [str(data)]})) == 0
    assert not data.exists()
