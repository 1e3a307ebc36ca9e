"""The iteration order of Java's hash maps, which affects Kafka's results: its server-side assignors distribute partitions in that order.

`JavaMap` is java.util.HashMap (JDK 17), `timeline_order` Kafka's TimelineHashMap. In Java a bin of more than eight keys in a table of 64 or more
becomes a tree. Its order is not modelled here: it would need partitions of one topic at a stride of 64.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import repeat
from operator import rshift
from typing import Any, Final, Generic, TypeVar

from groupproof.protocol.java_hash import java_hash

__all__ = ["JavaMap", "capacity_of_copy", "hash_order", "int_hash", "timeline_order", "uuid_hash"]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

_TABLE: Final = 16
"""HashMap.DEFAULT_INITIAL_CAPACITY."""
_BIN_MAX: Final = 8
"""HashMap.TREEIFY_THRESHOLD: a longer bin doubles a small table."""
_TREE_TABLE: Final = 64
"""HashMap.MIN_TREEIFY_CAPACITY: a table of this size or more keeps its long bins, as trees."""
_FIBONACCI: Final = -7046029254386353131
"""BaseHashTable.findSlot: Knuth's multiplicative hash."""
_LEAST_SPREAD: Final = 0xFFFF
_LONG: Final = (1 << 64) - 1


class JavaMap(Generic[Key, Value]):
    """A java.util.HashMap: a dict that is iterated by bucket, and within a bucket by the keys' arrival.

    A bin keeps its order when the table doubles. So only the table's size is stored, and the keys that were put at the front of their bin; iteration
    sorts the keys. `_sizes` are the bin sizes of a small table during insertion, None where they must be counted again.
    """

    __slots__ = ("_fronts", "_hash_of", "_sizes", "_table", "_values")

    def __init__(self, hash_of: Callable[[Key], int], capacity: int = _TABLE) -> None:
        self._hash_of = hash_of
        self._table = _power_of_two(capacity)
        self._values: dict[Key, Value] = {}
        self._fronts: dict[Key, None] = {}
        self._sizes: list[int] | None = None

    def __getitem__(self, key: Key) -> Value:
        return self._values[key]

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Key]:
        keys = tuple(self._values)
        if len(keys) > 1:
            if fronts := self._fronts:
                keys = (*reversed(fronts), *[key for key in keys if key not in fronts])
            keys = _by_bucket(keys, self._hash_of, self._table)
        return iter(keys)

    def items(self) -> Iterator[tuple[Key, Value]]:
        return ((key, self._values[key]) for key in self)

    def put(self, key: Key, value: Value) -> None:
        """HashMap.putVal: a new key goes to the end of its bin. The table doubles afterwards, when it is three quarters full."""
        values = self._values
        if key not in values:
            if len(values) >= _BIN_MAX and self._table < _TREE_TABLE and self._adds(key) >= _BIN_MAX:
                self._double()
            if len(values) >= self._table * 3 // 4:
                self._double()
        values[key] = value

    def put_all(self: JavaMap[Key, None], keys: Collection[Key]) -> None:
        """Put keys into a set one by one. Keys that cannot cause a doubling, of the table or for a bin, are put at once."""
        if not self._values and len(keys) <= self._table * 3 // 4 and (len(keys) <= _BIN_MAX or self._has_room(keys)):
            self._values = dict.fromkeys(keys)
        else:
            for key in keys:
                self.put(key, None)

    def _has_room(self, keys: Collection[Key]) -> bool:
        """Return whether no bin gets so many keys that a small table doubles."""
        return self._table >= _TREE_TABLE or max(Counter(_masked(_codes(keys, self._hash_of), self._table).values()).values()) <= _BIN_MAX

    def compute_if_absent(self, key: Key, make: Callable[[], Value]) -> Value:
        """HashMap.computeIfAbsent: a new key goes to the front of its bin, and the table doubles before the insertion, not afterwards."""
        values = self._values
        if key not in values:
            if len(values) > self._table * 3 // 4:
                self._double()
            if len(values) >= _BIN_MAX - 1 and self._table < _TREE_TABLE and self._adds(key) >= _BIN_MAX - 1:
                self._double()
            self._fronts[key] = None
            values[key] = make()
        return values[key]

    def remove(self, key: Key) -> None:
        if key in self._values:
            del self._values[key]
            self._fronts.pop(key, None)
            self._sizes = None

    @property
    def table(self) -> int:
        """The number of buckets."""
        return self._table

    def _double(self) -> None:
        self._table *= 2
        self._sizes = None

    def _adds(self, key: Key) -> int:
        """Count a new key of a small table in its bin; return the bin's previous size."""
        mask, sizes = self._table - 1, self._sizes
        if sizes is None:
            sizes = self._sizes = [0] * self._table
            for code in map(_spread_of, repeat(self._hash_of), self._values):
                sizes[code & mask] += 1
        place = _spread_of(self._hash_of, key) & mask
        sizes[place] += 1
        return sizes[place] - 1


