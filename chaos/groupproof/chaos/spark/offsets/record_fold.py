"""Folds records of the offsets topic to facts about groups: rebalances, storms, flapping members, times without an owner, stalled commits. Pure.

A fold can be pickled between any two records. A group is over when it is deleted and has no commits left: the coordinator has forgotten it, and so
does the fold when it comes again. `is_over` says that the fold holds nothing else, so that the owner of a fold per group can drop it.

A fact depends only on the records up to it, so that a stream in any batches and a table read at once give the same facts. A growing fact
(a continuing storm, a rebalance that settles) is repeated under the same key; the one with the highest offset counts.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple

from groupproof.harness.judging.topic_history.group_health import FLAPS, HOUR_MS, SHORT_MS, STALLED_MS, STORM, STORM_MS
from groupproof.harness.judging.topic_history.logged_groups import LoggedGroup, LoggedRebalance
from groupproof.harness.judging.topic_history.topic_history import COMMITTED, CONSUMER_SESSION_MS, TopicHistory
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.coordinator_records import OFFSET_COMMIT
from groupproof.protocol.wire.log_batches import BrokenBatch, LogBatch, LogRecord
from groupproof.protocol.wire.offsets_topic import RECORD, OffsetsTopic, Tally, TopicCommit

__all__ = [
    "ALERTS", "COMMIT_GAP", "FLAPPING", "REBALANCE", "STORMING", "TALLY", "UNOWNED", "Fact", "RecordFold", "StoredRecord", "batch_of", "newest_of",
]  # fmt: skip

REBALANCE: Final = "rebalance"
STORMING: Final = "storm"
FLAPPING: Final = "flapping"
UNOWNED: Final = "unowned"
COMMIT_GAP: Final = "commit-gap"
TALLY: Final = "tally"
"""The counts of one partition's records; it belongs to no group."""

ALERTS: Final = (STORMING, FLAPPING)
"""The kinds that are reported at once."""

_KEPT_MAX: Final = 64
"""The number of a group's rebalances that are kept; older ones are written and do not change."""


class StoredRecord(NamedTuple):
    """One record as it is stored in the topic."""

    partition: int
    offset: int
    at_ms: int
    key: bytes
    value: bytes | None


class Fact(NamedTuple):
    """A fact about a group. `number` separates facts of one kind, `offset` is its last record's, `text` has the other fields, as JSON."""

    group: str
    kind: str
    number: int
    at_ms: int
    offset: int
    text: str


@dataclass(slots=True)
class _Watched:
    """A group's state beside its history: its storm, the times since when partitions have no owner, the number of facts, and the last version of its
    rebalances.

    `begin` is the offset of its first record. Facts are numbered from there, so that they differ from those of a deleted group of the same name:
    every fact needs at least one record.
    """

    begin: int
    storm: int | None = None
    recent: deque[int] = field(default_factory=deque)
    owned: frozenset[TopicPartition] = frozenset()
    unowned: dict[TopicPartition, int] = field(default_factory=dict)
    gaps: int = 0
    stretches: int = 0
    newest: int = 0
    written: dict[int, tuple[int | None, int | None, int | None]] = field(default_factory=dict)


