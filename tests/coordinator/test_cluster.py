"""The cluster as a whole: groups form over it, brokers agree on the coordinator, and a move keeps or loses what it should."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from groupproof.protocol.faults import Move
from groupproof.protocol.vocabulary import Api, GroupState
from tests.coordinator.helpers import Client, Stage, assigned, staged, virtually


@virtually
async def test_two_members_form_a_group_commit_and_leave() -> None:
    async with staged() as stage:
        first, second = await stage.stable("m0", "m1")

        view = stage.cluster.view("g")
        assert view is not None
        assert view.state is GroupState.STABLE
        assert [await each.heartbeat() for each in (first, second)] == [0, 0]
        assert await first.commit(7, 0) == [0]
        answer = await second.ask(Api.OFFSET_FETCH, {"groups": ({"group_id": "g", "topics": ({"name": "t", "partition_indexes": (0,)},)},)})
        assert answer["groups"][0]["topics"][0]["partitions"][0]["committed_offset"] == 7
        assert await second.leave() == 0
        assert await first.heartbeat() == 27


@virtually
async def test_a_silent_member_is_gone_when_its_session_ends() -> None:
    async with staged() as stage:
        first, second = await stage.stable("m0", "m1")

        for _ in range(9):
            await trio.sleep(2)
            last = await first.heartbeat()
        assert last == 27
        expired = stage.seen("timer", rule="SessionEnd/Stable/session-ends")
        assert [each.at_ms for each in expired] == [10_000.0]
        await second.stream.aclose()
