"""The base of every checker: it reads observations in order and yields findings as it goes. Also the small stores that bound its state. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from math import inf
from operator import itemgetter
from typing import Generic, TypeVar

from groupproof.harness.judging.checkers.steady import ALL_ROWS, Steady
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation

__all__ = ["Checker", "Newest", "Numbers", "UnderWay", "Waiting", "findings_of"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class Checker(ABC):
    """Takes observations in the order of `seq`. It can be pickled between any two of them and resumed."""

    @abstractmethod
    def step(self, obs: Observation) -> Iterable[Finding]:
        """Process the next observation and return what is now certain. The caller must read all findings before the next step."""

    @abstractmethod
    def end(self) -> Iterable[Finding]:
        """Return what is certain when nothing follows. Called once."""

    def wants(self, steady: Steady) -> Collection[int] | None:
        """Return the positions of the rows that it needs of a member's steady exchanges in its current state. None means all, and is the default.

        It may skip a row if its later findings are the same without the row, apart from what `absorb` records.
        """
        return ALL_ROWS

    def absorb(self, steady: Steady) -> None:  # noqa: B027  # most keep nothing
        """Record what it keeps of a member's exchanges when it needs none of their rows."""

    def conclude(self, steady: Steady, needed: Collection[int]) -> None:  # noqa: B027  # most have nothing left to do
        """Record what it keeps of the rows that it did not need, at the end of the stretch, when nothing is due any more."""


def findings_of(checker: Checker, trace: Iterable[Observation]) -> Iterator[Finding]:
    """Yield what `checker` finds in a whole trace."""
    for obs in trace:
        yield from checker.step(obs)
    yield from checker.end()


@dataclass(slots=True)
class Waiting(Generic[T]):
    """Items that are judged a little later, because responses and reports are recorded a little after they were acted on. First in, first out."""

    wait_ms: float
    _queue: deque[tuple[float, T]] = field(default_factory=deque)

    def add(self, at_ms: float, item: T) -> None:
        self._queue.append((at_ms + self.wait_ms, item))

    @property
    def until_ms(self) -> float:
        """Return when the first item is due; infinity where nothing waits."""
        return self._queue[0][0] if self._queue else inf

    def __bool__(self) -> bool:
        return bool(self._queue)

    def __iter__(self) -> Iterator[T]:
        """Yield the items that still wait."""
        return (item for _, item in self._queue)

    def is_before(self, at_ms: float) -> bool:
        """Return whether every waiting item was added at or before an instant."""
        return all(until_ms - self.wait_ms <= at_ms for until_ms, _ in self._queue)

    def due(self, now_ms: float) -> Iterator[T]:
        """Yield and remove the items that were due before `now_ms`."""
        while self._queue and self._queue[0][0] < now_ms:
            yield self._queue.popleft()[1]

    def rest(self) -> Iterator[T]:
        """Yield and remove all items that still wait."""
        while self._queue:
            yield self._queue.popleft()[1]


@dataclass(slots=True)
class UnderWay(Generic[T]):
    """An item for each request that has no response yet. Requests of a closed connection get none.

    Items stand by connection, with the number of their request: ten thousand members that leave close as many connections.
    """

    _asked: dict[int | None, dict[int | None, tuple[int, T]]] = field(default_factory=dict)
    _count: int = 0

    def ask(self, request: Observation, item: T) -> None:
        self._count += 1
        self._asked.setdefault(request.connection, {})[request.correlation] = self._count, item

    def answered(self, answer: Observation) -> T | None:
        asked = self._asked.get(answer.connection)
        found = None if asked is None else asked.pop(answer.correlation, None)
        return None if found is None else found[1]

    def of(self, obs: Observation) -> T | None:
        """Return the item of the request that an observation belongs to, while it has no response."""
        found = self._asked.get(obs.connection, {}).get(obs.correlation)
        return None if found is None else found[1]

    def closed(self, obs: Observation) -> list[T]:
        """Return and remove the items of a connection if `obs` is its end; nothing for any other observation."""
        if obs.who != "link" or not self._asked or obs.body.get("name") != "closed":
            return []
        return [item for _, item in self._asked.pop(obs.connection, {}).values()]

    def rest(self) -> list[T]:
        """Return all items, in the order of their requests."""
        return [item for _, item in sorted(chain.from_iterable(asked.values() for asked in self._asked.values()), key=itemgetter(0))]

    def is_apart(self, steady: Steady) -> bool:
        """Return whether no open request is one of these exchanges, by connection and correlation."""
        return not any(steady.lowest <= (number or 0) <= steady.highest for number in self._asked.get(steady.connection, {}))


@dataclass(slots=True)
class Numbers:
    """A set of integers, kept as ranges. The generations of a member are mostly consecutive."""

    _starts: list[int] = field(default_factory=list)
    _ends: list[int] = field(default_factory=list)

    def add(self, number: int) -> None:
        if number in self:
            return
        at = bisect_left(self._starts, number)
        joins_left = at > 0 and self._ends[at - 1] == number - 1
        joins_right = at < len(self._starts) and self._starts[at] == number + 1
        if joins_left and joins_right:
            self._ends[at - 1] = self._ends.pop(at)
            self._starts.pop(at)
        elif joins_left:
            self._ends[at - 1] = number
        elif joins_right:
            self._starts[at] = number
        else:
            self._starts.insert(at, number)
            self._ends.insert(at, number)

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int):
            return False
        at = bisect_right(self._starts, number) - 1
        return at >= 0 and number <= self._ends[at]

    def __bool__(self) -> bool:
        return bool(self._starts)


@dataclass(slots=True)
class Newest(Generic[K, V]):
    """The `most` entries that were set last, by key. `has_forgotten` says whether older ones were dropped."""

    most: int
    has_forgotten: bool = False
    entries: dict[K, V] = field(default_factory=dict)

    def set(self, key: K, value: V) -> None:
        self.entries.pop(key, None)
        self.entries[key] = value
        if len(self.entries) > self.most:
            del self.entries[next(iter(self.entries))]
            self.has_forgotten = True

    def set_new(self, keys: Sequence[K], values: Sequence[V]) -> None:
        """Set several keys in order. None of them may be set yet."""
        self.has_forgotten = self.has_forgotten or len(self.entries) + len(keys) > self.most
        if len(keys) >= self.most:
            self.entries.clear()
        self.entries.update(zip(keys[-self.most :], values[-self.most :], strict=True))
        for key in list(islice(self.entries, max(0, len(self.entries) - self.most))):
            del self.entries[key]

    def get(self, key: K) -> V | None:
        return self.entries.get(key)
