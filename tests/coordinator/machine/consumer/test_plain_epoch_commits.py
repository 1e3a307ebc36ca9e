"""A commit of a member of a consumer group at its epoch is stored at once: the machine does what one does that asks the table for each of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.coordinator.machine.twin_machines import NAMES, History

from groupproof.coordinator.machine.bound_tables import bound_tables
from groupproof.coordinator.machine.coordinator import partition_of
from groupproof.coordinator.machine.plain_commits import PlainCommits, _places_of
from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.protocol.rules import profile as profile_named
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.wire.messages import CommitPartition, CommitTopic, OffsetCommitRequest

STEPS = 300
OTHERWISE: tuple[dict[str, Any], ...] = (
    {"member_id": "x"}, {"generation_id": -1}, {"generation_id": 99}, {"generation_id": 1}, {"group_instance_id": "j"}, {"retention_time_ms": 5},
    {"topics": (CommitTopic(name="t", partitions=(CommitPartition(partition_index=0, committed_offset=1, committed_metadata="m" * 5_000),)),)},
    {"group_id": "none"}, {},
)  # fmt: skip


class Commits(History):
    """A history of which every second step is a commit."""

    def _beats(self) -> None:
        super()._beats()
        self.commits(self.draw.choice((8, 9, 9, 9)))

    def commits(self, version: int) -> None:
        name = self.draw.choice(NAMES)
        asked = OffsetCommitRequest(
            group_id="g", member_id=name, generation_id=self.epochs.get(name, 0),
            topics=(CommitTopic(name="t", partitions=(CommitPartition(partition_index=self.draw.randrange(3), committed_offset=self.draw.randrange(9)),)),),
        )  # fmt: skip
        self.twins.ask(replace(asked, **(self.draw.choice(OTHERWISE) if self.draw.random() < 0.4 else {})), version=version)
        partition = partition_of("g", self.twins.keeping.settings.offsets_topic_num_partitions)
        assert self.twins.keeping.stored(partition) == self.twins.plain.stored(partition)


@pytest.mark.parametrize("profile", ["kafka-4.0", "kafka-4.1", "kafka-4.4"])
def test_a_machine_that_stores_at_once_does_what_one_does_that_asks_the_table(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[bool] = []
    repeat = PlainCommits.repeat

    def counted(commits: PlainCommits, message: Any, *arguments: Any) -> Any:
        answer = repeat(commits, message, *arguments)
        stored.append(answer is not None)
        return answer

    monkeypatch.setattr(PlainCommits, "repeat", counted)
    for seed in range(6):
        Commits(profile, seed).run()

    assert sum(stored) > 20, "few commits are plain: the histories show nothing"
    assert not all(stored), "the table is never in between"


@pytest.mark.parametrize("name", ["kafka-4.0", "kafka-4.2", "kafka-4.4"])
def test_a_release_stores_so_in_each_state_that_has_members(name: str) -> None:
    tables = bound_tables(profile_named(name), REFERENCE)

    assert {state.value for (_, state), _ in _places_of(tables, CONSUMER)} == {"Assigning", "Reconciling", "Stable"}
