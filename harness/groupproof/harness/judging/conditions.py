"""Whether a plan's condition holds, observation by observation. Pure. The driver waits on it, and tests feed it by hand.

A `Matches` of kind `fault` counts deliveries, the receipt that proves the fault. `where={"stage": …}` asks for another stage.
The path of a `where` that goes through a list holds for any of its items: `partitions.partition` is the number of any of the partitions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker
from groupproof.harness.judging.checkers.tracking.ownership_tracker import REPORTERS
from groupproof.harness.judging.reconciling import Reconciling
from groupproof.harness.judging.settling import Settling
from groupproof.harness.model.plan import Condition, GroupSettled, Matches, Reconciled, Stable
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import GroupState

__all__ = ["Watcher", "describe", "marks_of", "watch"]


class Watcher(Protocol):
    """Takes every observation of a trace in order, from its start. Returns whether the condition holds."""

    def feed(self, obs: Observation) -> bool: ...


def watch(condition: Condition, subjects: frozenset[str]) -> Watcher:
    """Return a watcher. `subjects` are the members that report `partitions_assigned`; reference members do so too."""
    if isinstance(condition, GroupSettled):
        return Settling(condition.members, condition.topics, condition.after)
    if isinstance(condition, Reconciled):
        return _ReconciledWatcher(condition)
    return _ObservationWatcher(condition) if isinstance(condition, Matches) else _StableWatcher(condition, subjects)


def marks_of(obs: Observation) -> str | None:
    """Return the name of the instant that `obs` is: a fault's delivery or a mark. Return None for any other observation."""
    if obs.kind == "fault" and obs.detail == "delivered":
        return obs.fault
    if obs.who == "kit" and obs.body.get("name") == "mark":
        return str(obs.body["mark"])
    return None


class _Since:
    """Opens at a named instant. A fault's delivery reaches back to its trigger: the client may have acted before the receipt was written."""

    def __init__(self, after: str | None) -> None:
        self._after = after
        self.is_open = after is None
        self.is_expected = after is None

    def feed(self, obs: Observation) -> bool:
        """Record the next observation. Return whether time begins to count with it, so that the watcher must forget earlier ones."""
        before = self.is_expected
        if not self.is_open and marks_of(obs) == self._after:
            self.is_open = self.is_expected = True
        elif obs.kind == "fault" and obs.fault == self._after and obs.detail == "triggered":
            self.is_expected = True
        return self.is_expected and not before


class _ObservationWatcher:
    def __init__(self, condition: Matches) -> None:
        self._condition = condition
        self._since = _Since(condition.after)
        self._count = 0

    def feed(self, obs: Observation) -> bool:
        self._since.feed(obs)
        if self._since.is_expected and _matches(self._condition, obs):
            self._count += 1
        return self._since.is_open and self._count >= self._condition.count


class _ReconciledWatcher:
    def __init__(self, condition: Reconciled) -> None:
        self._since = _Since(condition.after)
        self._group = Reconciling(condition.members, condition.topics)

    def feed(self, obs: Observation) -> bool:
        if self._since.feed(obs):
            self._group.since_seq = obs.seq
        self._group.follow(obs)
        return self._since.is_open and not self._group.missing()


_COLUMNS = ("api", "client", "fault", "error", "member", "state_after")


def _matches(condition: Matches, obs: Observation) -> bool:
    if obs.kind != condition.kind_of or not _fits(condition, obs):
        return False
    if condition.kind_of == "fault" and "stage" not in condition.where and obs.detail != "delivered":
        return False
    return all(value in _values_at(obs.body, path.split(".")) for path, value in condition.where.items())


def _fits(condition: Matches, obs: Observation) -> bool:
    wanted = ((getattr(condition, name), getattr(obs, name)) for name in _COLUMNS)
    if not all(want is None or want == have for want, have in wanted):
        return False
    return condition.event is None or (obs.who in REPORTERS and obs.body.get("name") == condition.event)


def _values_at(value: Any, path: list[str]) -> list[Any]:
    if not path:
        return [value]
    if isinstance(value, list | tuple):
        return [found for item in value for found in _values_at(item, path)]
    return _values_at(value.get(path[0]) if isinstance(value, Mapping) else None, path[1:])


class _StableWatcher:
    """Follows the group's state, its newest generation, and which members have synced and got their partitions since then.

    A member's `partitions_assigned` counts from its SyncGroup request on. In one process its event may be recorded before the response that caused
    it, because the response counts as sent only when the peer has received the bytes.
    """

    def __init__(self, condition: Stable, subjects: frozenset[str]) -> None:
        self._condition = condition
        self._since = _Since(condition.after)
        self._since_seq = -1
        self._subjects = subjects
        self._group = GroupTracker()

    def feed(self, obs: Observation) -> bool:
        if self._since.feed(obs):
            self._since_seq = obs.seq
        self._group.follow(obs)
        is_stable = self._since.is_open and self._group.state == GroupState.STABLE.value
        return is_stable and all(self._has_synced(name) for name in self._condition.members)

    def _has_synced(self, name: str) -> bool:
        """Return whether a member has its assignment in the newest generation and its application knows it. A cooperative application that already
        holds exactly that assignment needs no callback.
        """
        mine, hands = self._group.members.get(name), self._group.hands
        if mine is None or mine.assignment is None or mine.generation != self._group.generation or mine.assignment.seq < self._since_seq:
            return False
        is_told = mine.synced_seq < hands.assigned_seq.get(name, -1) > self._since_seq
        return name not in self._subjects or is_told or (mine.is_cooperative and hands.now.get(name, {}).keys() == mine.owned)


def describe(condition: Condition) -> str:
    """Return the condition as text for a report."""
    since = f" after {condition.after}" if condition.after else ""
    if isinstance(condition, Stable):
        return f"group stable with {', '.join(condition.members)}{since}"
    if isinstance(condition, GroupSettled):
        return f"group settled with {', '.join(condition.members)}{since}"
    if isinstance(condition, Reconciled):
        return f"group reconciled with {', '.join(condition.members)}{since}"
    names = ("client", "api", "event", "fault", "error", "member", "state_after")
    wanted = [f"{name}={getattr(condition, name)}" for name in names if getattr(condition, name) is not None]
    wanted += [f"{name}={value}" for name, value in condition.where.items()]
    times = f"{condition.count} × " if condition.count > 1 else ""
    return f"{times}{condition.kind_of}{' ' if wanted else ''}{' '.join(wanted)}{since}"
