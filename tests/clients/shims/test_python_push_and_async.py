"""Members of Python clients that push, and of those on asyncio: the handler's gate, callbacks in pairs, what a client leaves out."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from groupproof_shim import AsyncMember, Lines, Partition, PushMember, Ranges, Subscribe, Unimplemented

T0, T1 = ("t", 0), ("t", 1)
RECORDS: Ranges = {T0: (0, 4, 5)}
WITHIN_S = 300.0


class Written(Lines):
    """Lines that are kept; whoever waits for one is woken."""

    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.lines: list[dict[str, Any]] = []
        self._changed = threading.Condition()

    def write(self, line: Mapping[str, Any]) -> None:
        with self._changed:
            self.lines.append(json.loads(json.dumps(line)))
            self._changed.notify_all()

    def answer(self, number: int) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            return next((line for line in self.lines if line.get("id") == number), None)

        with self._changed:
            answer = self._changed.wait_for(found, WITHIN_S)
        assert answer, self.lines
        return answer

    @property
    def names(self) -> list[str]:
        return [line.get("name", "answer") for line in self.lines]


class Pushed(PushMember):
    def open(self, subscribe: Subscribe) -> None:
        subscribe.take("group")

    def close(self, *, leave: bool | None) -> None:
        """There is nothing to end."""


class Awaited(AsyncMember):
    commits: list[dict[Partition, int]]

    async def open(self, subscribe: Subscribe) -> None:
        self.commits = []

    async def close(self) -> None:
        """There is nothing to end."""

    async def commit(self, offsets: Mapping[Partition, int] | None) -> None:
        self.commits.append(dict(self.consumed() if offsets is None else offsets))


class WaitsForHandlers(Awaited):
    """A client that ends when its handlers have, as FastStream's broker does."""

    async def close(self) -> None:
        await self.received(RECORDS)


class Session:
    """Asks a member and waits for its answers."""

    def __init__(self, member: PushMember | AsyncMember, written: Written) -> None:
        self.member, self.written, self._number = member, written, 0

    def ask(self, command: str, **fields: Any) -> dict[str, Any]:
        self._number += 1
        assert self.member.put({"id": self._number, "command": command, **fields})
        return self.written.answer(self._number)


@pytest.fixture
def pushed() -> Iterator[Session]:
    written = Written()
    session = Session(Pushed("m0", written), written)
    session.ask("subscribe", group="g", made_up=1, on_revoked={"commit": True})
    yield session
    if not session.member.ended.is_set():
        session.ask("close")


@pytest.fixture
def awaited() -> Iterator[Session]:
    written = Written()
    session = Session(Awaited("m0", written), written)
    session.ask("subscribe", on_revoked={"commit": True})
    yield session
    session.ask("close")


def _handed(session: Session) -> threading.Thread:
    assert isinstance(session.member, PushMember)
    handler = threading.Thread(target=session.member.received, args=(RECORDS,))
    handler.start()
    return handler


def test_subscribe_is_answered_with_what_was_ignored(pushed: Session) -> None:
    assert pushed.written.lines[-1] == {"id": 1, "ok": True, "ignored": ["made_up"], "member": "m0"}
    assert pushed.written.names == ["startup_complete", "answer"]


def test_a_paused_handler_keeps_its_records_until_resume(pushed: Session) -> None:
    pushed.ask("pause")
    handler = _handed(pushed)
    pushed.ask("assignment")
    assert "records_consumed" not in pushed.written.names
    pushed.ask("resume")
    handler.join(WITHIN_S)

    assert "records_consumed" in pushed.written.names
    assert pushed.ask("position", partitions=[["t", 0]])["offsets"] == [["t", 0, 5]]


def test_a_handler_that_is_paused_at_the_end_is_let_go_unreported(pushed: Session) -> None:
    pushed.ask("pause")
    handler = _handed(pushed)
    pushed.ask("close")
    handler.join(WITHIN_S)

    assert not handler.is_alive()
    assert "records_consumed" not in pushed.written.names


def test_callbacks_are_pairs_and_what_went_is_gone(pushed: Session) -> None:
    member = pushed.member
    assert isinstance(member, PushMember)
    member.assigned([T0, T1])
    member.revoked([T0])
    member.lost([T1])

    assert [name for name in pushed.written.names if name not in ("answer", "startup_complete")] == [
        "partitions_assigned", "callback_done", "partitions_revoked", "callback_done", "partitions_lost", "callback_done",
    ]  # fmt: skip
    assert pushed.ask("assignment")["partitions"] == []


@pytest.mark.parametrize("command", ["commit", "resubscribe", "unsubscribe", "committed"])
def test_what_a_client_leaves_out_is_no_feature(pushed: Session, command: str) -> None:
    answer = pushed.ask(command, topics=["u"], offsets=[["t", 0, 3]], partitions=[["t", 0]])

    assert "this client" in answer["unimplemented"]
    assert "offsets_committed" not in pushed.written.names


def test_asyncio_a_commit_names_what_was_received_and_its_event_comes_first(awaited: Session) -> None:
    member = awaited.member
    assert isinstance(member, AsyncMember)
    asyncio.run_coroutine_threadsafe(member.received(RECORDS), member.loop).result(WITHIN_S)
    answer = awaited.ask("commit", mode="sync")

    assert answer["offsets"] == [["t", 0, 5]]
    assert awaited.written.names[-2:] == ["offsets_committed", "answer"]


def test_asyncio_a_paused_handler_keeps_its_records_until_resume(awaited: Session) -> None:
    member = awaited.member
    assert isinstance(member, AsyncMember)
    awaited.ask("pause")
    handed = asyncio.run_coroutine_threadsafe(member.received(RECORDS), member.loop)
    awaited.ask("assignment")
    assert "records_consumed" not in awaited.written.names
    awaited.ask("resume")
    handed.result(WITHIN_S)

    assert "records_consumed" in awaited.written.names


@pytest.mark.parametrize("before", [[], ["pause"], ["pause", "resume"]])
def test_asyncio_a_client_that_waits_for_its_handlers_can_be_closed(before: list[str]) -> None:
    written = Written()
    session = Session(WaitsForHandlers("m0", written), written)
    session.ask("subscribe")
    for command in before:
        session.ask(command)

    assert session.ask("close")["ok"]
    # afkak and kafkajs commit at their close what a handler got meanwhile; a paused application got nothing.
    assert ("records_consumed" in written.names) is (before != ["pause"])
    assert written.names[-2:] == ["shutdown_complete", "answer"]


def test_asyncio_what_goes_is_there_until_the_application_has_committed(awaited: Session) -> None:
    member = awaited.member
    assert isinstance(member, Awaited)
    member.assigned([T0])
    asyncio.run_coroutine_threadsafe(member.received(RECORDS), member.loop).result(WITHIN_S)
    asyncio.run_coroutine_threadsafe(member.revoked([T0]), member.loop).result(WITHIN_S)

    assert member.commits == [{T0: 5}]
    assert awaited.written.names[-3:] == ["partitions_revoked", "offsets_committed", "callback_done"]
    assert awaited.ask("assignment")["partitions"] == []


def test_a_forced_leave_is_no_feature(pushed: Session) -> None:
    assert "by itself" in pushed.ask("close", leave=True)["unimplemented"]
    assert issubclass(Unimplemented, Exception)
