"""A Manager of DataLink in front of scripted workers, in virtual time."""

from __future__ import annotations

import random
from typing import Any

from tests.coordinator.conftest import Asked, Scene

from groupproof.coordinator.machine.coordinator import Coordinator, Settings
from groupproof.coordinator.machine.storage import StoredGroups
from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.protocol.vocabulary import GroupState
from groupproof.protocol.wire.messages import JoinGroupResponse

__all__ = ["Manager"]


class Manager(Scene):
    """The Manager's scene: joins are those of workers, JoinGroup v1 and SyncGroup v0; `switch` makes the standby Manager the active one."""

    def __init__(self, profile: str = "datalink", *, variant: Variant = REFERENCE, **settings: int) -> None:
        super().__init__(profile, **settings)
        self.variant = variant
        self.coordinator = self._active(1)

    def _active(self, seed: int) -> Coordinator:
        return Coordinator(
            profile=self.profile,
            settings=Settings.of({}, self.profile),
            random=random.Random(seed),
            partitions=[0] * (seed > 0),
            variant=self.variant,
        )

    def join(self, member_id: str = "", **options: Any) -> Asked[JoinGroupResponse]:
        asked = {
            "version": 1,
            "protocol_type": "datalink",
            "protocols": ("default",),
            "rebalance_ms": 60_000,
            "metadata": b"",
            "client": "w",
            **options,
        }
        return super().join(member_id, **asked)

    def formed(self, workers: int, group: str = "g") -> list[str]:
        """Let workers join one after the other, all others again each time; return the ids, the first joiner's first, in AwaitingSync."""
        ids: list[str] = []
        for _ in range(workers):
            asked = [self.join(group=group), *(self.join(id, metadata=f"{len(ids)}".encode(), group=group) for id in ids)]
            assert not any(request.is_parked for request in asked)
            ids = [*ids, asked[0].answer.member_id]
        assert self.state(group) is GroupState.COMPLETING_REBALANCE
        return ids

    def settled(self, workers: int, group: str = "g") -> list[str]:
        """Let workers form a group and become Stable; return the ids, the leader's first."""
        ids = self.formed(workers, group)
        leader = self.view(group).leader
        ids.sort(key=lambda id: id != leader)
        generation = self.view(group).generation
        for name in reversed(ids):
            self.sync(name, generation, {one: one.encode() for one in ids} if name == leader else None, version=0, group=group)
        assert self.state(group) is GroupState.STABLE
        return ids

    def switch(self) -> Coordinator:
        """Let the other Manager be the active one; return the one that was, which now is the standby."""
        before, self.coordinator = self.coordinator, self._active(2)
        self.take(before.unload(0, self.now_ms))
        self.take(self.coordinator.load(0, StoredGroups(), self.now_ms))
        return before
