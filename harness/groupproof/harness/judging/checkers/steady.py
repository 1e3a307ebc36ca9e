"""Exchanges of which nothing comes: what a member that keeps still asks again and again, and is answered without error. Pure.

Most rows of a fleet are such. Whoever reads a trace in blocks finds the exchanges that are complete (a request, its answer, and where it is there when the
coordinator took it up), and asks the checkers what they want of a member's, as things stand now. A checker wants all rows unless it says otherwise beside its
own code. Of rows that it does not want it takes from a `Steady` what it has to keep, and is then as if it had been given them one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from groupproof.protocol.trace import Observation, Offsets
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["ALL_ROWS", "NO_ROWS", "Steady", "SteadyRequests", "Stretch"]

ALL_ROWS: Final = None
NO_ROWS: Final[Collection[int]] = ()
"""What a checker wants of a member's rows, where it wants all, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyRequests:
    """The requests of one api, one after the other, each with its answer: numbers, instants, and where request and answer stand in the block."""

    places: Sequence[int]
    answer_places: Sequence[int]
    seqs: Sequence[int]
    answer_seqs: Sequence[int]
    at_ms: Sequence[float]
    correlations: Sequence[int]
    offsets: Sequence[Offsets] = ()
    _by_partition: dict[TopicPartition, tuple[list[int], list[int]]] = field(default_factory=dict)

    def by_partition(self) -> Mapping[TopicPartition, tuple[list[int], list[int]]]:
        """Return the offsets of each partition in their order, and the numbers of the requests that name them."""
        found = self._by_partition
        if not found:
            for number, offsets in zip(self.seqs, self.offsets, strict=True):
                for topic, partition, offset in offsets:
                    named = found.get((topic, partition))
                    if named is None:
                        named = found[topic, partition] = ([], [])
                    named[0].append(offset)
                    named[1].append(number)
        return found

    def highest_offsets(self) -> Mapping[TopicPartition, int]:
        """Return the highest offset of each partition."""
        return {partition: max(offsets) for partition, (offsets, _) in self.by_partition().items()}


@dataclass(slots=True, kw_only=True)
class Steady:
    """What one member asked in a stretch in which nothing else befell its group, one exchange after the other; correlations rise.

    All requests came on one connection to one node, and each names the member, its generation and its instance; no body says another thing. `client` is the name of
    the process, `wire_client` the client id. `apis` are those of its requests, and of those that are under way at an end of the stretch, which goes until `end_ms`;
    `last_ms` is when its last answer left.
    """

    client: str
    wire_client: str
    member: str
    connection: int
    generation: int
    instance: str | None = None
    node: int | None = None
    apis: frozenset[str] = frozenset()
    last_ms: float = 0.0
    end_ms: float = 0.0
    asked: dict[str, SteadyRequests] = field(default_factory=dict)

    @property
    def last_place(self) -> int:
        return max((requests.answer_places[-1] for requests in self.asked.values()), default=-1)

    @property
    def first_ms(self) -> float:
        return min((requests.at_ms[0] for requests in self.asked.values()), default=self.last_ms)

    @property
    def lowest(self) -> int:
        return min((requests.correlations[0] for requests in self.asked.values()), default=0)

    @property
    def highest(self) -> int:
        return max((requests.correlations[-1] for requests in self.asked.values()), default=-1)

    def correlations(self) -> list[int]:
        """Return the correlations of all exchanges in their order."""
        return sorted(correlation for requests in self.asked.values() for correlation in requests.correlations)

    def frames(self) -> Iterator[tuple[str, str]]:
        """Yield the kinds and apis of its frames."""
        return ((kind, api) for api in self.asked for kind in ("request", "response"))

    def rows(self, frames: frozenset[tuple[str, str]]) -> Iterator[int]:
        """Yield where the frames of these kinds and apis stand."""
        for api, requests in self.asked.items():
            if ("request", api) in frames:
                yield from requests.places
            if ("response", api) in frames:
                yield from requests.answer_places


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Rows of one group that follow one another and are of steady exchanges all: `rows` of them are in `members`, and `fed` are those of exchanges that go beyond it.

    `places` and `at_ms` are those of its requests and answers, in their order. `read` makes the observations of rows by their places.
    """

    members: Sequence[Steady]
    rows: int
    places: Sequence[int]
    at_ms: Sequence[float]
    fed: Sequence[tuple[int, Observation]]
    read: Callable[[list[int]], list[Observation]]
