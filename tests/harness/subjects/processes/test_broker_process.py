from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.processes.broker_process import LINES_MAX, BrokerProcess, Command, guarded, last_lines

PATIENT = "import sys; print('up', flush=True); sys.stdin.read()"


def _command(tmp_path: Path, code: str, *, speaks: bool = False) -> Command:
    return Command(title="broker 0", argv=(sys.executable, "-S", "-c", code), log=tmp_path / "logs" / "broker-0.log", speaks=speaks)


def test_a_killed_process_is_gone_and_no_death(tmp_path: Path) -> None:
    async def main() -> None:
        process = await BrokerProcess.start(_command(tmp_path, PATIENT, speaks=True))
        assert await process.next_line() == "up"
        assert process.status is None
        await process.kill()
        assert process.status is not None
        assert process.death() is None
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)
        await process.kill()

    trio.run(main)


def test_a_process_can_end_in_order(tmp_path: Path) -> None:
    async def main() -> None:
        process = await BrokerProcess.start(_command(tmp_path, "print('up', flush=True); input()", speaks=True))
        assert await process.next_line() == "up"
        assert await process.finish(within_s=300)
        assert (process.status, process.death()) == (0, None)
        await process.kill()

    trio.run(main)


def test_a_process_that_outlives_its_input_is_killed(tmp_path: Path) -> None:
    async def main() -> None:
        code = "import time; print('up', flush=True); time.sleep(600)"
        process = await BrokerProcess.start(_command(tmp_path, code, speaks=True))
        await process.next_line()
        await process.kill(within_s=0.05)
        assert process.status == -9

    trio.run(main)


def test_a_process_that_ended_uncalled_is_reported_with_its_last_words(tmp_path: Path) -> None:
    async def main() -> BrokerProcess:
        process = await BrokerProcess.start(_command(tmp_path, "import sys; print('a reason'); print('ERROR no port'); sys.exit(3)"))
        with trio.fail_after(300):
            await process._process.wait()
        await process.kill()
        return process

    process = trio.run(main)
    assert process.death() == f"broker 0 ended with status 3; its last words: ERROR no port (log: {process.log})"


def test_what_is_said_to_a_process_that_is_gone_is_the_environments_fault(tmp_path: Path) -> None:
    async def main() -> None:
        process = await BrokerProcess.start(_command(tmp_path, "raise SystemExit(2)"))
        with trio.fail_after(300):
            await process._process.wait()
        try:
            await process.say("stop 0")
        finally:
            await process.kill()

    with pytest.raises(BrokenEnvironment, match="broker 0 ended with status 2"):
        trio.run(main)


def test_a_process_that_says_no_more_is_the_environments_fault(tmp_path: Path) -> None:
    async def main() -> None:
        process = await BrokerProcess.start(_command(tmp_path, "import sys; print('oh', file=sys.stderr); sys.exit(4)", speaks=True))
        try:
            await process.next_line()
        finally:
            await process.kill()

    with pytest.raises(BrokenEnvironment, match="broker 0 ended with status 4; its last words: oh"):
        trio.run(main)


def test_a_program_that_is_not_there_is_the_environments_fault(tmp_path: Path) -> None:
    with pytest.raises(BrokenEnvironment, match="can't start broker 0 by /no/such: No such file"):
        trio.run(BrokerProcess.start, Command(title="broker 0", argv=("/no/such",), log=tmp_path / "log"))


def test_a_log_that_cannot_be_written_is_the_environments_fault(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("in the way")
    with pytest.raises(BrokenEnvironment, match="can't write the log"):
        trio.run(BrokerProcess.start, _command(tmp_path, PATIENT))


def test_last_lines_prefer_errors_and_leave_frames_out(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("INFO begun\nERROR java.lang.X: why\n\tat a.b(C.java:1)\nINFO ended\n")
    assert last_lines(log) == ["ERROR java.lang.X: why"]

    log.write_text("".join(f"INFO {number}\n" for number in range(20)))
    assert last_lines(log) == [f"INFO {number}" for number in range(20 - LINES_MAX, 20)]
    assert last_lines(tmp_path / "none") == []


def test_a_guarded_command_names_the_guard_and_its_plan() -> None:
    argv = guarded(["java", "x"], remove=[Path("/d")], after=[["docker", "rm"]])

    assert Path(argv[-2]).name == "guard.py"
    assert argv[-1] == '{"argv": ["java", "x"], "remove": ["/d"], "after": [["docker", "rm"]]}'


def test_an_order_to_what_is_ended_meanwhile_is_the_environments_fault(tmp_path: Path) -> None:
    async def main() -> None:
        process = await BrokerProcess.start(_command(tmp_path, PATIENT))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(process.kill, 0.05)
            await process.order("resume")

    with pytest.raises(ExceptionGroup) as caught:
        trio.run(main)
    assert pytest.RaisesExc(BrokenEnvironment, match=r"broker 0 (can't be made to resume|closed its standard input)").matches(
        caught.value.exceptions[0]
    )


def test_an_order_that_nobody_obeys_is_the_environments_fault(tmp_path: Path) -> None:
    async def main() -> None:
        process = await BrokerProcess.start(_command(tmp_path, "input(); print('ERROR no', file=__import__('sys').stderr); raise SystemExit(3)"))
        try:
            await process.order("pause")
        finally:
            await process.kill()

    with pytest.raises(BrokenEnvironment, match=r"broker 0 can't be made to pause: "):
        trio.run(main)
