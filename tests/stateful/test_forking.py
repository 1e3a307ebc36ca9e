"""Copies of a coordinator: each goes its own way, and none copies a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from random import Random
from typing import Any

import pytest
from tests.stateful.forking import forked

from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, Output, Reply, Settings
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import (
    GroupRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    LeaveGroupRequest,
    LeaveMember,
    SyncGroupRequest,
)

PROFILES = ("kafka-1.1", "kafka-2.5", "kafka-4.1")


def _machine(profile: str) -> Coordinator:
    return Coordinator(profile=profile, settings=Settings(group_initial_rebalance_delay_ms=0), random=Random(7))


def _asked(machine: Coordinator, token: int, message: GroupRequest) -> Any:
    arrival = Arrival(token=token, api_version=3, client_id="c", client_host="/h")
    return _answer(machine.handle(message, arrival, 1_000), token)


def _answer(outputs: list[Output], token: int) -> Any:
    return next(output.message for output in outputs if isinstance(output, Reply) and output.token == token)


def _with_a_member(profile: str) -> tuple[Coordinator, HeartbeatRequest]:
    """Return a machine with a Stable group, and the heartbeat of its member."""
    machine = _machine(profile)
    protocols = (JoinProtocol(name="range", metadata=b""),)
    asks = JoinGroupRequest(group_id="g", session_timeout_ms=10_000, rebalance_timeout_ms=10_000, protocols=protocols, protocol_type="tck")
    joined = _asked(machine, 1, asks)
    assert isinstance(joined, JoinGroupResponse)
    beat = HeartbeatRequest(group_id="g", member_id=joined.member_id, generation_id=joined.generation_id)
    assert not _asked(machine, 2, SyncGroupRequest(group_id="g", member_id=joined.member_id, generation_id=joined.generation_id)).error_code
    return machine, beat


@pytest.mark.parametrize("profile", PROFILES)
def test_what_befalls_a_copy_does_not_befall_the_machine_nor_the_reverse(profile: str) -> None:
    machine, beat = _with_a_member(profile)
    copy = forked(machine)

    _asked(copy, 3, LeaveGroupRequest(group_id="g", members=(LeaveMember(member_id=beat.member_id),)))

    assert _asked(copy, 4, beat) == HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
    assert _asked(machine, 5, beat) == HeartbeatResponse(error_code=ErrorCode.NONE)
    assert _asked(forked(copy), 6, beat) == HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
    assert _asked(forked(machine), 7, beat) == HeartbeatResponse(error_code=ErrorCode.NONE)


def _tables_of(part: Any, tables: Any) -> Iterator[str]:
    """Yield which attributes are parts of the tables that a machine looks its steps up in."""
    shared = {id(getattr(tables, item.name)) for item in fields(tables) if getattr(tables, item.name) is not None}
    return (name for name, value in vars(part).items() if id(value) in shared)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_copy_shares_every_table_of_its_profile(profile: str) -> None:
    machine = _machine(profile)
    copy = forked(machine)

    for part, other in ((machine, copy), (machine._engine, copy._engine)):
        assert (names := list(_tables_of(part, machine._engine.tables)))
        assert [name for name in names if getattr(part, name) is not getattr(other, name)] == []
