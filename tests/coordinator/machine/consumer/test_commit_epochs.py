from __future__ import annotations

import pytest
from tests.coordinator.machine.consumer.measured_scripts import Player, last

from groupproof.protocol.wire import messages

MOVED_ON = ("A join", "wait 1100", "A beat names=t,u", "A beat owned=own")


@pytest.mark.parametrize(
    ("commit", "by_4_2", "by_4_3"),
    [("A commit t-0 epoch=-1", 113, 0), ("A commit u-0 epoch=-1", 113, 113), ("A txn t-0 epoch=-1", 22, 0), ("A txn u-0 epoch=-1", 22, 22)],
)
def test_an_older_epoch_commits_what_was_assigned_by_then_since_4_3(commit: str, by_4_2: int, by_4_3: int) -> None:
    assert last("kafka-4.2", *MOVED_ON, commit).code == by_4_2
    assert last("kafka-4.3", *MOVED_ON, commit).code == by_4_3


def test_what_was_refused_is_not_stored_and_what_was_accepted_is() -> None:
    assert last("kafka-4.3", *MOVED_ON, "A commit u-0 epoch=-1", "fetch u-0").offsets == [["u", [[0, -1, 0]]]]
    assert last("kafka-4.3", *MOVED_ON, "A commit t-0 epoch=-1", "fetch t-0").offsets == [["t", [[0, 5, 0]]]]


@pytest.mark.parametrize("kind", ["commit", "txn"])
@pytest.mark.parametrize("partition", ["t-0", "u-0"])
def test_metadata_is_not_longer_for_an_older_epoch_and_comes_before_it(kind: str, partition: str) -> None:
    """`OffsetMetadataManager.commitOffset` looks at the epoch of a partition only where its metadata fits; fuzzing of 4.4.0 found it."""
    assert last("kafka-4.3", *MOVED_ON, f"A {kind} {partition} epoch=-1 metadata=5000").code == 12


@pytest.mark.requirement("CGO-09")
def test_one_partition_that_came_later_has_the_whole_commit_refused() -> None:
    """What an older epoch may commit alone, it may not commit beside what it may not."""
    player = Player("kafka-4.3")
    player.group = "g"
    for line in MOVED_ON:
        step, *words = line.split(" ")
        player.play(step, words) if step == "wait" else player.play("-", line.split(" "))
    partition = messages.CommitPartition(partition_index=0, committed_offset=5)
    topics = tuple(messages.CommitTopic(name=name, partitions=(partition,)) for name in ("t", "u"))
    commit = messages.OffsetCommitRequest(group_id="g", generation_id=player.members["g", "A"].epoch - 1, member_id="A", topics=topics)

    assert [topic.partitions[0].error_code for topic in player._ask(commit, 9).topics] == [113, 113]
    fetched = player.play("-", ["fetch", "t-0"])
    assert fetched is not None
    assert fetched.offsets == [["t", [[0, -1, 0]]]]
