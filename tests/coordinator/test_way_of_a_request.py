"""The way of one request, from the socket to its answer, as a reader goes it who follows it through the files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import trio
import trio.testing
from tests.way import Way, followed

from groupproof.coordinator.broker.served_cluster import serve
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.message_codec import frame, read_response, warm, write_request

FILES_MAX = 12
CHANGES_MAX = 60
HEARTBEAT_FILES_MAX = 9
HEARTBEAT_CHANGES_MAX = 12

Ask = Callable[[Api, int, dict[str, Any]], Awaitable[tuple[Way, dict[str, Any]]]]


def _asked(use: Callable[[Ask], Awaitable[None]]) -> None:
    """Let `use` ask one broker over a loopback socket, whose initial delay is 0 and whose trace nobody hears."""

    async def run() -> None:
        warm([Api.JOIN_GROUP, Api.HEARTBEAT])
        recorder = Recorder(lambda: 0, keeps=False)
        async with trio.open_nursery() as nursery:
            serving = await nursery.start(partial(serve, ports=(0,), recorder=recorder, settings={"group.initial.rebalance.delay.ms": 0}))
            stream = await trio.open_tcp_stream(*serving.addresses[0])

            async def ask(api: Api, version: int, body: dict[str, Any]) -> tuple[Way, dict[str, Any]]:
                request = frame(write_request(api, version, 1, "c", body))
                await trio.testing.wait_all_tasks_blocked()
                with followed() as way:
                    await stream.send_all(request)
                    answer = bytes(await stream.receive_some())
                return way, read_response(api, version, answer[4:])[1]

            async with stream:
                with trio.fail_after(120):
                    await use(ask)
            nursery.cancel_scope.cancel()

    trio.run(run)


def _join(member_id: str, group: str = "g") -> dict[str, Any]:
    protocols = ({"name": "range", "metadata": bytes(10)},)
    return {
        "group_id": group,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": protocols,
    }


async def _first_join(ask: Ask, group: str = "g") -> tuple[Way, dict[str, Any]]:
    """Return the way of the JoinGroup that forms a group of one: the member is admitted, the join phase ends, the generation begins."""
    refused = (await ask(Api.JOIN_GROUP, 9, _join("", group)))[1]
    assert refused["error_code"] == ErrorCode.MEMBER_ID_REQUIRED
    return await ask(Api.JOIN_GROUP, 9, _join(refused["member_id"], group))


def test_a_join_group_from_the_socket_to_its_answer_stays_in_few_files() -> None:
    async def use(ask: Ask) -> None:
        await _first_join(ask, "before")  # what is made once is made
        way, answer = await _first_join(ask)

        assert (answer["error_code"], answer["generation_id"], len(answer["members"])) == (0, 1, 1)
        assert way.called("Group.next_generation") == 1, "the way is that of a whole join phase"
        assert len(way.files) <= FILES_MAX, "\n".join(way.files)
        assert way.changes <= CHANGES_MAX

    _asked(use)


def test_a_join_group_is_converted_once_on_its_way_in_and_once_on_its_way_out() -> None:
    async def use(ask: Ask) -> None:
        await _first_join(ask, "before")
        way, _ = await _first_join(ask)

        assert (way.called("read_request"), way.called("write_answer")) == (1, 1)
        assert not [file for file in way.files if file.endswith(("message_conversion.py", "observation_columns.py"))]

    _asked(use)


def test_a_heartbeat_from_the_socket_to_its_answer_stays_in_few_files() -> None:
    async def use(ask: Ask) -> None:
        member_id = (await _first_join(ask))[1]["member_id"]
        beat = {"group_id": "g", "generation_id": 1, "member_id": member_id}
        await ask(Api.SYNC_GROUP, 3, {**beat, "assignments": ({"member_id": member_id, "assignment": b"x"},)})
        for _ in range(2):  # the machine remembers the first one's answer, and the connection how the second one's is written
            await ask(Api.HEARTBEAT, 4, beat)
        way, answer = await ask(Api.HEARTBEAT, 4, beat)

        assert answer["error_code"] == ErrorCode.NONE
        assert len(way.files) <= HEARTBEAT_FILES_MAX, way.files
        assert way.changes <= HEARTBEAT_CHANGES_MAX

    _asked(use)


def test_a_way_is_described_by_files_changes_and_functions() -> None:
    with followed() as way:
        frame(b"")
        frame(b"")
        Recorder(lambda: 0)

    assert way.files == ["protocol/groupproof/protocol/wire/message_codec.py", "protocol/groupproof/protocol/trace.py"]
    assert (way.changes, way.called("frame")) == (1, 2)
