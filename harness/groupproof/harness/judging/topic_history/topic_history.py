"""Builds the groups from observations of the offsets topic, one after the other, without end. Pure.

Times are those of the records, in ms since 1970, so that the history of a dump equals that of a live cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from groupproof.harness.judging.topic_history.classic_generations import follow_generation
from groupproof.harness.judging.topic_history.group_epochs import EpochChanges, follow_epoch_record, split_name
from groupproof.harness.judging.topic_history.logged_groups import Commit, LoggedGroup
from groupproof.protocol.trace import Observation
from groupproof.protocol.wire.coordinator_records import OFFSET_COMMIT
from groupproof.protocol.wire.offsets_topic import MARKER, RECORD, UNREADABLE, TopicCommit

__all__ = ["COMMITTED", "CONSUMER_SESSION_MS", "TopicHistory"]

CONSUMER_SESSION_MS: Final = 45_000
"""Kafka's default of `group.consumer.session.timeout.ms`."""

_GROUP_METADATA: Final = "GroupMetadata"
COMMITTED: Final = "COMMIT"
"""The marker of a committed transaction."""

_REBALANCES_MAX: Final = 10_000
"""The number of rebalances that are kept for a group. The oldest are dropped first."""

_Pending = dict[tuple[int, int], list[Observation]]
"""Commits of open transactions, by partition of the topic and producer."""


