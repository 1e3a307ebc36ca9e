"""Who is next to get a partition of a topic, and who to give one up: its subscribers by how many partitions they have.

UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer. Two ranges of the sorted subscribers are kept, those with the fewest partitions and those with the most; within a
range all started with equally many. `sizes` is the builder's own list, which changes while partitions move.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["MemberBalancer"]


class MemberBalancer:
    """The subscribers of one topic, as indices of members; the lowest index comes first where counts are equal."""

    def __init__(self, subscribers: Sequence[int], sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self._sorted = sorted(sorted(subscribers), key=sizes.__getitem__)
        self._least_end = 0
        self._least_count = sizes[self._sorted[0]] - 1
        self._next_least = 0
        self._most_start = self._most_end = len(self._sorted)
        self._most_count = sizes[self._sorted[-1]] + 1
        self._next_most = len(self._sorted) - 1
        self.imbalance = sizes[self._sorted[-1]] - sizes[self._sorted[0]]

    def next_least_loaded(self) -> int:
        """Return who gets the next partition."""
        if self._next_least >= self._least_end:
            self._least_count += 1
            while self._least_end < len(self._sorted) and self._size_at(self._least_end) == self._least_count:
                self._least_end += 1
            self._next_least = 0
        self._next_least += 1
        return self._sorted[self._next_least - 1]

    def next_most_loaded(self) -> int | None:
        """Return who gives the next partition up, if anybody can."""
        if self._next_most < self._most_start:
            self._lower_most_loaded()
        if self._next_most < 0:
            return None
        self._next_most -= 1
        return self._sorted[self._next_most + 1]

    def exclude_most_loaded(self) -> None:
        """Leave out the member that `next_most_loaded` returned: it has no partition of the topic."""
        at, last = self._next_most + 1, self._most_end - 1
        self._sorted[at], self._sorted[last] = self._sorted[last], self._sorted[at]
        self._most_end -= 1

    @property
    def is_balanced(self) -> bool:
        return self._most_count - self._least_count <= 1

    def _lower_most_loaded(self) -> None:
        if self._most_end <= self._most_start and self._most_start > 0:
            self._most_count = self._size_at(self._most_start - 1)  # all of the range were left out, so that the counts need not be neighbours
        else:
            self._most_count -= 1
        while self._most_start > 0 and self._size_at(self._most_start - 1) == self._most_count:
            self._most_start -= 1
        self._next_most = self._most_end - 1

    def _size_at(self, position: int) -> int:
        return self._sizes[self._sorted[position]]
