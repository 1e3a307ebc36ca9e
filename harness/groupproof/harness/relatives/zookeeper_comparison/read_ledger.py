"""Who read which partition when, and what became of it: how long a partition had two readers, two owners, or none. Pure.

A member *reads* a partition from its first record to its last within one holding. It *owns* it as far as its reading stands: as far as a commit of
its own was accepted. Under a coordinator a member that was thrown out may read on where it can reach the log, but nothing of it stands any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["Figures", "ReadLedger"]

Span = tuple[int, int]


@dataclass(slots=True)
class _Holding:
    """One member's holding of one partition; `reads` are (ms, offset behind the last record read), `stands` is the offset that was accepted."""

    member: str
    since_ms: int
    until_ms: int | None = None
    reads: list[tuple[int, int]] = field(default_factory=list)
    stands: int = 0

    def span(self, *, is_standing: bool) -> Span | None:
        counted = [at for at, behind in self.reads if not is_standing or behind <= self.stands]
        return (counted[0], counted[-1]) if counted else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Milliseconds summed over partitions, within the time that was looked at. `offsets_back` counts commits that took a group's offset back.

    `two_owners` are the partitions that had two owners at a time, `none_longest_ms` the longest time that one had no holder.
    """

    two_readers_ms: int
    two_owners_ms: int
    two_owners: int
    none_ms: int
    none_longest_ms: int
    offsets_back: int
    read_twice: int


class ReadLedger:
    """Told of everything as it happens, in milliseconds of one clock."""

    def __init__(self, partitions: Iterable[TopicPartition]) -> None:
        self._held: dict[TopicPartition, list[_Holding]] = {partition: [] for partition in partitions}
        self._offsets: dict[TopicPartition, int] = {}
        self._back: list[int] = []

    def holds(self, member: str, partitions: Iterable[TopicPartition], at_ms: int) -> None:
        """Note that a member takes partitions to be its own from now on."""
        for partition in partitions:
            if self._open(member, partition) is None:
                self._held[partition].append(_Holding(member, at_ms))

    def lets_go(self, member: str, at_ms: int, partitions: Iterable[TopicPartition] | None = None) -> None:
        """Note that it takes these (None: all) to be its own no more."""
        for partition in self._held if partitions is None else partitions:
            if (holding := self._open(member, partition)) is not None:
                holding.until_ms = at_ms

    def read(self, member: str, partition: TopicPartition, offset: int, at_ms: int) -> None:
        """Note that it got the record at `offset`."""
        if (holding := self._open(member, partition)) is not None:
            holding.reads.append((at_ms, offset + 1))

    def accepted(self, member: str, offsets: Mapping[TopicPartition, int], at_ms: int) -> None:
        """Note that a commit of its own was accepted: what it read up to there, in the holding that it has or had last, stands.

        A member that came back commits for its new holding, though it may have read farther in the one that it lost.
        """
        for partition, offset in offsets.items():
            holding = next((holding for holding in reversed(self._held[partition]) if holding.member == member), None)
            if holding is not None:
                holding.stands = max(holding.stands, offset)
            if offset < self._offsets.get(partition, offset):
                self._back.append(at_ms)
            self._offsets[partition] = offset

    def holders(self, partition: TopicPartition) -> set[str]:
        """Return who takes it to be its own now."""
        return {holding.member for holding in self._held[partition] if holding.until_ms is None}

    def figures(self, since_ms: int, until_ms: int) -> Figures:
        """Return what happened from `since_ms` to `until_ms`."""
        readers = {partition: _shared(self._spans(partition, is_standing=False), since_ms, until_ms) for partition in self._held}
        owners = {partition: _shared(self._spans(partition, is_standing=True), since_ms, until_ms) for partition in self._held}
        gaps = [gap for partition in self._held for gap in self._gaps(partition, since_ms, until_ms)]
        return Figures(
            two_readers_ms=sum(readers.values()), two_owners_ms=sum(owners.values()), two_owners=sum(map(bool, owners.values())),
            none_ms=sum(gaps), none_longest_ms=max(gaps, default=0),
            offsets_back=sum(since_ms <= at <= until_ms for at in self._back), read_twice=self._read_twice(since_ms, until_ms),
        )  # fmt: skip

    def _open(self, member: str, partition: TopicPartition) -> _Holding | None:
        return next((holding for holding in reversed(self._held[partition]) if holding.member == member and holding.until_ms is None), None)

    def _spans(self, partition: TopicPartition, *, is_standing: bool) -> list[Span]:
        return [span for holding in self._held[partition] if (span := holding.span(is_standing=is_standing)) is not None]

    def _gaps(self, partition: TopicPartition, since_ms: int, until_ms: int) -> list[int]:
        """Return how long each stretch was in which nobody held it."""
        gaps, held_to = [], since_ms
        for item in sorted(self._held[partition], key=lambda holding: holding.since_ms):
            if item.since_ms > held_to:
                gaps.append(min(item.since_ms, until_ms) - held_to)
            held_to = max(held_to, until_ms if item.until_ms is None else item.until_ms)
            if held_to >= until_ms:
                return gaps
        return [*gaps, until_ms - held_to]

    def _read_twice(self, since_ms: int, until_ms: int) -> int:
        """Return how many records were read once more, by whomever."""
        twice = 0
        for holdings in self._held.values():
            entries: set[int] = set()
            for at, behind in sorted(read for holding in holdings for read in holding.reads):
                twice += behind in entries and since_ms <= at <= until_ms
                entries.add(behind)
        return twice


def _shared(spans: list[Span], since_ms: int, until_ms: int) -> int:
    """Return for how many milliseconds two spans or more go on at a time."""
    edges = sorted({edge for span in spans for edge in span} | {since_ms, until_ms})
    within = [(begin, end) for begin, end in pairwise(edges) if since_ms <= begin and end <= until_ms]
    return sum(end - begin for begin, end in within if sum(first <= begin and end <= last for first, last in spans) > 1)
