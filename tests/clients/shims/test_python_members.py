"""A member in its thread: commands run between polls, events precede answers, and after a close nothing is lost."""

from __future__ import annotations

import importlib.util
import selectors
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
from tests.clients.shims.driver import Shim, running, subscribe_fields
from tests.clients.shims.test_python_process import ENV, PROGRAM


def _subscribed(story: Callable[[Shim], Awaitable[None]], **fields: object) -> None:
    async def main() -> None:
        async with running(PROGRAM, ENV) as shim:
            answer = await shim.ask("subscribe", "m0", **subscribe_fields(poll_timeout_ms=5, **fields))
            assert answer["ok"] is True
            await story(shim)

    trio.run(main)


def test_startup_complete_precedes_the_answer_to_subscribe() -> None:
    async def story(shim: Shim) -> None:
        assert shim.of("m0")[:2] == ["startup_complete", "answer"]

    _subscribed(story)


def test_partitions_and_records_are_reported_in_the_contracts_form() -> None:
    async def story(shim: Shim) -> None:
        records = await shim.event("records_consumed", "m0")
        assigned = await shim.event("partitions_assigned", "m0")

        assert assigned["partitions"] == [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 1}]
        assert (assigned["member_id"], assigned["generation"]) == ("id-1", 1)
        assert records["partitions"] == [{"topic": "t", "partition": 0, "minOffset": 0, "maxOffset": 4, "count": 5}]
        assert records["count"] == 5

    _subscribed(story)


def test_a_sync_commit_is_reported_by_its_event_and_then_by_its_answer() -> None:
    async def story(shim: Shim) -> None:
        await shim.event("records_consumed", "m0")
        before = len(shim.lines)
        answer = await shim.ask("commit", "m0", mode="sync", offsets=[["t", 0, 3]])

        assert answer["offsets"] == [["t", 0, 3]]
        assert shim.of("m0", before) == ["offsets_committed", "answer"]
        assert shim.lines[before]["offsets"] == [{"topic": "t", "partition": 0, "offset": 3}]

    _subscribed(story)


def test_a_commit_without_offsets_tells_the_current_positions() -> None:
    async def story(shim: Shim) -> None:
        assert (await shim.ask("commit", "m0", mode="sync"))["offsets"] == [["t", 0, 5]]

    _subscribed(story)


def test_a_refused_commit_is_reported_twice_and_is_not_fatal() -> None:
    async def story(shim: Shim) -> None:
        answer = await shim.ask("commit", "m0", mode="sync", offsets=[["t", 0, 13]])
        event = await shim.event("offsets_committed", "m0")

        assert (answer["error"], answer["fatal"]) == ("REBALANCE_IN_PROGRESS", False)
        assert (event["success"], event["error"]) == (False, "REBALANCE_IN_PROGRESS")

    _subscribed(story)


def test_positions_and_commits_are_asked_for_the_assignment_or_for_what_is_named() -> None:
    async def story(shim: Shim) -> None:
        assert (await shim.ask("position", "m0"))["offsets"] == [["t", 0, 5], ["t", 1, 5]]
        assert (await shim.ask("committed", "m0", partitions=[["t", 0]]))["offsets"] == [["t", 0, -1]]
        assert (await shim.ask("position", "m0", partitions=[["t", 9]]))["error"] == "ILLEGAL_STATE"

    _subscribed(story)


def test_an_error_of_poll_is_reported_and_polling_continues() -> None:
    async def story(shim: Shim) -> None:
        error = await shim.event("error", "m0")
        before = len(shim.lines)
        await shim.ask("resubscribe", "m0", topics=["t"])
        await shim.event("records_consumed", "m0", after=before)

        assert (error["error"], error["fatal"]) == ("UNKNOWN_SERVER_ERROR", False)

    _subscribed(story, topics=["boom"])


