"""The partition owners by the callbacks of the members. Pure.

An event of an application may come `REPORTING_MS` after a frame. Clocks of different processes are never compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from groupproof.harness.judging.checkers.frame_facts import has_no_callbacks, partitions_of
from groupproof.harness.judging.checkers.tracking.membership import joins_of
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import COOPERATIVE, Api, TopicPartition

__all__ = ["ENDS", "NO_CHANGES", "REPORTERS", "REPORTING_MS", "Changes", "Holding", "OwnershipTracker", "partitions_reported"]

REPORTING_MS: Final = 500
"""How far (ms) the report of a callback may lag behind the frames that follow it."""

REPORTERS: Final = frozenset({"shim", "member"})
"""The sources that report callbacks of an application."""

_TAKES: Final = frozenset({"partitions_revoked", "partitions_lost"})
_LIFE_OF_A_LOAD: Final = frozenset({"left", "died", "failed", "started"})
ENDS: Final = frozenset({
    *((who, "shutdown_complete") for who in REPORTERS), ("kit", "kill"), ("kit", "exit"), ("kit", "broken"), ("kit", "hello"),
    *(("member", name) for name in _LIFE_OF_A_LOAD),
})  # fmt: skip
"""After these events an application owns nothing: its process is gone, or starts again (CLIENT-48). A load's members report their own end, as no
kit watches them.
"""


@dataclass(slots=True, eq=False)
class Holding:
    """A partition that a client owns from one callback to another. `done_ms` is when the callback that took it ended."""

    client: str
    partition: TopicPartition
    since: Observation
    until: Observation | None = None
    done_ms: float | None = None

    def covers(self, at_ms: float, late_ms: float = REPORTING_MS) -> bool:
        """Return whether the client owned it at an instant, within the delay of a report."""
        return self.since.at_ms - at_ms <= late_ms and (self.until is None or at_ms - self.until.at_ms <= late_ms)

    def is_handed_over_at(self, obs: Observation, late_ms: float = REPORTING_MS) -> bool:
        """Return whether the application was still in the callback that takes it away."""
        if self.until is None or self.until.seq >= obs.seq:
            return False
        return self.done_ms is None or obs.at_ms - self.done_ms <= late_ms


Changes = tuple[Sequence[Holding], Sequence[Holding]]
"""The holdings that begin with an observation, and those that end."""

NO_CHANGES: Final[Changes] = ((), ())
_TELLS: Final = frozenset({"event", "response"})
_SYNC: Final = Api.SYNC_GROUP.title


@dataclass(slots=True)
class OwnershipTracker:
    """What every client owns now, and what it owned last, by partition. An eager assignment replaces all; a cooperative one adds. So does an eager
    one of a client without callbacks, whose shim reports only what is new, if the SyncGroup answer names what the application has kept.

    `assigned_seq` is each client's newest `partitions_assigned`, `ended_seq` its last end. `reports` are the clients whose callbacks are reported
    at all.
    """

    now: dict[str, dict[TopicPartition, Holding]] = field(default_factory=dict)
    last: dict[str, dict[TopicPartition, Holding]] = field(default_factory=dict)
    owners: dict[TopicPartition, dict[str, Holding]] = field(default_factory=dict)
    reports: set[str] = field(default_factory=set)
    assigned_seq: dict[str, int] = field(default_factory=dict)
    ended_seq: dict[str, int] = field(default_factory=dict)
    _cooperative: set[str] = field(default_factory=set)
    _without_callbacks: set[str] = field(default_factory=set)
    _answered: dict[str, set[TopicPartition]] = field(default_factory=dict)
    _going: dict[str, dict[TopicPartition, Holding]] = field(default_factory=dict)

    def follow(self, obs: Observation) -> Changes:
        """Record the next observation. Return the holdings that begin with it, and those that end."""
        if obs.client is None or obs.kind not in _TELLS:
            return NO_CHANGES
        if (grant := joins_of(obs)) is not None:
            self.reports_by_difference(obs.client, is_so=grant.protocol in COOPERATIVE)
        elif obs.api == _SYNC and not obs.error:
            self._answered[obs.client] = set(obs.partitions)
        return self._apply(obs, obs.client) if obs.kind == "event" else NO_CHANGES

    def reports_by_difference(self, client: str, *, is_so: bool) -> None:
        """Record whether the callbacks of a client name only changes, or all that it owns."""
        (self._cooperative.add if is_so else self._cooperative.discard)(client)

    def _apply(self, obs: Observation, client: str) -> Changes:
        name, mine = obs.body.get("name"), self.now.get(client, {})
        if (obs.who, name) in ENDS:
            self.ended_seq[client] = obs.seq
            if name == "hello":
                (self._without_callbacks.add if has_no_callbacks(obs.body.get("capabilities") or ()) else self._without_callbacks.discard)(client)
            return [], self._give(client, set(mine), obs)
        if obs.who not in REPORTERS:
            return NO_CHANGES
        if name == "partitions_assigned":
            self.reports.add(client)
            self.assigned_seq[client] = obs.seq
            owned = self._owned_after(client, set(mine), partitions_reported(obs))
            released = self._give(client, set(mine) - owned, obs)
            return self._take(client, owned - set(self.now.get(client, {})), obs), released
        if name == "callback_done":
            for holding in self._going.pop(client, {}).values():
                holding.done_ms = obs.at_ms
        if name not in _TAKES:
            return NO_CHANGES
        self.reports.add(client)
        return [], self._give(client, partitions_reported(obs), obs)

    def _owned_after(self, client: str, before: set[TopicPartition], reported: set[TopicPartition]) -> set[TopicPartition]:
        """Return what a client owns after it has reported an assignment, which names all or only what is new."""
        is_new = client in self._without_callbacks and before.isdisjoint(reported) and before | reported == self._answered.get(client)
        return before | reported if is_new or client in self._cooperative else reported

    def _take(self, client: str, partitions: set[TopicPartition], obs: Observation) -> list[Holding]:
        gained = [Holding(client, partition, obs) for partition in partitions]
        for holding in gained:
            self.now.setdefault(client, {})[holding.partition] = holding
            self.owners.setdefault(holding.partition, {})[client] = holding
        return gained

    def _give(self, client: str, partitions: set[TopicPartition], obs: Observation) -> list[Holding]:
        mine = self.now.get(client, {})
        released = [mine.pop(partition) for partition in partitions & set(mine)]
        for holding in released:
            holding.until = obs
            self.last.setdefault(client, {})[holding.partition] = holding
            del self.owners[holding.partition][client]
        self._going.setdefault(client, {}).update((item.partition, item) for item in released)
        return released

    def hands_over_unreported(self, client: str) -> bool:
        """Return whether the client keeps partitions through a rebalance and its callbacks are not reported, as behind a tap."""
        return client in self._cooperative and client not in self.reports

    def is_away(self, client: str, partition: TopicPartition) -> bool:
        """Return whether a partition was taken away and the callback about it has ended. During the callback the application may still commit."""
        last = self.last.get(client, {}).get(partition)
        return last is not None and last.done_ms is not None and partition not in self.now.get(client, {})

    def of(self, client: str, partition: TopicPartition) -> Iterator[Holding]:
        """Yield the client's newest holdings of a partition: the current one, and the last that ended."""
        for held in (self.now, self.last):
            if (found := held.get(client, {}).get(partition)) is not None:
                yield found


def partitions_reported(event: Observation) -> set[TopicPartition]:
    """Return the partitions that an application's event names, in its body or, for `member` events, in its column."""
    return partitions_of(event) if "partitions" in event.body else set(event.partitions)