def hash_order(keys: Iterable[Key], hash_of: Callable[[Key], int], capacity: int = _TABLE) -> list[Key]:
    """Return keys in the order of a HashMap or HashSet with this capacity, into which they were put one by one."""
    listed = tuple(keys)
    return list(listed if len(listed) == 1 else _order_of(listed, hash_of, capacity))  # one key, for example of a member with one topic


@lru_cache(maxsize=4_096)
def _order_of(keys: tuple[Key, ...], hash_of: Callable[[Key], int], capacity: int) -> tuple[Key, ...]:
    """Return the order. It is cached, because each target of a group with the same members and topics needs it again."""
    codes = _codes(keys, hash_of)
    least = table = _power_of_two(capacity)
    while len(codes) > table * 3 // 4:
        table *= 2
    if table < _TREE_TABLE and len(codes) > _BIN_MAX and max(Counter(_masked(codes, least).values()).values()) > _BIN_MAX:
        # A long bin may have doubled the table while the table was small. A bin keeps its order at every doubling.
        table = _map_of(codes, hash_of, capacity).table
    return tuple(sorted(codes, key=_masked(codes, table).__getitem__))


@lru_cache(maxsize=4_096)
def _by_bucket(keys: tuple[Key, ...], hash_of: Callable[[Key], int], table: int) -> tuple[Key, ...]:
    return tuple(sorted(keys, key=_masked(_codes(keys, hash_of), table).__getitem__))


def _codes(keys: Collection[Key], hash_of: Callable[[Key], int]) -> dict[Key, int]:
    numbers: Any = keys if hash_of is int_hash else ()
    if numbers and max(numbers) <= _LEAST_SPREAD and min(numbers) >= 0:  # a number of 16 bits is its own code, and a topic may have hundreds
        return dict(zip(numbers, numbers, strict=True))
    return dict(zip(keys, map(_spread_of, repeat(hash_of), keys), strict=True))


def _masked(codes: Mapping[Key, int], table: int) -> dict[Key, int]:
    """Return the bucket of each key."""
    return dict(zip(codes, map((table - 1).__and__, codes.values()), strict=True))


def _map_of(keys: Iterable[Key], hash_of: Callable[[Key], int], capacity: int) -> JavaMap[Key, None]:
    found: JavaMap[Key, None] = JavaMap(hash_of, capacity)
    for key in keys:
        found.put(key, None)
    return found


def capacity_of_copy(size: int) -> int:
    """Return the capacity of `new HashSet<>(collection)` (JDK 17; since JDK 19 it differs for exactly 12, 24, 48 … elements)."""
    return max(int(size / 0.75) + 1, _TABLE)


def timeline_order(keys: Iterable[str], *, size_max: int) -> list[str]:
    """Return keys in the order of a TimelineHashMap that got them in this order, and that had at most `size_max` keys at one time.

    org.apache.kafka.timeline.BaseHashTable: the table starts with two slots, doubles above four keys for three slots, and never shrinks. The keys
    of one slot are iterated from the newest to the oldest (SnapshottableHashTable.CurrentIterator takes the last one first).
    """
    table = 2
    while size_max * 3 > table * 4:
        table *= 2
    newest = list(keys)[::-1]
    shift = 65 - table.bit_length()
    slots = dict(zip(newest, map(rshift, map(_product, newest), repeat(shift)), strict=True))
    return sorted(newest, key=slots.__getitem__)


def int_hash(number: int) -> int:
    """Integer.hashCode."""
    return number


@lru_cache(maxsize=65_536)
def uuid_hash(topic_id: str) -> int:
    """org.apache.kafka.common.Uuid.hashCode of an id in UUID notation, as an unsigned 32-bit number."""
    bits = int(topic_id.replace("-", ""), 16)
    mixed = (bits >> 64) ^ (bits & _LONG)
    return (mixed >> 32) ^ (mixed & 0xFFFFFFFF)


@lru_cache(maxsize=65_536)
def _spread_of(hash_of: Callable[[Key], int], key: Key) -> int:
    """HashMap.hash: it mixes the upper bits into the lower ones."""
    code = hash_of(key) & 0xFFFFFFFF
    return code ^ (code >> 16)


@lru_cache(maxsize=65_536)
def _product(key: str) -> int:
    """Return the product whose highest bits are the slot of a key (BaseHashTable.findSlot)."""
    return (java_hash(key) * _FIBONACCI) & _LONG


def _power_of_two(capacity: int) -> int:
    return 1 << max(capacity - 1, 0).bit_length()
