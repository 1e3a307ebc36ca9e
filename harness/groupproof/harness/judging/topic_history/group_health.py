"""Problems of a group by its history in the offsets topic: storms, flapping members, partitions without owner, stalled commits. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from groupproof.harness.judging.diagnosis.causes import Cause
from groupproof.harness.judging.topic_history.group_halts import begun, halts_of, unassigned
from groupproof.harness.judging.topic_history.logged_groups import CLASSIC, LoggedGroup, LoggedRebalance
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["FLAPS", "HOUR_MS", "SHORT_MS", "STALLED_MS", "STORM", "STORM_MS", "Flap", "GroupHealth", "health_of"]

HOUR_MS: Final = 3_600_000

STORM: Final = 5
"""The number of rebalances within `STORM_MS` that are a storm."""

STORM_MS: Final = 600_000

FLAPS: Final = 3
"""The number of losses within the window from which a member flaps."""

SHORT_MS: Final = 60_000
"""A member with no membership longer than this (ms) never keeps its assignment."""

STALLED_MS: Final = 300_000
"""A partition that was committed before and not for this time (ms) since is stalled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flap:
    """A member that was lost repeatedly. `keeps_nothing`: no membership lasted for `SHORT_MS`."""

    name: str
    host: str
    times: int
    keeps_nothing: bool

    def to_json(self) -> dict[str, Any]:
        return {"member": self.name, "host": self.host, "times": self.times, "keeps_nothing": self.keeps_nothing}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupHealth:
    """A group at one moment. `recent` are the rebalances of the window. `stalled` maps partitions to the ms since their last commit."""

    group: LoggedGroup
    recent: tuple[LoggedRebalance, ...]
    in_storm: bool
    flapping: tuple[Flap, ...]
    without_owner: tuple[TopicPartition, ...]
    stalled: Mapping[TopicPartition, int]
    halts: tuple[str, ...] = ()

    @property
    def causes(self) -> dict[Cause, int]:
        return dict(Counter(rebalance.cause for rebalance in self.recent).most_common())

    @property
    def is_healthy(self) -> bool:
        return not (self.in_storm or self.flapping or self.without_owner or self.stalled or self.halts)

    @property
    def problems(self) -> list[str]:
        """Return the problems, a clause each."""
        found = [self._storm] if self.in_storm else []
        for flap in self.flapping:
            keeps = " and keeps no assignment for a minute" if flap.keeps_nothing else ""
            found.append(f"{flap.name} at {flap.host} was lost {flap.times} times{keeps}")
        found += self.halts
        if self.without_owner:
            found.append(f"{len(self.without_owner)} partitions without an owner")
        if self.stalled:
            found.append(f"{len(self.stalled)} partitions without a commit for {max(self.stalled.values()) // 1000} s")
        return found

    @property
    def _storm(self) -> str:
        lost = unassigned(self.recent)
        more = f", {lost} of them without an assignment" if lost else ""
        return f"storm: {len(self.recent) + lost} rebalances{more}"

    def to_json(self) -> dict[str, Any]:
        return {
            **self.group.to_json(), "rebalances": [rebalance.to_json() for rebalance in self.recent],
            "causes": {cause.value: count for cause, count in self.causes.items()}, "in_storm": self.in_storm,
            "flapping": [flap.to_json() for flap in self.flapping], "without_owner": [list(partition) for partition in self.without_owner],
            "stalled": [[*partition, ms] for partition, ms in self.stalled.items()], "problems": self.problems,
        }  # fmt: skip


def health_of(group: LoggedGroup, now_ms: int, *, partition_counts: Mapping[str, int] | None = None, window_ms: int = HOUR_MS) -> GroupHealth:
    """Return the health of a group at `now_ms`. Without `partition_counts` only partitions that were assigned or committed before can lack an
    owner."""
    since_ms = now_ms - window_ms
    recent = tuple(rebalance for rebalance in group.rebalances if rebalance.at_ms >= since_ms)
    return GroupHealth(
        group=group, recent=recent, in_storm=_is_storm(recent, now_ms), flapping=_flapping(group, since_ms),
        without_owner=_without_owner(group, partition_counts or {}), stalled=_stalled(group, now_ms), halts=tuple(halts_of(group, recent, now_ms)),
    )  # fmt: skip


def _is_storm(recent: tuple[LoggedRebalance, ...], now_ms: int) -> bool:
    return begun(recent, now_ms - STORM_MS) >= STORM


def _flapping(group: LoggedGroup, since_ms: int) -> tuple[Flap, ...]:
    departures = [departure for departure in group.departures if departure.at_ms >= since_ms]
    counts = Counter(departure.member.identity for departure in departures)
    newest = {departure.member.identity: departure.member for departure in departures}
    return tuple(
        Flap(
            name=newest[identity].name,
            host=newest[identity].host.lstrip("/"),
            times=times,
            keeps_nothing=all(departure.lasted_ms < SHORT_MS for departure in departures if departure.member.identity == identity),
        )
        for identity, times in counts.items()
        if times >= FLAPS
    )


def _without_owner(group: LoggedGroup, partition_counts: Mapping[str, int]) -> tuple[TopicPartition, ...]:
    """Return the subscribed partitions without an owner. During an epoch change partitions are between two owners, so none are returned."""
    if group.state != "Stable" or (group.protocol not in (CLASSIC, "consumer")):
        return ()
    subscribed = {topic for member in group.members.values() for topic in member.topics}
    if any(member.pattern for member in group.members.values()):
        subscribed |= group.counts.keys()
    owned = group.owned
    due = {(topic, index) for topic in subscribed for index in range(partition_counts.get(topic, group.counts.get(topic, 0)))}
    due |= {partition for partition in group.commits if partition[0] in subscribed and partition[1] < partition_counts.get(partition[0], 1 << 31)}
    return tuple(sorted(due - owned.keys()))


def _stalled(group: LoggedGroup, now_ms: int) -> dict[TopicPartition, int]:
    """Return the owned partitions that are behind the others of the group. Where all commits ended, there may have been nothing to read."""
    owned = group.owned
    ages = {partition: now_ms - commit.at_ms for partition, commit in group.commits.items() if partition in owned}
    if not ages or min(ages.values()) > STALLED_MS:
        return {}
    return {partition: ms for partition, ms in sorted(ages.items()) if ms > STALLED_MS}
