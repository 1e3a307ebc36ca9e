from __future__ import annotations

import os
import select
import signal
from collections.abc import Awaitable, Callable

import pytest
import trio
import trio.testing
from tests.harness.subjects.shims.fakes import Heard, fake

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.shims import shim_process
from groupproof.harness.subjects.shims.conversation import ShimGone
from groupproof.harness.subjects.shims.shim_process import Program, ShimProcess, lines_of

GRACE_S = 0.3


def with_process(how: str, use: Callable[[ShimProcess], Awaitable[None]], *capabilities: str, grace_s: float = GRACE_S) -> ShimProcess:
    """Run the fake shim for as long as `use` takes, and return the process as it was left."""
    process = ShimProcess(fake(how, *capabilities, MARK="here"), grace_s)

    async def main() -> None:
        with trio.fail_after(120):
            async with trio.open_nursery() as nursery:
                await nursery.start(process.run)
                await use(process)
                nursery.cancel_scope.cancel()

    trio.run(main)
    return process


def is_gone(pid: int) -> bool:
    """Tell whether a process that was killed ends within seconds; the kernel may take a moment for it."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        waiting = select.poll()
        waiting.register(handle, select.POLLIN)
        return bool(waiting.poll(300_000))
    finally:
        os.close(handle)


def test_a_shim_speaks_in_a_session_and_an_environment_of_its_own() -> None:
    heard = Heard()

    async def use(process: ShimProcess) -> None:
        hello = await process.conversation.wait_for_hello()
        assert hello.client == "fake"
        process.conversation.attach("m0", heard)
        assert (await process.conversation.ask("subscribe", {}, "m0")).ok
        assert process.pid is not None
        assert os.getsid(process.pid) == process.pid

    process = with_process("honest", use)

    assert heard.events[1]["marked"] == "here"
    assert heard.events[1]["pid"] == process.pid
    assert process.ended.is_set()


def test_a_shim_that_closes_its_stdout_and_continues_has_broken_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shim_process, "CLOSED_S", 0.1)

    async def use(process: ShimProcess) -> None:
        await process.conversation.wait_for_hello()
        with pytest.raises(ShimGone, match="the shim closed its stdout and still runs"):
            await process.conversation.ask("subscribe", {}, "m0")

    with_process("closes-stdout", use)


def test_a_shim_that_broke_the_contract_is_ended() -> None:
    async def use(process: ShimProcess) -> None:
        await process.conversation.wait_for_hello()
        with pytest.raises(ShimGone, match="is no JSON"):
            await process.conversation.ask("subscribe", {}, "m0")
        await process.ended.wait()

    process = with_process("bad-line", use)

    assert process.ended.is_set()


def test_an_exit_is_reported_with_its_status_and_the_last_words() -> None:
    async def use(process: ShimProcess) -> None:
        await process.conversation.wait_for_hello()
        with pytest.raises(ShimGone) as gone:
            await process.conversation.ask("subscribe", {}, "m0")
        assert gone.value.ending.status == 7
        assert gone.value.ending.stderr == ("last words",)

    with_process("dies-on-subscribe", use)


def test_a_shim_that_heeds_no_sigterm_is_killed_after_the_grace() -> None:
    async def use(process: ShimProcess) -> None:
        await process.conversation.wait_for_hello()

    process = with_process("ignores-sigterm", use)

    assert process.conversation.ending is not None
    assert process.conversation.ending.status == -signal.SIGKILL


def test_the_end_of_stdin_means_close() -> None:
    async def use(process: ShimProcess) -> None:
        await process.conversation.wait_for_hello()

    process = with_process("honest", use, grace_s=10)

    assert process.conversation.ending is not None
    assert process.conversation.ending.status in (0, -signal.SIGTERM)


@pytest.mark.skipif(
    not hasattr(os, "pidfd_open"), reason="waits for a process that is not its child, which only Linux can; elsewhere the same signals are sent"
)
def test_nothing_is_left_behind_of_what_a_shim_has_started() -> None:
    async def use(process: ShimProcess) -> None:
        await process.conversation.wait_for_hello()
        process.signal(signal.SIGKILL)
        await process.ended.wait()

    process = with_process("has-a-child", use)

    child = int(process.stderr.since(0)[0].split()[1])
    assert is_gone(child)


def test_a_frozen_process_can_be_ended() -> None:
    async def use(process: ShimProcess) -> None:
        await process.conversation.wait_for_hello()
        process.signal(signal.SIGSTOP)

    process = with_process("honest", use, grace_s=10)

    assert process.ended.is_set()


def test_a_flood_on_both_streams_neither_blocks_nor_fills_memory() -> None:
    async def use(process: ShimProcess) -> None:
        await process.conversation.wait_for_hello()
        assert (await process.conversation.ask("subscribe", {}, "m0")).ok

    process = with_process("floods", use)

    kept = process.stderr.since(0)
    assert any("lines dropped" in line for line in kept)
    assert sum(map(len, kept)) < 1_000_000


def test_signals_to_one_that_has_ended_are_no_error() -> None:
    async def use(process: ShimProcess) -> None:
        with pytest.raises(ShimGone):
            await process.conversation.wait_for_hello()
        await process.ended.wait()

    process = with_process("dies-at-once", use)
    process.signal(signal.SIGCONT)

    assert process.conversation.ending is not None
    assert process.conversation.ending.status == 1


def test_a_program_that_is_not_there_is_the_environments_fault() -> None:
    async def main() -> None:
        process = ShimProcess(Program(argv=("no-such-program-here",)))
        async with trio.open_nursery() as nursery:
            with pytest.raises(BrokenEnvironment, match="can't start no-such-program-here: No such file"):
                await nursery.start(process.run)

    trio.run(main)


def test_a_program_prints_as_a_shell_takes_it() -> None:
    program = Program(argv=("java", "-cp", "a b"), env={"X": "1"})

    assert str(program) == "X=1 java -cp 'a b'"


def test_lines_are_whole_however_the_bytes_come_and_have_a_bound() -> None:
    async def main() -> None:
        one, other = trio.testing.memory_stream_one_way_pair()
        for chunk in (b"fir", b"st\r\nsecond\n", "dritté\n".encode()[:-2], "dritté\n".encode()[-2:], b"y" * (1 << 21), b"\nlast"):
            await one.send_all(chunk)
        await one.aclose()
        lines = [line async for line in lines_of(other)]
        assert lines[:3] == ["first", "second", "dritté"]
        assert [len(line) for line in lines[3:]] == [(1 << 20) + 1, 4]
        assert lines[-1] == "last"

    trio.run(main)
