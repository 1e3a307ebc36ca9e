"""A plain OffsetCommit is stored and answered at once: the machine does what one does that asks the table for each of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.coordinator.machine.twin_machines import Twins

from groupproof.coordinator.machine import plain_commits
from groupproof.coordinator.machine.bound_tables import bound_tables
from groupproof.coordinator.machine.coordinator import partition_of
from groupproof.coordinator.machine.machine_outputs import MemberView
from groupproof.coordinator.machine.plain_commits import PlainCommits, _are_stored
from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.protocol.rules import known_profiles, profile
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.messages import CommitPartition, CommitTopic, JoinGroupRequest, JoinProtocol, OffsetCommitRequest, SyncGroupRequest

NAMES = ("a", "b", "s")
STEPS = 200
RANGE = JoinProtocol(name="range", metadata=b"")


class Commits:
    """What three members of a group do, the last of them static, drawn step by step; commits are most of it."""

    def __init__(self, profile: str, seed: int) -> None:
        self.draw = random.Random(seed)
        self.twins = Twins(profile, group_initial_rebalance_delay_ms=0)
        self.partition = partition_of("k", self.twins.keeping.settings.offsets_topic_num_partitions)

    @property
    def members(self) -> Sequence[MemberView]:
        view = self.twins.keeping.view("k")
        return () if view is None else view.members

    def run(self) -> None:
        for _ in range(STEPS):
            self.draw.choices((self._all_join, self._all_sync, self._commits, self._commits_otherwise, self._befalls), (1, 2, 12, 6, 1))[0]()
            self.twins.now_ms += self.draw.choice((0, 1, 50, 11_000 if self.draw.random() < 0.1 else 3))
            if self.draw.random() < 0.7:
                self.twins.both(lambda machine: machine.advance(self.twins.now_ms))
            self.twins.are_alike()
            assert self.twins.keeping.stored(self.partition) == self.twins.plain.stored(self.partition)

    def _all_join(self) -> None:
        for member in self.members:
            self._joins(member.member_id, member.group_instance_id)
        for _ in NAMES[len(self.members) :]:
            self._joins("", None if any(member.group_instance_id for member in self.members) else "i")
        for member in self.members:
            if member.parked is None:
                self._joins(member.member_id, member.group_instance_id)

    def _joins(self, member_id: str, instance_id: str | None) -> None:
        asks = JoinGroupRequest(
            group_id="k",
            member_id=member_id,
            group_instance_id=instance_id,
            protocols=(RANGE,),
            session_timeout_ms=10_000,
            rebalance_timeout_ms=20_000,
        )
        self.twins.ask(asks, version=3)

    def _all_sync(self) -> None:
        view = self.twins.keeping.view("k")
        for member in self.members:
            asks = SyncGroupRequest(
                group_id="k",
                generation_id=0 if view is None else view.generation,
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
            )
            self.twins.ask(asks, version=3)

    def _commit_of(self, member: MemberView) -> OffsetCommitRequest:
        view = self.twins.keeping.view("k")
        topics = tuple(
            CommitTopic(
                name=name,
                partitions=tuple(
                    CommitPartition(partition_index=index, committed_offset=self.draw.randrange(100)) for index in range(self.draw.randrange(3))
                ),
            )
            for name in self.draw.choice((("t",), ("t", "u"), ()))
        )
        return OffsetCommitRequest(
            group_id="k",
            generation_id=0 if view is None else view.generation,
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            topics=topics,
        )

    def _commits(self) -> None:
        for member in self.members:
            self.twins.ask(self._commit_of(member), version=7)

    def _commits_otherwise(self) -> None:
        """Let members commit in the name of others, of another generation, for a time, or with metadata, of which some is too long."""
        noted = tuple(
            (CommitTopic(name="t", partitions=(CommitPartition(partition_index=0, committed_offset=1, committed_metadata=text),)),)
            for text in ("m", "m" * 5_000)
        )
        wrong: Sequence[dict[str, Any]] = (
            {"group_instance_id": "i"}, {"group_instance_id": "j"}, {"group_instance_id": None}, {"generation_id": 0}, {"generation_id": -1}, {"member_id": "x"}, {"member_id": ""},
            {"group_id": "g"}, {"group_id": ""}, {"retention_time_ms": 5}, {"topics": noted[0]}, {"topics": noted[1]}, {"generation_id": -1, "member_id": ""},
        )  # fmt: skip
        for member in self.members:
            self.twins.ask(replace(self._commit_of(member), **self.draw.choice(wrong)), version=7)

    def _befalls(self) -> None:
        """Let the log refuse records, the broker be about to stop, or the partition be read, while somebody commits; or the partition move and come back."""
        match self.draw.randrange(4):
            case 0:
                self.twins.both(lambda machine: setattr(machine, "append_error", ErrorCode.NOT_ENOUGH_REPLICAS))
                self._commits()
                self.twins.both(lambda machine: setattr(machine, "append_error", ErrorCode.NONE))
            case 1:
                self.twins.both(lambda machine: setattr(machine, "active", False))
                self._commits()
                self.twins.both(lambda machine: setattr(machine, "active", True))
            case 2:
                self.twins.both(lambda machine: machine.begin_load(self.partition))
                self._commits()
                self.twins.both(lambda machine: machine._loading.discard(self.partition))
            case _:
                stored = self.twins.both(lambda machine: machine.stored(self.partition))
                self.twins.both(lambda machine: machine.unload(self.partition, self.twins.now_ms))
                self.twins.both(lambda machine: machine.load(self.partition, stored, self.twins.now_ms))


@pytest.mark.parametrize("profile", ["kafka-1.1", "kafka-2.4", "kafka-3.3", "kafka-4.4"])
def test_a_machine_that_stores_at_once_does_what_one_does_that_asks_the_table(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[bool] = []
    repeat = PlainCommits.repeat

    def counted(commits: PlainCommits, *arguments: Any) -> Any:
        answer = repeat(commits, *arguments)
        stored.append(answer is not None)
        return answer

    monkeypatch.setattr(PlainCommits, "repeat", counted)
    monkeypatch.setattr(plain_commits, "ANSWERS_MAX", 5)
    for seed in range(4):
        Commits(profile, seed).run()

    assert sum(stored) > STEPS // 10, "few commits are plain: the histories show nothing"
    assert not all(stored), "the table is never in between"


def test_releases_with_another_row_for_it_ask_the_table() -> None:
    assert {name for name in known_profiles() if not _are_stored(bound_tables(profile(name), REFERENCE))} == {"datalink", "datalink-dead"}
