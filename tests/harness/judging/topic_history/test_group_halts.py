"""What stops a group: partitions that stand still until a generation, epochs that take long, generations that come to nothing, a coordinator that says so."""

from __future__ import annotations

from collections.abc import Sequence

from tests.harness.judging.topic_history.stories import member
from tests.harness.subjects.offsets_topic.topic_logs import Stored, commit, generation

from groupproof.harness.judging.topic_history.group_halts import HALT_MS
from groupproof.harness.judging.topic_history.group_health import GroupHealth, health_of
from groupproof.harness.judging.topic_history.logged_groups import LoggedRebalance
from groupproof.harness.judging.topic_history.topic_history import TopicHistory
from groupproof.protocol.wire.log_batches import LogBatch, read_log
from groupproof.protocol.wire.offsets_topic import OffsetsTopic
from groupproof.protocol.wire.records import Record, encode_batch

_M = 60_000


def _health(stored: Sequence[Stored], *, hole_before: int | None = None, now_ms: int | None = None, state: str | None = None) -> GroupHealth:
    """Read the records of a group; before one of them an offset is missing."""
    topic, history = OffsetsTopic(0), TopicHistory()
    for place, (at_ms, key, value) in enumerate(stored):
        offset = place + (hole_before is not None and place >= hole_before)
        blob = encode_batch([Record(offset=offset, timestamp_ms=at_ms, key=key, value=value)])
        history.follow_all(obs for batch in read_log(blob) if isinstance(batch, LogBatch) for obs in topic.follow(0, batch))
    group = history.groups["g"]
    if state is not None:
        group.report_state(state, history.now_ms)
    return health_of(group, history.now_ms if now_ms is None else now_ms)


def _commits(until_ms: int, partition: int, every_ms: int = 5_000) -> list[Stored]:
    return [commit(at_ms, "g", partition, at_ms) for at_ms in range(1_000, until_ms, every_ms)]


def _story(slow_until_ms: int, other_ms: int, *, every_ms: int = 5_000) -> list[Stored]:
    """One member commits all the time, the other stands still until a third one has come."""
    both = (member("a-1", (0,)), member("b-1", (1,)))
    rows = [
        generation(0, "g", 1, both),
        *_commits(slow_until_ms, 0),
        *_commits(other_ms, 1, every_ms),
        generation(slow_until_ms, "g", 2, (*both, member("c-1"))),
    ]
    return sorted(rows, key=lambda row: row[0])


def test_partitions_that_stood_still_until_a_generation_are_named() -> None:
    assert _health(_story(5 * _M, 2 * _M)).problems == ["1 partitions stood still for 184 s until generation 2"]
    assert _health(_story(5 * _M, 5 * _M)).problems == []
    assert _health(_story(_M, 30_000)).problems == [], "half a minute is no halt"


def test_what_is_committed_seldom_does_not_stand_still() -> None:
    assert _health(_story(5 * _M, 3 * _M, every_ms=50_000)).problems == []


def test_generations_that_came_to_no_assignment_are_a_storm_too() -> None:
    stored = [generation(0, "g", 1, (member("a-1"),)), commit(1_000, "g", 0, 1), generation(_M, "g", 6, (member("a-1"), member("b-1")))]

    assert _health(stored).problems == ["storm: 6 rebalances, 4 of them without an assignment"]
    assert _health(stored, hole_before=1).problems == [], "compaction may have taken them"
    assert _health([generation(0, "g", 7, (member("a-1"),))]).problems == ["storm: 7 rebalances, 6 of them without an assignment"]
    assert _health([generation(0, "g", 7, (member("a-1"),))], now_ms=20 * _M).problems == []


def test_a_group_that_rebalances_for_a_minute_as_its_coordinator_says_comes_to_no_generation() -> None:
    stored = [generation(0, "g", 1, (member("a-1"),))]

    assert _health(stored, state="PreparingRebalance", now_ms=HALT_MS - 1).problems == []
    assert _health(stored, state="CompletingRebalance", now_ms=HALT_MS).problems == [
        "rebalances since 60 s, as its coordinator says, and comes to no generation"
    ]
    assert _health(stored, state="Stable", now_ms=HALT_MS).problems == []


def _epoch(number: int, at_ms: int, settled_ms: int | None, holder: str | None = None) -> LoggedRebalance:
    return LoggedRebalance(
        group="g", protocol="consumer", number=number, at_ms=at_ms, before=number - 1, generation=number, settled_ms=settled_ms, holder=holder
    )


def test_epochs_that_take_long_are_reported_together_with_the_owners() -> None:
    health = _health([generation(0, "g", 1)])
    health.group.rebalances = [
        _epoch(1, 0, 1_000),
        _epoch(2, 2_000, None),
        _epoch(3, 5_000, 100_000, "m0"),
        _epoch(4, 110_000, 111_000),
        _epoch(5, 120_000, None),
    ]

    assert list(health_of(health.group, 125_000).halts) == ["epochs 2 to 3 took 98 s: m0 held what it was to give up"]
    assert list(health_of(health.group, 190_000).halts)[1:] == ["epoch 5 took 70 s"]
