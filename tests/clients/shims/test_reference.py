"""The process behind the contract: hello, lines that are no commands, many members, and its end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
import trio
import trio.testing

from groupproof.clients.planted.member_variants import UnknownVariant
from groupproof.clients.shims.reference import CAPABILITIES, run_shim
from groupproof.protocol.vocabulary import Api

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.clients.conftest import Pair

WITHIN_S = 300.0
"""A bound for a busy machine; nothing here is judged by time."""


async def nowhere(_host: str, _port: int) -> trio.abc.Stream:
    raise ConnectionRefusedError("nobody listens")


def said_to(*lines: str, variant: str | None = None) -> list[dict[str, Any]]:
    """Return what the shim says to these lines and then the end of its input."""
    printed: list[dict[str, Any]] = []

    async def main() -> None:
        async def input_lines() -> AsyncIterator[str]:
            for line in lines:
                yield line
                await trio.testing.wait_all_tasks_blocked()

        async def emit(line: str) -> None:
            printed.append(json.loads(line))

        await run_shim(input_lines(), emit, nowhere, seed=1, variant=variant)

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return printed


def test_hello_comes_first_and_says_what_it_can() -> None:
    (hello,) = said_to()

    assert (hello["name"], hello["contract"], hello["client"], hello["capabilities"]) == ("hello", 1, "groupproof", list(CAPABILITIES))
    assert {"classic", "commit", "commit-async", "auto-commit", "pause", "static", "cooperative", "resubscribe", "multi"} <= set(CAPABILITIES)


def test_a_command_that_nobody_knows_is_unimplemented() -> None:
    assert said_to('{"id":7,"command":"levitate"}')[1:] == [{"id": 7, "unimplemented": "no command levitate"}]


def test_lines_that_are_no_commands_are_passed_over() -> None:
    assert len(said_to("", "hello", "[]", '{"id":1}', '{"command":5}', "{")) == 1


def test_a_command_for_a_member_that_is_not_there_is_refused() -> None:
    assert said_to('{"id":7,"command":"pause","member":"m9"}')[1]["error"] == "ILLEGAL_STATE"


@pytest.mark.parametrize(
    ("fields", "key"),
    [({}, "error"), ({"protocol": "share"}, "unimplemented"), ({"properties": {"groupproof.variant": "zzz"}}, "error")],
)
def test_a_subscription_that_cannot_be_is_refused(fields: dict[str, Any], key: str) -> None:
    least = {"bootstrap": "a:1", "group": "g", "topics": ["t"]} if fields else {}
    line = json.dumps({"id": 1, "command": "subscribe", **least, **fields})

    assert key in said_to(line)[1]


def test_the_end_of_input_closes_what_is_open_and_exit_is_answered_first() -> None:
    subscribe = json.dumps({"id": 1, "command": "subscribe", "bootstrap": "a:1", "group": "g", "topics": ["t"]})

    assert [entry.get("name") or entry.get("id") for entry in said_to(subscribe)] == ["hello", "startup_complete", 1, "shutdown_complete"]
    assert [entry.get("name") or entry.get("id") for entry in said_to(subscribe, '{"id":2,"command":"exit"}')][-2:] == [2, "shutdown_complete"]


def test_an_unknown_variant_is_an_error_before_anything_is_said() -> None:
    with pytest.raises(UnknownVariant):
        said_to(variant="zzz")


@pytest.mark.parametrize(
    ("variant", "lacks", "fields"),
    [("join-v3", "static", {"instance_id": "i0"}), ("subscription-v0", "cooperative", {"assignors": ["cooperative-sticky"]})],
)
def test_a_client_whose_versions_lack_a_feature_says_so(variant: str, lacks: str, fields: dict[str, Any]) -> None:
    line = json.dumps({"id": 1, "command": "subscribe", "bootstrap": "a:1", "group": "g", "topics": ["t"], **fields})
    hello, answer = said_to(line, variant=variant)

    assert lacks not in hello["capabilities"]
    assert lacks in answer["unimplemented"]


def test_three_members_form_a_group_consume_commit_and_leave(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0", "m1", "m2")
        await pair.settled("m0", "m1", "m2")

        owned = [set(map(str, (await pair.ask(name, "assignment"))["partitions"])) for name in ("m0", "m1", "m2")]
        assert sorted(map(len, owned)) == [1, 1, 2]
        assert len(set().union(*owned)) == 4
        await pair.until(lambda: all(pair.events(name, "records_consumed") for name in ("m0", "m1", "m2")))
        committed = await pair.ask("m1", "commit", mode="sync")
        assert [offset for *_, offset in committed["offsets"]] == [20] * len(committed["offsets"])
        assert (await pair.ask("m1", "committed"))["offsets"] == committed["offsets"]

        await pair.ask("m0", "close")
        await pair.settled("m1", "m2")
        await pair.ask("m1", "close")
        await pair.ask("m2", "close")
        assert len(pair.requests(Api.LEAVE_GROUP, "m2")) == 1

    tell(story)


def test_a_name_can_be_used_again_but_not_twice(tell: Callable[..., None]) -> None:
    async def story(pair: Pair) -> None:
        await pair.start("m0")
        twice = await pair.ask("m0", "subscribe", bootstrap="a:1", group="g", topics=["t"])
        assert twice["error"] == "ILLEGAL_STATE"
        await pair.ask("m0", "close")
        await pair.start("m0")
        await pair.settled("m0")

    tell(story)


def process(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "groupproof.clients.shims.reference", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["exit", "end of input", "SIGTERM"])
def test_the_program_speaks_on_stdio_and_ends_in_order(ending: str) -> None:
    with process() as shim:
        assert shim.stdin is not None
        assert shim.stdout is not None
        assert json.loads(shim.stdout.readline())["name"] == "hello"
        if ending == "exit":
            shim.stdin.write('{"id":1,"command":"exit"}\n')
            shim.stdin.flush()
            assert json.loads(shim.stdout.readline()) == {"id": 1, "ok": True}
        elif ending == "SIGTERM":
            shim.send_signal(signal.SIGTERM)
        shim.stdin.close()
        assert shim.wait(WITHIN_S) == 0


@pytest.mark.slow
def test_the_program_refuses_an_unknown_variant_with_the_nearest() -> None:
    with process("--variant", "leave-twice") as shim:
        assert shim.wait(WITHIN_S) == 2
        assert shim.stderr is not None
        assert "did you mean leaves-twice" in shim.stderr.read()
