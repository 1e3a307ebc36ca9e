"""Records a task's run: its members' observations, in segments, and the counters of its progress."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from groupproof.chaos.spark.members.load_order import MemberOrder
from groupproof.chaos.spark.traces.trace_segments import Sealer, Stamp
from groupproof.clients.consumer.connection import Exchange
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition, error_named
from groupproof.protocol.wire.observation_columns import request_columns, response_columns

__all__ = ["MemberState", "TaskRecorder"]

_RECORDED: Final = frozenset(
    {Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.CONSUMER_GROUP_HEARTBEAT, Api.OFFSET_COMMIT, Api.OFFSET_FETCH}
)
_CONNECTIONS: Final = 1_000
"""The maximum connections in one life of a member: more would take the numbers of the next life."""


@dataclass(slots=True)
class MemberState:
    """A member's state by its own frames: the generation in which it is settled, or its member epoch; None while it joins or is absent.

    A member without frames has callbacks only: the partitions that it was assigned and has not lost.
    """

    group: str
    is_up: bool = False
    settled: int | None = None
    rebalances: int = 0
    assigned: set[TopicPartition] = field(default_factory=set)


class TaskRecorder:
    """Records for one task's attempt. Any thread may record; `seal` and `counted` are called by one."""

    def __init__(self, stamp: Stamp, sealer: Sealer, *, run: str, seed: int, slot: int, attempt: int) -> None:
        self._stamp, self._sealer, self._run, self._seed, self._slot, self._attempt = stamp, sealer, run, seed, slot, attempt
        self._lock = threading.Lock()
        self._lives = 0
        self._standing: dict[str, MemberState] = {}
        self._counts: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()

    # What happens

    def event(self, of: MemberOrder, name: str, *, is_up: bool | None = None, **columns: Any) -> None:
        """Record an event of a member's application or plan; `is_up` says whether the member is present from now on."""
        if is_up is not None:
            mine = self._of(of)
            mine.is_up, mine.settled = is_up, None
            mine.assigned.clear()
        body = {"name": name, **columns.pop("body", {}), **({"attempt": self._attempt} if self._attempt else {})}
        self._record("event", group=of.group, client=of.client, body=body, **columns)

    def watch(self, member: MemberOrder) -> Callable[[Exchange], None]:
        """Return the exchange observer for one life of a member."""
        with self._lock:
            self._lives += 1
            base = (self._slot * 1_000_000 + self._lives) * _CONNECTIONS
        return lambda exchange: self._exchanged(member, base, exchange)

    def called(self, member: MemberOrder, name: str, partitions: Collection[TopicPartition]) -> None:
        """Count a callback of a member without frames: `partitions_assigned`, `partitions_revoked` or `partitions_lost`."""
        mine = self._of(member)
        if name == "partitions_assigned":
            mine.assigned.update(partitions)
            self._counts["assignments"] += 1
        else:
            mine.assigned.difference_update(partitions)

    def committed(self, error: str | None) -> None:
        """Count a finished commit of a member without frames."""
        self._counts["commits"] += 1
        self.erred(error)

    def erred(self, error: str | None) -> None:
        """Count an error by Kafka's name; None is none."""
        if error is not None:
            self._errors[error] += 1

    def _exchanged(self, member: MemberOrder, base: int, exchange: Exchange) -> None:
        if exchange.api not in _RECORDED:
            return
        who, body = request_columns(exchange.api, exchange.request)
        columns: dict[str, Any] = {**who, **body}
        if exchange.answer is not None:
            columns |= response_columns(exchange.api, exchange.request, exchange.answer)
        self._count(self._of(member), exchange, None if exchange.answer is None else columns)
        self._record(
            "request" if exchange.answer is None else "response", api=exchange.api.title, version=exchange.version, correlation=exchange.correlation,
            client=member.client, connection=base + exchange.connection, **{**columns, "group": member.group},
        )  # fmt: skip

    def _count(self, mine: MemberState, exchange: Exchange, answered: Mapping[str, Any] | None) -> None:
        api = exchange.api
        if answered is None:
            if api is Api.JOIN_GROUP:
                mine.settled = None
            return
        self._counts[api.title] += 1
        error, generation = answered["error"], answered.get("generation")
        if error:
            self._errors[error_named(error)] += 1
        elif api is Api.JOIN_GROUP:
            mine.rebalances = max(mine.rebalances, generation or 0)
        elif api is Api.SYNC_GROUP:
            mine.settled = generation
        elif api is Api.CONSUMER_GROUP_HEARTBEAT:
            epoch = answered.get("member_epoch") or 0
            mine.settled, mine.rebalances = (epoch if epoch > 0 else None), max(mine.rebalances, epoch)
            self._counts["joined"] += exchange.request.get("member_epoch") == 0

    def _record(self, kind: str, **columns: Any) -> None:
        with self._lock:
            seq, at_ns = self._stamp()
            self._sealer.add(Observation(seq=seq, at_ns=at_ns, run=self._run, seed=self._seed, who="member", kind=kind, **columns))

    def _of(self, member: MemberOrder) -> MemberState:
        return self._standing.setdefault(member.client, MemberState(member.group))

    # Counters

    def seal(self) -> None:
        """Seal the recorded observations; raise `NoRoom`."""
        with self._lock:
            self._sealer.seal()

    def counted(self) -> dict[str, Any]:
        """Return the counters for the driver: for each group its newest generation, its present members, those settled in it, and the number of
        partitions that members without frames have."""
        groups: dict[str, list[int]] = {}
        for mine in list(self._standing.values()):
            counts = groups.setdefault(mine.group, [0, 0, 0, 0])
            counts[0] = max(counts[0], mine.rebalances)
        for mine in list(self._standing.values()):
            counts = groups[mine.group]
            counts[1] += mine.is_up
            counts[2] += mine.is_up and mine.settled is not None and mine.settled == counts[0]
            counts[3] += len(mine.assigned)
        return {
            "groups": groups,
            "heartbeats": self._counts[Api.HEARTBEAT.title] + self._counts[Api.CONSUMER_GROUP_HEARTBEAT.title],
            "commits": self._counts[Api.OFFSET_COMMIT.title] + self._counts["commits"],
            "joins": self._counts[Api.JOIN_GROUP.title] + self._counts["joined"] + self._counts["assignments"],
            "errors": dict(self._errors),
            "rows": self._sealer.rows,
            "segments": self._sealer.segments,
        }
