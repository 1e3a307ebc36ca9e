"""Orders the subscribers of a topic by their number of partitions: finds the next member to get one, and the next to give one up.

UniformHeterogeneousAssignmentBuilder.MemberAssignmentBalancer. It keeps two ranges of the sorted subscribers: those with the fewest partitions and
those with the most. All members of a range started with equal numbers. `sizes` is the builder's own list, which changes while partitions move.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["MemberBalancer"]


class MemberBalancer:
    """The subscribers of one topic, as member indices. In a tie the lowest index comes first."""

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
        """Return the member that gets the next partition."""
        if self._next_least >= self._least_end:
            self._least_count += 1
            while self._least_end < len(self._sorted) and self._size_at(self._least_end) == self._least_count:
                self._least_end += 1
            self._next_least = 0
        self._next_least += 1
        return self._sorted[self._next_least - 1]

    def next_most_loaded(self) -> int | None:
        """Return the member that gives up the next partition, None where no member can."""
        if self._next_most < self._most_start:
            self._lower_most_loaded()
        if self._next_most < 0:
            return None
        self._next_most -= 1
        return self._sorted[self._next_most + 1]

    def exclude_most_loaded(self) -> None:
        """Exclude the member that `next_most_loaded` returned: it has no partition of the topic."""
        at, last = self._next_most + 1, self._most_end - 1
        self._sorted[at], self._sorted[last] = self._sorted[last], self._sorted[at]
        self._most_end -= 1

    @property
    def is_balanced(self) -> bool:
        return self._most_count - self._least_count <= 1

    def _lower_most_loaded(self) -> None:
        if self._most_end <= self._most_start and self._most_start > 0:
            self._most_count = self._size_at(self._most_start - 1)  # every member of the range was excluded, so the counts need not be consecutive
        else:
            self._most_count -= 1
        while self._most_start > 0 and self._size_at(self._most_start - 1) == self._most_count:
            self._most_start -= 1
        self._next_most = self._most_end - 1

    def _size_at(self, position: int) -> int:
        return self._sizes[self._sorted[position]]
