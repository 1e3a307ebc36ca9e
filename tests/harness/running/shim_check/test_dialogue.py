from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable

import pytest
import trio
from tests.harness.commands.calling import ODD_SHIM

from groupproof.harness.running.shim_check.dialogue import MemberDialogue, Stop, WatchedShim
from groupproof.harness.subjects.shims.shim_process import Program
from groupproof.protocol.trace import Recorder

pytestmark = pytest.mark.slow


def talking(part: Callable[[MemberDialogue], Awaitable[None]], oddity: str = "none") -> list[str]:
    """Return the problems that a dialogue with a shim comes upon."""
    problems: list[str] = []

    async def main() -> None:
        shim = WatchedShim(Program(argv=(sys.executable, str(ODD_SHIM), oddity)), problems.append)
        async with trio.open_nursery() as nursery:
            await nursery.start(shim.run)
            await shim.conversation.wait_for_hello()
            try:
                await part(MemberDialogue(shim, Recorder(lambda: 0), problems.append, group="g"))
            except Stop:
                problems.append("stopped")
            nursery.cancel_scope.cancel()

    trio.run(main)
    return problems


def test_a_refusal_of_what_every_shim_has_is_a_problem_and_ends_nothing() -> None:
    async def part(dialogue: MemberDialogue) -> None:
        answer = await dialogue.ask_well("assignment")
        assert not answer.ok

    (problem,) = talking(part)
    assert problem.startswith("assignment is answered with error")


def test_a_shim_that_refuses_to_subscribe_hears_what_it_can_do_instead() -> None:
    async def part(dialogue: MemberDialogue) -> None:
        await dialogue.subscribe("127.0.0.1:1")

    problem, *_ = talking(part, "has no subscribe")
    assert "which every shim has; a field that the client cannot have, such as an assignor, can be left untaken" in problem


def test_what_is_asked_and_answered_stands_in_the_trace() -> None:
    async def part(dialogue: MemberDialogue) -> None:
        since = dialogue.now
        await dialogue.ask("assignment")
        assert [obs.body["name"] for obs in dialogue.trace] == ["hello", "command", "answer"]
        assert dialogue.answered(since) == 2
        assert dialogue.can("classic")

    assert talking(part) == []


def test_an_end_instead_of_an_answer_is_a_problem_that_ends_the_part() -> None:
    async def part(dialogue: MemberDialogue) -> None:
        await dialogue.subscribe("127.0.0.1:1")

    problem, end = talking(part, "crashes on subscribe")
    assert problem.startswith("the shim exited with status 7 instead of answering subscribe")
    assert end == "stopped"


def test_an_event_that_does_not_come_is_none() -> None:
    async def part(dialogue: MemberDialogue) -> None:
        assert await dialogue.event("shutdown_complete", since=dialogue.began, within_s=0) is None

    assert talking(part) == []
