"""A SyncGroup that brings no assignment is parked or answered at once: the machine does what one does that asks the table for each of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.coordinator.machine.twin_machines import Twins

from groupproof.coordinator.machine.bound_tables import bound_tables
from groupproof.coordinator.machine.coordinator import partition_of
from groupproof.coordinator.machine.machine_outputs import MemberView
from groupproof.coordinator.machine.plain_syncs import _are_answered, _are_parked
from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.protocol.rules import known_profiles, profile
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import JoinGroupRequest, JoinProtocol, LeaveGroupRequest, LeaveMember, SyncAssignment, SyncGroupRequest

NAMES = ("a", "b", "c", "s")
STEPS = 200
RANGE = JoinProtocol(name="range", metadata=b"")


class Syncs:
    """What four members of a group do, the last of them static, drawn step by step; SyncGroups are most of it."""

    def __init__(self, profile: str, seed: int) -> None:
        self.draw = random.Random(seed)
        self.twins = Twins(profile, group_initial_rebalance_delay_ms=0)

    @property
    def members(self) -> Sequence[MemberView]:
        view = self.twins.keeping.view("k")
        return () if view is None else view.members

    def run(self) -> None:
        for _ in range(STEPS):
            steps = (self._all_join, self._joins, self._syncs, self._leader_syncs, self._syncs_otherwise, self._leaves, self._befalls)
            self.draw.choices(steps, (4, 1, 14, 3, 6, 1, 1))[0]()
            self.twins.now_ms += self.draw.choice((0, 1, 1, 50, 11_000 if self.draw.random() < 0.1 else 3))
            if self.draw.random() < 0.7:
                self.twins.both(lambda machine: machine.advance(self.twins.now_ms))
            self.twins.are_alike()

    def _joins(self, member_id: str = "", instance_id: str | None = None) -> Any:
        asks = JoinGroupRequest(
            group_id="k",
            member_id=member_id,
            group_instance_id=instance_id,
            protocols=(RANGE,),
            session_timeout_ms=10_000,
            rebalance_timeout_ms=20_000,
        )
        return self.twins.ask(asks, version=3)

    def _all_join(self) -> None:
        """Let everybody join, and as many come as are missing: then the join phase is over, most often."""
        for member in self.members:
            self._joins(member.member_id, member.group_instance_id)
        for _ in NAMES[len(self.members) :]:
            self._joins(instance_id=None if any(member.group_instance_id for member in self.members) else "i")
        for member in self.members:
            if member.parked is None:
                self._joins(member.member_id, member.group_instance_id)

    def _sync_of(self, member: MemberView) -> SyncGroupRequest:
        view = self.twins.keeping.view("k")
        generation = 0 if view is None else view.generation
        shares = tuple(SyncAssignment(member_id=other.member_id, assignment=other.member_id.encode()) for other in self.members)
        return SyncGroupRequest(
            group_id="k", generation_id=generation, member_id=member.member_id, group_instance_id=member.group_instance_id, assignments=shares
        )

    def _syncs(self) -> None:
        for member in self.draw.sample(self.members, len(self.members)):
            if not member.is_leader:
                self._asks(self._sync_of(member))

    def _leader_syncs(self) -> None:
        for member in self.members:
            if member.is_leader:
                self._asks(self._sync_of(member))

    def _asks(self, request: SyncGroupRequest, **says: Any) -> None:
        """Ask in a version that names the protocol as it is due, or in one that does not, but for what it `says` otherwise."""
        if self.draw.random() < 0.5:
            self.twins.ask(replace(request, **says), version=3)
        else:
            self.twins.ask(replace(request, **{"protocol_type": "consumer", "protocol_name": "range", **says}), version=5)

    def _syncs_otherwise(self) -> None:
        """Let members sync with something that is not their own, among others of their group."""
        wrong: Sequence[dict[str, Any]] = (
            {"group_instance_id": "i"}, {"group_instance_id": "j"}, {"group_instance_id": None}, {"generation_id": 0}, {"member_id": "x"}, {"protocol_type": "x"},
            {"protocol_name": "x"}, {"protocol_type": None}, {"protocol_name": None}, {"group_id": ""}, {"group_id": "g"},
        )  # fmt: skip
        for member in self.members:
            self._asks(self._sync_of(member), **self.draw.choice(wrong))

    def _leaves(self) -> None:
        if self.members:
            self.twins.ask(LeaveGroupRequest(group_id="k", members=(LeaveMember(member_id=self.draw.choice(self.members).member_id),)))

    def _befalls(self) -> None:
        """Let the log refuse records, the broker be about to stop, or the partition be read, while somebody syncs; or the partition move and come back."""
        partition = partition_of("k", self.twins.keeping.settings.offsets_topic_num_partitions)
        match self.draw.randrange(4):
            case 0:
                self.twins.both(lambda machine: setattr(machine, "append_error", ErrorCode.NOT_ENOUGH_REPLICAS))
                self._syncs()
                self._leader_syncs()
                self.twins.both(lambda machine: setattr(machine, "append_error", ErrorCode.NONE))
            case 1:
                self.twins.both(lambda machine: setattr(machine, "active", False))
                self._syncs()
                self.twins.both(lambda machine: setattr(machine, "active", True))
            case 2:
                self.twins.both(lambda machine: machine.begin_load(partition))
                self._syncs()
                self.twins.both(lambda machine: machine._loading.discard(partition))
            case _:
                stored = self.twins.both(lambda machine: machine.stored(partition))
                self.twins.both(lambda machine: machine.unload(partition, self.twins.now_ms))
                self.twins.both(lambda machine: machine.load(partition, stored, self.twins.now_ms))


@pytest.mark.parametrize("profile", ["kafka-2.5", "kafka-3.3", "kafka-4.1", "kafka-4.4"])
def test_a_machine_that_parks_and_answers_at_once_does_what_one_does_that_asks_the_table(profile: str) -> None:
    parked: list[bool] = []
    answered: list[bool] = []
    for seed in range(4):
        history = Syncs(profile, seed)
        history.run()
        parked += [is_parked for message, is_parked in history.twins.parked if message is SyncGroupRequest]
        answered += [answer is not None for message, _, answer in history.twins.short if message is SyncGroupRequest]

    assert sum(parked) > STEPS // 10, "few SyncGroups only wait: the histories show nothing"
    assert (sum(answered) > STEPS // 2) == (profile >= "kafka-4"), "before, a SyncGroup in a Stable group began the session anew"
    assert not all(parked), "the table is never in between"


def test_releases_with_another_row_for_it_ask_the_table() -> None:
    tables = {name: bound_tables(profile(name), REFERENCE) for name in known_profiles()}

    assert {name for name in tables if not _are_parked(tables[name])} == {"datalink", "datalink-dead"}
    assert {name for name in tables if _are_answered(tables[name])} == {
        "kafka-3.7-new", "kafka-3.9-new", "kafka-4.0", "kafka-4.1", "kafka-4.2", "kafka-4.3", "kafka-4.4",
    }  # fmt: skip
