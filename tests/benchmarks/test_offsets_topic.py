"""The benchmark of the offsets topic, untimed: what it reads are the records that it says."""

from __future__ import annotations

import pytest
from tests.benchmarks import offsets_topic
from tests.benchmarks.offsets_topic import commits, generations, measure, show

from groupproof.protocol.wire.log_batches import read_log
from groupproof.protocol.wire.offsets_topic import OffsetsTopic


@pytest.mark.slow
def test_the_logs_that_are_timed_hold_what_they_say_and_nothing_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offsets_topic, "_ROUNDS", 1)
    topic = OffsetsTopic(0)
    for blob in (commits(45), generations(3)):
        for batch in read_log(blob):
            list(topic.follow(0, batch))

    assert (topic.tally.records, topic.tally.unreadable.total()) == ({"OffsetCommit": 45, "GroupMetadata": 3}, 0)
    assert show([measure("commits", commits(45))]).row_count == 1
