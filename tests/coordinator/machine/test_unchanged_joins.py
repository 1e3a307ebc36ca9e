"""A JoinGroup that brings nothing new, while others are missing, is parked at once: the machine does what one does that asks the table for each of them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.coordinator.machine.twin_machines import Twins

from groupproof.coordinator.machine.bound_tables import bound_tables
from groupproof.coordinator.machine.coordinator import partition_of
from groupproof.coordinator.machine.unchanged_joins import _rule_of
from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.protocol.rules import known_profiles, profile
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinProtocol,
    LeaveGroupRequest,
    LeaveMember,
    SyncAssignment,
    SyncGroupRequest,
)

NAMES = ("a", "b", "c", "d", "s")
STEPS = 200
RANGE, STICKY = (JoinProtocol(name=name, metadata=b"") for name in ("range", "sticky"))
SIZE_MAX = 3


class Rebalances:
    """What five members of a group do, the last of them static, drawn step by step; JoinGroups are most of it."""

    def __init__(self, profile: str, seed: int) -> None:
        self.draw = random.Random(seed)
        self.twins = Twins(profile, group_max_size=SIZE_MAX if seed % 2 else 10, group_initial_rebalance_delay_ms=self.draw.choice((0, 3_000)))
        self.ids: dict[str, str] = {}
        self.protocols: dict[str, tuple[JoinProtocol, ...]] = dict.fromkeys(NAMES, (RANGE, STICKY))

    def run(self) -> None:
        for _ in range(STEPS):
            steps = (self.joins, self._all_join, self._joins_otherwise, self._syncs, self._beats, self._leaves, self._befalls)
            self.draw.choices(steps, (6, 8, 6, 4, 2, 1, 1))[0]()
            self.twins.now_ms += self.draw.choice((0, 1, 1, 50, 1_000, 11_000 if self.draw.random() < 0.05 else 3))
            if self.draw.random() < 0.7:
                self.twins.both(lambda machine: machine.advance(self.twins.now_ms))
            self.twins.are_alike()

    def joins(self, name: str | None = None, **says: Any) -> None:
        name = self.draw.choice(NAMES) if name is None else name
        usual = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 20_000, "protocols": self.protocols[name], "member_id": self.ids.get(name, "")}
        if name == "s" and name not in self.ids:
            usual["group_instance_id"] = "i"
        answer = self.twins.ask(JoinGroupRequest(**{"group_id": "k", **usual, **says}), version=self.draw.choice((1, 3, 5, 5, 5)))
        if answer is not None and answer.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            self.ids[name] = answer.member_id
        if answer is not None and answer.error_code is ErrorCode.UNKNOWN_MEMBER_ID:
            self.ids.pop(name, None)
        self._learn()

    def _learn(self) -> None:
        """Let every name have an id that its machine has for somebody: who was admitted while its answer waits."""
        view = self.twins.keeping.view("k")
        ids = [] if view is None else [*(member.member_id for member in view.members), *view.pending]
        strangers = [member_id for member_id in ids if member_id not in self.ids.values()]
        self.ids |= dict(zip([name for name in NAMES if self.ids.get(name) not in ids], strangers, strict=False))

    def _all_join(self) -> None:
        for name in self.draw.sample(NAMES, len(NAMES)):
            self.joins(name)

    def _joins_otherwise(self) -> None:
        """Let a member join with something new, in a rebalance most often, behind another."""
        name = self.draw.choice(NAMES)
        if self.draw.random() < 0.7:
            self.joins()
        if self.draw.random() < 0.3:
            self.protocols[name] = self.draw.choice(((RANGE, STICKY), (STICKY,), (RANGE,), (JoinProtocol(name="range", metadata=b"1"), STICKY)))
            self.joins(name)
            return
        says = (
            {"session_timeout_ms": 9_000}, {"session_timeout_ms": 1}, {"rebalance_timeout_ms": 9_000}, {"rebalance_timeout_ms": -1}, {"protocol_type": "x"},
            {"protocol_type": ""}, {"protocols": ()}, {"protocols": (JoinProtocol(name="x", metadata=b""),)}, {"group_instance_id": "i"},
            {"group_instance_id": "j"}, {"member_id": "x"}, {"member_id": ""}, {"group_id": ""},
        )  # fmt: skip
        self.joins(name, **self.draw.choice(says))

    def _syncs(self) -> None:
        view = self.twins.keeping.view("k")
        for member in view.members if view is not None else ():
            shares = (SyncAssignment(member_id=member.member_id, assignment=b"x"),)
            self.twins.ask(
                SyncGroupRequest(group_id="k", generation_id=view.generation if view else 0, member_id=member.member_id, assignments=shares)
            )

    def _beats(self) -> None:
        view = self.twins.keeping.view("k")
        generation = 0 if view is None else view.generation
        self.twins.ask(HeartbeatRequest(group_id="k", generation_id=generation, member_id=self.ids.get(self.draw.choice(NAMES), "x")))

    def _leaves(self) -> None:
        name = self.draw.choice(NAMES)
        if name in self.ids:
            self.twins.ask(LeaveGroupRequest(group_id="k", members=(LeaveMember(member_id=self.ids.pop(name)),)))

    def _befalls(self) -> None:
        """Let the log refuse records, the broker be about to stop, or the partition be read, while somebody joins; or the partition move and come back."""
        partition = partition_of("k", self.twins.keeping.settings.offsets_topic_num_partitions)
        match self.draw.randrange(4):
            case 0:
                self.twins.both(lambda machine: setattr(machine, "append_error", ErrorCode.NOT_ENOUGH_REPLICAS))
                self.joins()
                self.twins.both(lambda machine: setattr(machine, "append_error", ErrorCode.NONE))
            case 1:
                self.twins.both(lambda machine: setattr(machine, "active", False))
                self._all_join()
                self.twins.both(lambda machine: setattr(machine, "active", True))
            case 2:
                self.twins.both(lambda machine: machine.begin_load(partition))
                self._all_join()
                self.twins.both(lambda machine: machine._loading.discard(partition))
            case _:
                stored = self.twins.both(lambda machine: machine.stored(partition))
                self.twins.both(lambda machine: machine.unload(partition, self.twins.now_ms))
                self.twins.both(lambda machine: machine.load(partition, stored, self.twins.now_ms))


@pytest.mark.parametrize("profile", ["kafka-2.5", "kafka-3.3", "kafka-4.1", "kafka-4.4"])
def test_a_machine_that_parks_at_once_does_what_one_does_that_asks_the_table(profile: str) -> None:
    parked: list[bool] = []
    for seed in range(4):
        history = Rebalances(profile, seed)
        history.run()
        parked += [is_parked for message, is_parked in history.twins.parked if message is JoinGroupRequest]

    assert sum(parked) > STEPS // 5, "few JoinGroups only wait: the histories show nothing"
    assert not all(parked), "the table is never in between"


def test_the_last_members_of_a_group_that_is_full_are_turned_away() -> None:
    twins = Twins("kafka-4.1", group_max_size=SIZE_MAX)

    def join(member_id: str = "", protocols: tuple[JoinProtocol, ...] = (RANGE, STICKY)) -> Any:
        return twins.ask(
            JoinGroupRequest(group_id="k", member_id=member_id, protocols=protocols, session_timeout_ms=10_000, rebalance_timeout_ms=20_000)
        )

    for _ in range(SIZE_MAX):
        join()
    twins.now_ms += 7_000
    twins.both(lambda machine: machine.advance(twins.now_ms))
    first, *others = twins.keeping.member_ids("k")
    assert [join(first, (STICKY,)), join(), join()] == [None] * 3, "who comes while others are missing is let in"
    assert [join(member_id).error_code for member_id in others] == [ErrorCode.GROUP_MAX_SIZE_REACHED] * 2
    twins.are_alike()


def test_releases_with_another_row_for_it_ask_the_table() -> None:
    rules = {name: _rule_of(bound_tables(profile(name), REFERENCE)) for name in known_profiles()}

    assert {name for name, rule in rules.items() if rule is None} == {"datalink", "datalink-dead"}
    assert {rule.name for rule in rules.values() if rule is not None} == {"JoinGroup/PreparingRebalance/member-joins"}
