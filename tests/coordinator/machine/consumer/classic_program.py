"""A program with a member of the classic protocol, in the drawn histories of mixed groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.coordinator.machine.consumer.consumer_histories import Partition

__all__ = ["ClassicProgram"]


@dataclass(slots=True)
class ClassicProgram:
    """A classic member as it knows itself. It keeps its partitions through a rebalance, and gives up what it lost before it joins again (KIP-429)."""

    client_id: str
    instance_id: str | None
    names: tuple[str, ...]
    member_id: str = ""
    generation: int = -1
    token: int | None = None  # of a JoinGroup or SyncGroup without an answer yet
    joins: bool = True  # it has to send a JoinGroup
    leads: tuple[Any, ...] | None = None  # the members' list, where it leads
    is_parked_sync: bool = False
    held: set[Partition] = field(default_factory=set)