def test_after_a_fatal_error_nothing_polls_until_resume() -> None:
    async def story(shim: Shim) -> None:
        await shim.event("error", "m0", fatal=True)
        await shim.ask("assignment", "m0")
        assert shim.of("m0").count("error") == 1

        before = len(shim.lines)
        await shim.ask("resume", "m0")
        await shim.event("error", "m0", after=before, error="FENCED_INSTANCE_ID")

    _subscribed(story, topics=["fatal"])


def test_a_paused_member_polls_no_more() -> None:
    async def story(shim: Shim) -> None:
        await shim.event("records_consumed", "m0")
        await shim.ask("pause", "m0")
        await shim.ask("unsubscribe", "m0")
        before = len(shim.lines)
        await shim.ask("assignment", "m0")
        assert shim.of("m0", before) == ["answer"]

        await shim.ask("resubscribe", "m0", topics=["t"])
        await shim.event("records_consumed", "m0", after=before)

    _subscribed(story)


def test_a_close_that_cannot_be_forced_so_leaves_the_member_open() -> None:
    async def story(shim: Shim) -> None:
        assert (await shim.ask("close", "m0", leave=False))["unimplemented"] == "it always leaves"
        assert (await shim.ask("assignment", "m0"))["ok"] is True

    _subscribed(story)


def test_a_close_that_fails_still_ends_the_member() -> None:
    async def story(shim: Shim) -> None:
        answer = await shim.ask("close", "m0")

        assert answer["error"] == "REQUEST_TIMED_OUT"
        assert shim.of("m0")[-2:] == ["shutdown_complete", "answer"]
        assert (await shim.ask("assignment", "m0"))["error"] == "ILLEGAL_STATE"

    _subscribed(story, topics=["stubborn"])


def test_a_closed_members_name_can_subscribe_again_at_once() -> None:
    async def story(shim: Shim) -> None:
        for _ in range(5):
            await shim.ask("close", "m0")
            assert (await shim.ask("subscribe", "m0", **subscribe_fields()))["ok"] is True

    _subscribed(story)


def test_every_command_is_answered_once_even_behind_a_close() -> None:
    async def story(shim: Shim) -> None:
        numbers = [await shim.send(command, "m0") for command in ("pause", "close", "assignment", "resume", "position")]
        answers = [await shim.answer(number) for number in numbers]

        assert [answer.get("error") for answer in answers] == [None, None, "ILLEGAL_STATE", "ILLEGAL_STATE", "ILLEGAL_STATE"]

    _subscribed(story)


def test_a_member_that_could_not_subscribe_can_try_again() -> None:
    async def story(shim: Shim) -> None:
        refused = await shim.ask("subscribe", "m1", **subscribe_fields(group="refused"))
        assert (refused["error"], refused["fatal"]) == ("INVALID_GROUP_ID", True)
        assert (await shim.ask("subscribe", "m1", **subscribe_fields()))["ok"] is True
        assert (await shim.ask("subscribe", "m1", **subscribe_fields()))["error"] == "ILLEGAL_STATE"

    _subscribed(story)


def test_what_selectors_raises_of_a_closed_socket_is_known_from_other_errors() -> None:
    """kafka-python-ng unregisters a socket that it has closed in the same round (`KafkaClient._poll`)."""
    path = Path(ENV["PYTHONPATH"]) / "groupproof_shim/problems.py"
    spec = importlib.util.spec_from_file_location("problems_of_the_shim", path)
    assert spec is not None
    assert spec.loader is not None
    problems = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(problems)

    closed = socket.socket()
    closed.close()
    with selectors.DefaultSelector() as selector, pytest.raises(ValueError, match="Invalid file descriptor") as raised:
        selector.unregister(closed)
    assert problems.is_of_a_closed_socket(raised.value)
    assert not problems.is_of_a_closed_socket(ValueError("Invalid topic"))
    assert not problems.is_of_a_closed_socket(KeyError("Invalid file descriptor: -1"))
