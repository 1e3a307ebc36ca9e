"""What the Python shims share, as the kit meets it: a process, its lines, its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from groupproof_shim import name_of_code, upper_snake
from tests.clients.shims.driver import Shim, running, subscribe_fields

from groupproof.clients.registry.toolchains.toolchain import SHIMS

PROGRAM = (sys.executable, "-S", "-B", str(Path(__file__).with_name("scripted_shim.py")))
ENV = {"PYTHONPATH": str(SHIMS / "python")}


@asynccontextmanager
async def scripted() -> AsyncIterator[Shim]:
    async with running(PROGRAM, ENV) as shim:
        yield shim


def _run(story: Callable[[Shim], Awaitable[None]]) -> None:
    async def main() -> None:
        async with scripted() as shim:
            await story(shim)

    trio.run(main)


def test_hello_is_the_first_line_before_any_command_is_read() -> None:
    async def story(shim: Shim) -> None:
        assert shim.lines == [
            {"name": "hello", "contract": 1, "client": "scripted", "version": "1", "language": "python", "capabilities": ["classic", "multi"]}
        ]

    _run(story)


def test_a_command_that_nobody_knows_is_answered_unimplemented() -> None:
    async def story(shim: Shim) -> None:
        assert "frobnicate" in (await shim.ask("frobnicate", "m0"))["unimplemented"]
        assert "member" not in await shim.ask("frobnicate")

    _run(story)


def test_a_command_to_a_member_that_never_subscribed_is_refused() -> None:
    async def story(shim: Shim) -> None:
        answer = await shim.ask("pause", "m0")

        assert (answer["error"], answer["fatal"], answer["member"]) == ("ILLEGAL_STATE", False, "m0")

    _run(story)


def test_fields_that_nobody_takes_are_listed_as_ignored() -> None:
    async def story(shim: Shim) -> None:
        answer = await shim.ask("subscribe", "m0", **subscribe_fields(instance_id=None, properties={"x": 1}))

        assert set(answer["ignored"]) == set(subscribe_fields(properties={})) - {"bootstrap", "client_id", "group", "topics", "poll_timeout_ms"}

    _run(story)


def test_what_a_client_prints_is_no_line_of_the_protocol() -> None:
    async def story(shim: Shim) -> None:
        await shim.ask("subscribe", "m0", **subscribe_fields())
        await shim.event("records_consumed", "m0")
        await shim.ask("exit")
        await shim.ended()

        assert shim.noise == []
        assert "a client that prints to stdout" in shim.stderr

    _run(story)


def test_a_line_that_is_no_command_is_logged_and_passed_over() -> None:
    async def story(shim: Shim) -> None:
        for line in ("garbage", "[1]", '{"id": 1}', '{"command": 7}'):
            await shim.write(line)

        assert "unimplemented" in await shim.ask("frobnicate", "m0")
        assert len(shim.lines) == 2

    _run(story)


def test_the_end_of_stdin_closes_all_members() -> None:
    async def story(shim: Shim) -> None:
        for member in ("m0", "m1"):
            await shim.ask("subscribe", member, **subscribe_fields())
        await shim.end_of_stdin()

        assert await shim.ended() == 0
        assert {shim.of(member)[-1] for member in ("m0", "m1")} == {"shutdown_complete"}

    _run(story)


def test_sigterm_closes_all_members() -> None:
    async def story(shim: Shim) -> None:
        await shim.ask("subscribe", "m0", **subscribe_fields())
        shim.process.send_signal(signal.SIGTERM)

        assert await shim.ended() == 0
        assert shim.of("m0")[-1] == "shutdown_complete"

    _run(story)


def test_exit_is_answered_after_the_members_have_closed() -> None:
    async def story(shim: Shim) -> None:
        await shim.ask("subscribe", "m0", **subscribe_fields())
        answer = await shim.ask("exit")

        assert await shim.ended() == 0
        assert answer["ok"] is True
        assert shim.lines[-2:] == [await shim.event("shutdown_complete", "m0"), answer]

    _run(story)


def test_a_nameless_members_close_ends_the_process() -> None:
    async def story(shim: Shim) -> None:
        await shim.ask("subscribe", **subscribe_fields())
        answer = await shim.ask("close")

        assert answer == {"id": answer["id"], "ok": True}
        assert await shim.ended() == 0

    _run(story)


def test_sigusr1_prints_every_threads_stack() -> None:
    async def story(shim: Shim) -> None:
        await shim.ask("subscribe", "m0", **subscribe_fields())
        shim.process.send_signal(signal.SIGUSR1)
        await shim.ask("exit")
        await shim.ended()

        assert "most recent call first" in shim.stderr

    _run(story)


@pytest.mark.parametrize(
    "name", ["kafka_python_shim.py", "confluent_kafka_shim.py", "aiokafka_shim.py", "pykafka_shim.py", "faust_shim.py", "kafkatest_confluent.py"]
)
def test_a_shim_without_its_client_says_that_it_cannot_run_here(name: str) -> None:
    done = subprocess.run([sys.executable, "-S", "-B", str(SHIMS / "python" / name)], capture_output=True, text=True, check=False, env={})

    assert (done.returncode, done.stdout) == (89, "")
    assert "cannot be imported here" in done.stderr


@pytest.mark.parametrize(
    ("exception", "name"),
    [
        ("CommitFailedError", "COMMIT_FAILED"),
        ("KafkaTimeoutError", "KAFKA_TIMEOUT"),
        ("KafkaError", "KAFKA_ERROR"),
        ("RetriableCommitFailedException", "RETRIABLE_COMMIT_FAILED"),
        ("IOError", "IO"),
        ("Exception", "EXCEPTION"),
    ],
)
def test_an_exception_without_an_error_code_is_reported_by_its_own_name(exception: str, name: str) -> None:
    assert upper_snake(exception) == name


def test_a_client_without_asyncio_does_not_import_it() -> None:
    program = "import sys, groupproof_shim; print('asyncio' in sys.modules, groupproof_shim.AsyncMember.__name__)"
    process = subprocess.run([sys.executable, "-c", program], env={**os.environ, **ENV}, capture_output=True, text=True, check=True)
    assert process.stdout == "False AsyncMember\n"


def test_a_code_without_a_name_is_named_by_its_number() -> None:
    assert [name_of_code(27), name_of_code(999)] == ["REBALANCE_IN_PROGRESS", "CODE_999"]