class RecordFold:
    """Folds the records of groups in the order of offsets; `names` are the known topic names by id, `begins` the partitions' first offsets."""

    def __init__(
        self, names: Mapping[str, str] | None = None, begins: Mapping[int, int] | None = None, *, consumer_session_ms: int = CONSUMER_SESSION_MS
    ) -> None:
        self.history = TopicHistory(consumer_session_ms=consumer_session_ms)
        self.history.name_topics(names or {})
        self.history.begin_partitions(begins or {})
        self._topic = OffsetsTopic(0, run="history")
        self._watched: dict[str, _Watched] = {}
        self._pending: dict[tuple[int, int], list[Observation]] = {}
        self._ended: dict[str, tuple[int, int]] = {}

    @property
    def is_over(self) -> bool:
        """Whether all its groups are deleted, with all their commits."""
        return self.history.groups.keys() == self._ended.keys() and not self._pending

    def forget_names(self, names: Mapping[str, str]) -> None:
        """Drop the topic names that the fold's owner also has; `name_topics` of the history restores them."""
        self.history.topic_names = {topic: name for topic, name in self.history.topic_names.items() if names.get(topic) != name}

    @property
    def tally(self) -> Tally:
        """Return the counts of the records."""
        return self._topic.tally

    def has_taken(self, record: StoredRecord) -> bool:
        """Return whether the record, or a later one of its partition, was folded before."""
        return record.offset < self._topic.next_offset(record.partition)

    def take(self, records: Iterable[StoredRecord]) -> list[Fact]:
        """Return the facts from the records, new and changed ones."""
        runs = groupby(records, key=attrgetter("partition"))
        return self.take_log((partition, batch_of([record[1:] for record in run])) for partition, run in runs)

    def take_log(self, batches: Iterable[tuple[int, LogBatch | BrokenBatch]]) -> list[Fact]:
        """Do the same with batches of partitions."""
        facts: list[Fact] = []
        touched: dict[str, int] = {}
        for partition, batch in batches:
            for entry in self._topic.follow_tersely(partition, batch):
                if isinstance(entry, TopicCommit):
                    facts += self._begin(entry.group, entry.log_offset, entry.at_ms)
                    facts += self._follow_commit(entry)
                    touched[entry.group] = entry.log_offset
                    continue
                for obs in self._settled(entry):
                    facts += self._follow(obs)
                    if obs.group is not None:
                        touched[obs.group] = obs.body["offset"]
        for name, offset in touched.items():
            facts += self._changed(self.history.groups[name], offset)
        return facts

    def _begin(self, name: str, offset: int, at_ms: int) -> list[Fact]:
        """Begin a group at its first record, or at the first one after it was over.

        A protocol change deletes and creates a group in one batch (KIP-848); such a group continues.
        """
        last: list[Fact] = []
        end = self._ended.pop(name, None) if self._ended else None
        if end is not None and end != (offset - 1, at_ms):
            last += self._changed(self.history.groups[name], end[0])
            self.history.forget_group(name)
            del self._watched[name]
        if name not in self._watched:
            self._watched[name] = _Watched(offset)
        return last

    def count(self, partition: int) -> Fact:
        """Return the counts of a partition."""
        return Fact("", TALLY, partition, 0, 0, _text(self.tally.to_json()))

    def _settled(self, obs: Observation) -> Iterable[Observation]:
        """Return the observations that count now: a record at once, a transaction's at its commit. A read_committed reader sees no transactions."""
        body = obs.body
        if "producer_id" not in body:
            return (obs,)
        place = (body["partition"], body["producer_id"])
        if body["name"] == RECORD:
            self._pending.setdefault(place, []).append(obs)
            return ()
        pending = self._pending.pop(place, [])
        if body["marker"] != COMMITTED:
            return ()
        return [replace(held, body={name: value for name, value in held.body.items() if name != "producer_id"}) for held in pending]

    def _follow(self, obs: Observation) -> Iterable[Fact]:
        body = obs.body
        if obs.group is None or body["name"] != RECORD:
            self.history.follow(obs)
            return ()
        last = self._begin(obs.group, body["offset"], body["timestamp_ms"])
        if body["record"] == OFFSET_COMMIT and obs.offsets:
            ((topic, partition, offset),) = obs.offsets
            return last + self._follow_commit(
                TopicCommit(obs.group, topic, partition, offset, body["timestamp_ms"], body["partition"], body["offset"])
            )
        self.history.follow(obs)
        group = self.history.groups[obs.group]
        if body["value"] is None and group.is_over:
            self._ended[group.group] = (body["offset"], body["timestamp_ms"])
        return last if body["record"] == OFFSET_COMMIT else [*last, *self._follow_group(group, obs)]

    def _follow_group(self, group: LoggedGroup, obs: Observation) -> Iterator[Fact]:
        watched = self._watched[group.group]
        newest = group.rebalances[-1].number if group.rebalances else 0
        if newest > watched.newest:
            watched.newest = newest
            yield from _alerts(group, watched, group.rebalances[-1], obs)
        yield from _owned_again(group, watched, obs)

    def _follow_commit(self, commit: TopicCommit) -> list[Fact]:
        """Return a gap if a stalled partition is committed again."""
        before = self.history.follow_commit(commit)
        if before is None or commit.at_ms - before.at_ms <= STALLED_MS:
            return []
        watched = self._watched[commit.group]
        watched.gaps += 1
        text = _text({"topic": commit.topic, "partition": commit.partition, "lasted_ms": commit.at_ms - before.at_ms})
        return [Fact(commit.group, COMMIT_GAP, watched.begin + watched.gaps, before.at_ms, commit.log_offset, text)]

    def _changed(self, group: LoggedGroup, offset: int) -> Iterator[Fact]:
        """Yield new and changed rebalances; forget old ones."""
        watched = self._watched[group.group]
        for rebalance in group.rebalances:
            now = (rebalance.joined_ms, rebalance.settled_ms, rebalance.halted_ms)
            if watched.written.get(rebalance.number) != now:
                watched.written[rebalance.number] = now
                yield Fact(group.group, REBALANCE, watched.begin + rebalance.number, rebalance.at_ms, offset, _text(rebalance.to_json()))
        # A deleted group keeps its last number: one that is not over, and comes back, continues from it.
        kept = 1 if group.is_deleted else _KEPT_MAX
        for gone in group.rebalances[:-kept]:
            del watched.written[gone.number]
        del group.rebalances[:-kept]
        del group.restarts[:-_KEPT_MAX]
        group.departures = [departure for departure in group.departures if group.newest_ms - departure.at_ms <= HOUR_MS]


