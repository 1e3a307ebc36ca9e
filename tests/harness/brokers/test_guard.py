from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from groupproof.harness.brokers import guard
from groupproof.harness.brokers.guard import main

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
        assert process.wait(timeout=30) == 128 + signal.SIGKILL

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
        assert process.wait(timeout=30) == 5


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
        assert process.wait(timeout=30) == 128 + signal.SIGKILL


def test_it_ends_with_the_programs_status() -> None:
    with _guard({"argv": [sys.executable, "-c", "raise SystemExit(7)"]}) as process:
        assert process.wait(timeout=30) == 7


def test_an_aftermath_that_fails_does_not_keep_the_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(guard, "_end_with_input", lambda _: None)
    data = tmp_path / "data"
    data.mkdir()

    assert main(json.dumps({"argv": ["true"], "after": [["/no/such/program"]], "remove": [str(data)]})) == 0
    assert not data.exists()
