"""Steady exchanges: the same requests that a member at rest repeats, each answered without an error. Pure.

Most rows of a fleet are steady. A reader of a trace in blocks finds the complete exchanges (request, answer, and the processing where it is
recorded) and asks the checkers which rows of a member they need in their current state. By default a checker needs all rows. For the rows that it
does not need, it reads its state from a `Steady`. The result is the same as row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["ALL_ROWS", "BURST", "NO_ROWS", "CommittedOffsets", "Steady", "SteadyRequests", "Stretch"]

BURST: Final = 20
"""Between two requests whose time a checker compares, there are so many others, less one."""

ALL_ROWS: Final = None
NO_ROWS: Final[Collection[int]] = ()
"""The answer of a checker that needs all rows of a member, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedOffsets:
    """What a member committed for one partition, in order, with the numbers of the requests. `is_rising`: each offset is above the one before."""

    offsets: Sequence[int]
    seqs: Sequence[int]
    highest: int
    is_rising: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SteadyRequests:
    """The requests of one API in order, each with its answer: numbers, instants, and their positions in the block.

    `burst_ms` is the shortest time between a request and the one that is `BURST` requests later, infinity if there is none. `committed` is what they
    commit.
    """

    places: Sequence[int]
    answer_places: Sequence[int]
    seqs: Sequence[int]
    answer_seqs: Sequence[int]
    at_ms: Sequence[float]
    correlations: Sequence[int]
    burst_ms: float
    committed: Mapping[TopicPartition, CommittedOffsets] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Steady:
    """What one member asked while nothing else happened in its group, one exchange after the other. Correlations rise.

    All requests came on one connection to one node. Each names the member, its generation and its instance; the bodies say nothing else. `client`
    is the name of the process, `wire_client` the client id. `apis` are those of its requests, and of requests still open at the ends of the
    stretch. The stretch ends at `end_ms`; the last answer was sent at `last_ms`.
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

    def newest_correlations(self, most: int) -> list[int]:
        """Return the correlations of its last exchanges in order, at most so many."""
        return sorted(chain.from_iterable(requests.correlations[-most:] for requests in self.asked.values()))[-most:]

    def frames(self) -> Iterator[tuple[str, str]]:
        """Yield the kinds and APIs of its frames."""
        return ((kind, api) for api in self.asked for kind in ("request", "response"))

    def rows(self, frames: frozenset[tuple[str, str]]) -> Iterator[int]:
        """Yield the positions of the frames of these kinds and APIs."""
        for api, requests in self.asked.items():
            if ("request", api) in frames:
                yield from requests.places
            if ("response", api) in frames:
                yield from requests.answer_places


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Consecutive rows of one group that all belong to steady exchanges. `rows` of them are in `members`. `fed` are rows of exchanges that extend
    beyond it.

    `places` and `at_ms` are the positions and times of its requests and answers, in order. `read` makes the observations of rows by position.
    """

    members: Sequence[Steady]
    rows: int
    places: Sequence[int]
    at_ms: Sequence[float]
    fed: Sequence[tuple[int, Observation]]
    read: Callable[[list[int]], list[Observation]]