def newest_of(facts: Iterable[Fact]) -> list[Fact]:
    """Keep the last version of each fact."""
    return list({(fact.group, fact.kind, fact.number): fact for fact in sorted(facts, key=attrgetter("offset"))}.values())


def batch_of(records: list[LogRecord]) -> LogBatch:
    """Return records, in their order, as one batch. A read_committed reader sees no transaction."""
    (first, *_), (last, last_ms, *_) = records[0], records[-1]
    return LogBatch(
        base_offset=first, last_offset=last, magic=2, codec=0, producer_id=-1, is_transactional=False, timestamp_ms=last_ms, marker=None,
        records=records,
    )  # fmt: skip


def _alerts(group: LoggedGroup, watched: _Watched, rebalance: LoggedRebalance, obs: Observation) -> Iterator[Fact]:
    """Yield a new rebalance's effects: a storm that begins or continues, and flapping members."""
    watched.recent.append(rebalance.at_ms)
    while rebalance.at_ms - watched.recent[0] > STORM_MS:
        watched.recent.popleft()
    if len(watched.recent) < STORM:
        watched.storm = None
    else:
        watched.storm = watched.storm or rebalance.number - len(watched.recent) + 1
        rebalances = rebalance.number - watched.storm + 1
        yield _fact(
            group.group,
            STORMING,
            watched.begin + watched.storm,
            watched.recent[0],
            obs,
            rebalances=rebalances,
            until_ms=rebalance.at_ms,
            cause=rebalance.cause.value,
        )
    yield from _flapping(group, watched, rebalance, obs)


def _flapping(group: LoggedGroup, watched: _Watched, rebalance: LoggedRebalance, obs: Observation) -> Iterator[Fact]:
    departures = [departure for departure in group.departures if rebalance.at_ms - departure.at_ms <= HOUR_MS]
    counts = Counter(departure.member.identity for departure in departures)
    lost = {member.identity: member for member in rebalance.lost}
    for place, (identity, member) in enumerate(sorted(lost.items(), key=str)):
        if counts[identity] >= FLAPS:
            is_short = all(departure.lasted_ms < SHORT_MS for departure in departures if departure.member.identity == identity)
            yield _fact(
                group.group, FLAPPING, (watched.begin + rebalance.number) * 1_000 + place, rebalance.at_ms, obs, member=member.name, host=member.host.lstrip("/"),
                times=counts[identity], keeps_nothing=is_short,
            )  # fmt: skip


def _owned_again(group: LoggedGroup, watched: _Watched, obs: Observation) -> Iterator[Fact]:
    """Record the partitions that lose their owner; yield those that have one again, with the time without."""
    at_ms = obs.body["timestamp_ms"]
    owned = frozenset(group.owned)
    if owned == watched.owned:
        return
    for partition in watched.owned - owned:
        watched.unowned.setdefault(partition, at_ms)
    again = Counter(watched.unowned.pop(partition) for partition in owned - watched.owned if partition in watched.unowned)
    watched.owned = owned
    for since_ms, partitions in sorted(again.items()):
        watched.stretches += 1
        lasted_ms = at_ms - since_ms
        yield _fact(
            group.group,
            UNOWNED,
            watched.begin + watched.stretches,
            since_ms,
            obs,
            partitions=partitions,
            lasted_ms=lasted_ms,
            spent_ms=lasted_ms * partitions,
        )


def _fact(group: str, kind: str, number: int, at_ms: int, obs: Observation, **body: Any) -> Fact:
    return Fact(group, kind, number, at_ms, obs.body["offset"], _text(body))


def _text(body: Mapping[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False)