class TopicHistory:
    """`groups` by their id. `now_ms` is the time of the newest record. `unreadable` counts unreadable records by reason.

    `consumer_session_ms` is the session timeout of the consumer protocol. It is a broker setting and in no record; the default is Kafka's.
    """

    def __init__(self, *, consumer_session_ms: int = CONSUMER_SESSION_MS) -> None:
        self.groups: dict[str, LoggedGroup] = {}
        self.consumer_session_ms = consumer_session_ms
        self.now_ms = 0
        self.unreadable: Counter[str] = Counter()
        self._changes: dict[str, EpochChanges] = {}
        self.topic_names: dict[str, str] = {}
        self._pending: _Pending = {}
        self._begins: dict[int, int] = {}
        self._next: dict[int, int] = {}
        self._holes: dict[int, int] = {}

    def follow_all(self, observations: Iterable[Observation]) -> TopicHistory:
        for obs in observations:
            self.follow(obs)
        return self

    def name_topics(self, names: Mapping[str, str]) -> None:
        """Set the names of some topic ids. Newer releases store only ids."""
        self.topic_names |= names

    def begin_partitions(self, begins: Mapping[int, int]) -> None:
        """Set where partitions of the topic begin, if not all their records will follow."""
        self._begins |= begins

    def follow(self, obs: Observation) -> None:
        """Record one observation. Anything that is no record of the topic is ignored."""
        body = obs.body
        name = body.get("name")
        if "offset" in body and "partition" in body:
            self._note_hole(body["partition"], body["offset"])
        if name == RECORD:
            self._begins.setdefault(body["partition"], body["offset"])
            self.now_ms = max(self.now_ms, body["timestamp_ms"])
            if "producer_id" in body:
                self._pending.setdefault((body["partition"], body["producer_id"]), []).append(obs)
            else:
                self._follow_record(obs, body)
        elif name == MARKER:
            pending = self._pending.pop((body["partition"], body["producer_id"]), [])
            for kept in pending if body["marker"] == COMMITTED else ():
                self._follow_record(kept, kept.body)
        elif name == UNREADABLE:
            self.unreadable[body["reason"]] += 1

    def follow_commit(self, commit: TopicCommit) -> Commit | None:
        """Record a commit, and return the one before it."""
        name, topic, partition, offset, at_ms, log_partition, log_offset = commit
        self._note_hole(log_partition, log_offset)
        self._begins.setdefault(log_partition, log_offset)
        self.now_ms = max(self.now_ms, at_ms)
        return _commit(self._group(name, log_partition, at_ms), topic, partition, offset, at_ms)

    def forget_group(self, name: str) -> None:
        """Forget a group that its coordinator has deleted."""
        del self.groups[name]
        self._changes.pop(name, None)

    def _group(self, name: str, partition: int, at_ms: int) -> LoggedGroup:
        """Return the group of a current record, which may be its first."""
        group = self.groups.get(name)
        if group is None:
            # A partition whose log begins at offset 0 has lost nothing by retention. What compaction removed leaves a tombstone or a newer record.
            group = self.groups[name] = LoggedGroup(group=name, begins_ms=at_ms, is_whole=self._begins[partition] == 0)
        if at_ms > group.newest_ms:
            group.newest_ms = at_ms
        return group

    def _note_hole(self, partition: int, offset: int) -> None:
        """Record missing offsets: compaction removed them, or they are not visible here."""
        expected = self._next.get(partition)
        if expected is not None and offset > expected:
            self._holes[partition] = offset
        self._next[partition] = offset + 1

    def _is_gapless(self, group: LoggedGroup, place: tuple[int, int]) -> bool:
        """Return whether every record since the group's last generation was readable."""
        hole = self._holes.get(place[0], 0)
        return group.rebalances[-1].place >= (place[0], hole) if group.rebalances else group.is_whole and not hole

    def _follow_record(self, obs: Observation, body: Mapping[str, Any]) -> None:
        if obs.group is None:
            return
        at_ms = body["timestamp_ms"]
        group = self._group(obs.group, body["partition"], at_ms)
        record = body["record"]
        if record == OFFSET_COMMIT:
            _follow_commit(group, obs, at_ms)
            return
        place = (body["partition"], body["offset"])
        if record == _GROUP_METADATA:
            follow_generation(group, body["value"], at_ms, place, is_gapless=self._is_gapless(group, place))
        elif (parts := split_name(record)) is not None:
            self._follow_epochs(group, *parts, body, at_ms, place)
        if len(group.rebalances) > _REBALANCES_MAX:
            del group.rebalances[0]

    def _follow_epochs(self, group: LoggedGroup, protocol: str, kind: str, body: Mapping[str, Any], at_ms: int, place: tuple[int, int]) -> None:
        if kind == "PartitionMetadata" and body["value"] is not None:
            self.topic_names |= {topic["topic_id"]: topic["topic_name"] for topic in body["value"].get("topics", ())}
        changes = self._changes.setdefault(group.group, EpochChanges())
        follow_epoch_record(group, changes, protocol, kind, body["key"], body["value"], at_ms, place, self.topic_names, self._session_of(protocol))

    def _session_of(self, protocol: str) -> int | None:
        """Return the session timeout of a protocol whose members commit."""
        return self.consumer_session_ms if protocol in ("consumer", "streams") else None


def _follow_commit(group: LoggedGroup, obs: Observation, at_ms: int) -> None:
    for topic, partition, offset in obs.offsets:
        _commit(group, topic, partition, offset, at_ms)
    for partition_key in obs.partitions:
        group.commits.pop(partition_key, None)


def _commit(group: LoggedGroup, topic: str, partition: int, offset: int, at_ms: int) -> Commit | None:
    """Record a commit. The first one after a rebalance shows how long nothing was committed."""
    _note_halt(group, at_ms)
    before = group.commits.get((topic, partition))
    group.commits[topic, partition] = Commit(offset, at_ms, at_ms - before.at_ms if before is not None else 0)
    return before


def _note_halt(group: LoggedGroup, at_ms: int) -> None:
    last = group.rebalances[-1] if group.rebalances else None
    if last is None or last.halted_ms is not None or at_ms < last.at_ms:
        return
    before = max((commit.at_ms for commit in group.commits.values() if commit.at_ms <= last.at_ms), default=None)
    if before is not None:
        last.halted_ms = at_ms - before
