"""Why a group on ZooKeeper rebalanced, and with what result, by the reports of its members: nothing else knows. Pure.

There is no coordinator: each member begins by itself when its own watch fires. Attempts that overlap belong together. Such a wave ends with its
last attempt. No member knows whether all partitions have an owner then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from groupproof.protocol.trace import Observation, Trace

__all__ = ["WATCHED", "Wave", "tell_waves", "waves_of"]

WATCHED: Final = "zookeeper"
"""The name of the events of consumers on ZooKeeper. `what` in their body says which event."""


@dataclass(slots=True, kw_only=True)
class Wave:
    """Overlapping rebalances of one group. `causes` are in words. `conflicts` counts attempts that found another's owner node. `failures` are
    members that gave up. `unowned` are the partitions with an owner before and none at its end. `ended_ms` is None where the trace ends before.
    """

    group: str
    started_ms: float
    ended_ms: float | None = None
    causes: list[str] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    attempts: int = 0
    conflicts: int = 0
    failures: list[str] = field(default_factory=list)
    unowned: list[str] = field(default_factory=list)


class _Group:
    """One group, by the events of its members."""

    def __init__(self, group: str) -> None:
        self.waves: list[Wave] = []
        self._group = group
        self._busy: set[str] = set()
        self._owners: dict[tuple[str, int], str] = {}
        self._partitions: set[tuple[str, int]] = set()
        self._gone: list[str] = []

    def feed(self, obs: Observation) -> None:
        change, name = obs.body.get("what"), obs.client or ""
        if change == "attempt-began":
            self._began(obs, name)
        elif change == "attempt-ended" and self.waves:
            self._ended(obs, name)
        elif change == "owned":
            self._owners |= dict.fromkeys(obs.partitions, name)
            self._partitions |= set(obs.partitions)
        elif change in ("released", "gone"):
            self._release(name, obs, is_gone=change == "gone")
        elif change == "failed" and self.waves:
            self.waves[-1].failures.append(name)
            self._rest(name, obs.at_ms)

    def _began(self, obs: Observation, name: str) -> None:
        if not self._busy:
            self.waves.append(Wave(group=self._group, started_ms=obs.at_ms, causes=self._gone))
            self._gone = []
        wave = self.waves[-1]
        self._busy.add(name)
        wave.attempts += 1
        if name not in wave.members:
            wave.members.append(name)
        cause = {"start": f"{name} started", "session": f"{name} came back with a new session"}.get(str(obs.body.get("cause")))
        if cause is not None and cause not in wave.causes:
            wave.causes.append(cause)

    def _ended(self, obs: Observation, name: str) -> None:
        self.waves[-1].conflicts += bool(obs.body.get("is_conflict"))
        if not obs.body.get("error"):
            self._rest(name, obs.at_ms)

    def _rest(self, name: str, at_ms: float) -> None:
        self._busy.discard(name)
        if not self._busy:
            self.waves[-1].ended_ms = at_ms
            self.waves[-1].unowned = [f"{topic}-{number}" for topic, number in sorted(self._partitions - self._owners.keys())]

    def _release(self, name: str, obs: Observation, *, is_gone: bool) -> None:
        self._owners = {partition: owner for partition, owner in self._owners.items() if owner != name}
        if is_gone:
            self._gone.append(f"{name} {obs.body.get('how', 'went')}")
            if name in self._busy:
                self._rest(name, obs.at_ms)


def waves_of(trace: Trace) -> list[Wave]:
    """Return the rebalances of every group on ZooKeeper in the trace, in the order in which they began."""
    groups: dict[str, _Group] = {}
    for obs in _watched(trace):
        groups.setdefault(obs.group or "", _Group(obs.group or "")).feed(obs)
    return sorted((wave for group in groups.values() for wave in group.waves), key=lambda wave: wave.started_ms)


def _watched(trace: Iterable[Observation]) -> Iterator[Observation]:
    return (obs for obs in trace if obs.kind == "event" and obs.body.get("name") == WATCHED)


def tell_waves(waves: Iterable[Wave]) -> list[str]:
    """Return the waves as lines of text."""
    lines: list[str] = []
    for wave in waves:
        cause = ", ".join(wave.causes) or "watches fired: a member's session ended, or a topic changed"
        took = "not over at the end of the trace" if wave.ended_ms is None else f"{wave.ended_ms - wave.started_ms:.0f} ms"
        lines.append(f"{wave.started_ms / 1000:9.3f} s  group {wave.group} on ZooKeeper: {cause}")
        lines.append(
            f"{'':13}{len(wave.members)} members rebalanced, each by itself, in {wave.attempts} attempts, {wave.conflicts} in conflict; {took}"
        )
        if wave.failures:
            lines.append(f"{'':13}given up by {', '.join(wave.failures)} after the retries (rebalance.max.retries): the others are not notified")
        if wave.unowned:
            lines.append(f"{'':13}left without an owner until the next watch fires: {', '.join(wave.unowned)}")
    return lines
