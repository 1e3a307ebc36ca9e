"""Whether a plan's condition holds, told observation by observation; pure. The driver waits on it, and tests feed it by hand.

A `Seen` of kind `fault` counts deliveries, the receipt that proves the fault; `where={"stage": …}` asks for another stage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from groupproof.harness.plan import Condition, Seen, Settled, Stable
from groupproof.harness.settling import Settling
from groupproof.protocol.trace import ExchangeId, Observation
from groupproof.protocol.vocabulary import COOPERATIVE, Api, GroupState

__all__ = ["Watcher", "describe", "marks_of", "watch"]


class Watcher(Protocol):
    """Takes every observation of a trace in order, from its start; tells whether the condition holds."""

    def feed(self, seen: Observation) -> bool: ...


def watch(condition: Condition, subjects: frozenset[str]) -> Watcher:
    """Return a watcher; `subjects` are the members that report `partitions_assigned`, the reference's do too."""
    if isinstance(condition, Settled):
        return Settling(condition.members, condition.topics, condition.after)
    return _SeenWatcher(condition) if isinstance(condition, Seen) else _StableWatcher(condition, subjects)


def marks_of(seen: Observation) -> str | None:
    """Return the name of the instant that `seen` is: a fault's delivery or a mark; else None."""
    if seen.kind == "fault" and seen.detail == "delivered":
        return seen.fault
    if seen.who == "kit" and seen.body.get("name") == "mark":
        return str(seen.body["mark"])
    return None


class _Since:
    """Opens at a named instant. A fault's delivery reaches back to its trigger: the client may have acted before the receipt was written."""

    def __init__(self, after: str | None) -> None:
        self._after = after
        self.is_open = after is None
        self.is_expected = after is None

    def feed(self, seen: Observation) -> bool:
        """Take the next observation; tell whether time begins to count with it, so that what came before is to be forgotten."""
        before = self.is_expected
        if not self.is_open and marks_of(seen) == self._after:
            self.is_open = self.is_expected = True
        elif seen.kind == "fault" and seen.fault == self._after and seen.detail == "triggered":
            self.is_expected = True
        return self.is_expected and not before


class _SeenWatcher:
    def __init__(self, condition: Seen) -> None:
        self._condition = condition
        self._since = _Since(condition.after)
        self._count = 0

    def feed(self, seen: Observation) -> bool:
        self._since.feed(seen)
        if self._since.is_expected and _matches(self._condition, seen):
            self._count += 1
        return self._since.is_open and self._count >= self._condition.count


_COLUMNS = ("api", "client", "fault", "error", "member", "state_after")


def _matches(condition: Seen, seen: Observation) -> bool:
    if seen.kind != condition.kind_of or not _fits(condition, seen):
        return False
    if condition.kind_of == "fault" and "stage" not in condition.where and seen.detail != "delivered":
        return False
    return all(_at(seen.body, path) == value for path, value in condition.where.items())


def _fits(condition: Seen, seen: Observation) -> bool:
    wanted = ((getattr(condition, name), getattr(seen, name)) for name in _COLUMNS)
    if not all(want is None or want == have for want, have in wanted):
        return False
    return condition.event is None or (seen.who == "shim" and seen.body.get("name") == condition.event)


def _at(body: Mapping[str, Any], path: str) -> Any:
    value: Any = body
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


class _StableWatcher:
    """Follows the group's state, its newest generation, and who has synced and was told its partitions since then.

    A member's `partitions_assigned` counts from its SyncGroup request on: in one process its event may be recorded before the answer that
    caused it, whose bytes count as gone only once the peer took them.
    """

    def __init__(self, condition: Stable, subjects: frozenset[str]) -> None:
        self._condition = condition
        self._since = _Since(condition.after)
        self._subjects = subjects
        self._state: str | None = None
        self._generation = -1
        self._asked: dict[ExchangeId, int] = {}
        self._synced: set[str] = set()
        self._asking: set[str] = set()
        self._told: set[str] = set()
        self._given: dict[str, set[tuple[str, int]]] = {}
        self._owned: dict[str, set[tuple[str, int]]] = {}
        self._cooperative = False

    def feed(self, seen: Observation) -> bool:
        if self._since.feed(seen):
            self._synced.clear()
            self._told.clear()
        self._follow(seen)
        return self._holds()

    def _follow(self, seen: Observation) -> None:
        if seen.kind == "transition":
            self._state = seen.state_after
            self._raise_generation(seen.generation)
        elif seen.kind == "event" and seen.who == "shim":
            self._follow_event(seen)
        elif seen.who == "kit" and seen.client is not None and seen.body.get("name") == "hello":
            self._owned.pop(seen.client, None)  # it begins anew
        elif seen.api == Api.SYNC_GROUP.title and seen.kind == "request":
            self._follow_sync(seen)
        elif seen.kind == "response" and seen.error == 0:
            self._follow_answer(seen)

    def _raise_generation(self, generation: int | None) -> None:
        if generation is not None and generation > self._generation:
            self._generation = generation
            self._synced.clear()
            self._asking.clear()
            self._told.clear()

    def _follow_event(self, seen: Observation) -> None:
        name, client = seen.body.get("name"), seen.client
        if client is None:
            return
        if name == "partitions_assigned":
            kept = self._owned.get(client, set()) if self._cooperative else set()  # an eager assignment replaces, a cooperative one adds
            self._owned[client] = kept | set(seen.partitions)
            if client in self._asking:
                self._told.add(client)
        elif name in ("partitions_revoked", "partitions_lost"):
            self._owned.setdefault(client, set()).difference_update(seen.partitions)

    def _follow_sync(self, seen: Observation) -> None:
        self._asked[seen.exchange_id] = -1 if seen.generation is None else seen.generation
        if seen.client is not None and seen.generation == self._generation:
            self._asking.add(seen.client)

    def _follow_answer(self, seen: Observation) -> None:
        if seen.api == Api.JOIN_GROUP.title:
            self._raise_generation(seen.generation)
            self._cooperative = seen.body.get("protocol_name") in COOPERATIVE
        elif seen.api == Api.SYNC_GROUP.title and seen.client is not None:
            generation = self._asked.get(seen.exchange_id, seen.generation)
            if generation == self._generation:
                self._synced.add(seen.client)
                self._given[seen.client] = set(seen.partitions)

    def _holds(self) -> bool:
        if not self._since.is_open or self._state != GroupState.STABLE.value:
            return False
        return all(name in self._synced and self._knows(name) for name in self._condition.members)

    def _knows(self, name: str) -> bool:
        """Tell whether the application of `name` knows its partitions; a cooperative one that keeps what it has need not be called."""
        kept = self._cooperative and self._owned.get(name, set()) == self._given.get(name)
        return name not in self._subjects or name in self._told or kept


def describe(condition: Condition) -> str:
    """Return the condition as a reader of a report wants it."""
    since = f" after {condition.after}" if condition.after else ""
    if isinstance(condition, Stable):
        return f"group stable with {', '.join(condition.members)}{since}"
    if isinstance(condition, Settled):
        return f"group settled with {', '.join(condition.members)}{since}"
    names = ("client", "api", "event", "fault", "error", "member", "state_after")
    wanted = [f"{name}={getattr(condition, name)}" for name in names if getattr(condition, name) is not None]
    wanted += [f"{name}={value}" for name, value in condition.where.items()]
    times = f"{condition.count} × " if condition.count > 1 else ""
    return f"{times}{condition.kind_of}{' ' if wanted else ''}{' '.join(wanted)}{since}"
