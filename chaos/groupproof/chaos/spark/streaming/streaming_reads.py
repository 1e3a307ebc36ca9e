"""The rows that queries on Spark's Kafka source read, compared with the records that were there and with the coordinator's assignments. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from groupproof.harness.judging.checkers.tracking.reader_registry import membership_apis
from groupproof.harness.subjects.networks.request_connection import CLIENT_ID
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = [
    "Batch", "GenerationAssignment", "PartitionRead", "QueryRead", "QueryReads", "asked_by", "drivers_of", "given_by_coordinator", "joins_of",
    "who_read",
]  # fmt: skip

OTHERS: Final = "others"
_JOIN, _SYNC = Api.JOIN_GROUP.title, Api.SYNC_GROUP.title


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One micro-batch's read of one partition: `rows` from offset `first` to `last`, planned `at_s` seconds after the course began."""

    partition: int
    at_s: float
    first: int
    last: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryReads:
    """A query's result: its batches, the rows of each (partition, offset), each partition's `due` records at the stop, and its error."""

    query: str
    batches: tuple[Batch, ...]
    offsets: Mapping[tuple[int, int], int]
    due: Mapping[int, int]
    failed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionRead:
    """One query's read of one partition: `distinct` of the `due` records, `rows` in all."""

    partition: int
    due: int
    distinct: int
    rows: int

    @property
    def missed(self) -> int:
        return self.due - self.distinct

    @property
    def twice(self) -> int:
        """Return the number of repeated rows."""
        return self.rows - self.distinct


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRead:
    """A query's read of a topic, partition by partition."""

    query: str
    partitions: tuple[PartitionRead, ...]
    failed: str | None = None

    @property
    def due(self) -> int:
        return sum(partition.due for partition in self.partitions)

    @property
    def distinct(self) -> int:
        return sum(partition.distinct for partition in self.partitions)

    @property
    def missed(self) -> int:
        return sum(partition.missed for partition in self.partitions)

    @property
    def twice(self) -> int:
        return sum(partition.twice for partition in self.partitions)

    @property
    def is_whole(self) -> bool:
        """Whether every record was read exactly once."""
        return not self.missed and not self.twice

    def to_json(self) -> dict[str, Any]:
        return {
            "query": self.query, "due": self.due, "read": self.distinct, "missed": self.missed, "again": self.twice, "failed": self.failed,
            "partitions": [
                {"partition": partition.partition, "due": partition.due, "read": partition.distinct, "missed": partition.missed, "again": partition.twice}
                for partition in self.partitions
            ],
        }  # fmt: skip


def who_read(read: QueryReads) -> QueryRead:
    """Return a query's read of the due records; records that were appended during its stop do not count."""
    rows: Counter[int] = Counter()
    distinct: Counter[int] = Counter()
    for (partition, offset), count in read.offsets.items():
        if offset < read.due.get(partition, 0):
            distinct[partition] += 1
            rows[partition] += count
    partitions = tuple(PartitionRead(partition=key, due=due, distinct=distinct[key], rows=rows[key]) for key, due in sorted(read.due.items()))
    return QueryRead(query=read.query, partitions=partitions, failed=read.failed)


@dataclass(slots=True, kw_only=True)
class GenerationAssignment:
    """One generation with its assignments: partitions by query, `at_s` of the first answer."""

    generation: int
    at_s: float
    partitions: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def is_split(self) -> bool:
        """Whether several queries have different partitions."""
        held = [part for parts in self.partitions.values() for part in parts]
        return len([parts for parts in self.partitions.values() if parts]) > 1 and len(held) == len(set(held))

    def to_json(self) -> dict[str, Any]:
        return {
            "generation": self.generation,
            "at_s": round(self.at_s, 3),
            "partitions": {query: list(parts) for query, parts in self.partitions.items()},
        }


def drivers_of(trace: Iterable[Observation], queries: Sequence[str]) -> dict[str, str]:
    """Return the query of each driver's client id: queries start one after the other, and their drivers join in this order.

    Spark names its consumers after their group with a number, so the name does not show the query. A common client id would not help: Spark then
    refuses to share its cached consumers between queries and fails.
    """
    joined = dict.fromkeys(obs.client or "" for obs in trace if obs.kind == "request" and obs.api == _JOIN)
    return dict(zip(joined, queries, strict=False))


def joins_of(trace: Iterable[Observation]) -> int:
    """Return the number of all membership requests."""
    return sum(obs.kind == "request" and obs.api in membership_apis() for obs in trace)


def asked_by(trace: Iterable[Observation], drivers: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Return the number of requests by API and sender: a query's driver that joined, or `others` (administrators and tasks)."""
    found: dict[str, Counter[str]] = {}
    for obs in trace:
        if obs.kind == "request" and obs.api is not None and obs.client != CLIENT_ID:
            found.setdefault(drivers.get(obs.client or "", OTHERS), Counter())[obs.api] += 1
    return {who: dict(sorted(counts.items())) for who, counts in sorted(found.items())}


def given_by_coordinator(trace: Iterable[Observation], drivers: Mapping[str, str]) -> list[GenerationAssignment]:
    """Return the generations in order, with the assignments of each query's driver."""
    found: dict[int, GenerationAssignment] = {}
    for obs in trace:
        query = drivers.get(obs.client or "")
        if query is not None and obs.kind == "response" and obs.api == _SYNC and not obs.error and obs.generation is not None:
            assignment = found.setdefault(obs.generation, GenerationAssignment(generation=obs.generation, at_s=obs.at_ns / 1e9))
            assignment.partitions[query] = tuple(sorted(index for _, index in obs.partitions))
    return [found[generation] for generation in sorted(found)]
