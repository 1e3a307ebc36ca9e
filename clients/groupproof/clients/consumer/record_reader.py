"""Reads records after an assignment: committed offsets, resets, and fetches from each partition's leader."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from groupproof.clients.consumer.cluster_view import ClusterView
from groupproof.clients.consumer.fetch_positions import Delivery, Fetching, grouped
from groupproof.clients.outputs import Fail, OffsetFetchResult, Output
from groupproof.protocol.vocabulary import Api, TopicPartition

if TYPE_CHECKING:
    from groupproof.clients.consumer.member_kinds import AnyMember

__all__ = ["ReaderHost", "RecordReader"]

_OVERDUE = "REQUEST_TIMED_OUT"
_EARLIEST: Final = -2
_LATEST: Final = -1

Body = dict[str, Any]


class ReaderHost(Protocol):
    """The services of the consumer that its record reader uses."""

    def now_ms(self) -> int: ...

    def perform(self, outputs: list[Output]) -> None: ...

    def fetch_offsets(self, partitions: frozenset[TopicPartition], take: Callable[[OffsetFetchResult], None]) -> None: ...

    def send_to_node(self, node_id: int, api: Api, body: Mapping[str, Any], answered: Callable[[Body | None], None]) -> bool: ...

    def want_metadata(self) -> None: ...

    def report(self, failure: Fail) -> None: ...


class RecordReader:
    """Tracks the positions of owned partitions. While the application polls, it keeps one Fetch in flight to each leader."""

    def __init__(self, member: AnyMember, view: ClusterView, host: ReaderHost) -> None:
        self.fetching = Fetching()
        self._member, self._view, self._host = member, view, host
        self._settings, self._policy = member.settings, member.policy
        self._looking_up: set[TopicPartition] = set()
        self._not_before_ms = 0
        self._gave_away: frozenset[TopicPartition] = frozenset()

    def own_positions(self) -> dict[TopicPartition, int]:
        """Return the application's positions in the owned partitions."""
        mine = self._member.owned
        return {partition: at for partition, at in self.fetching.positions.items() if partition in mine or self._policy.commits_unowned}

    def gives_away(self) -> None:
        """Remember the owned partitions before a callback removes them. Only planted bugs read them afterwards."""
        self._gave_away = self._member.owned

    def pursue(self) -> None:
        """Request what is missing: first positions, then records."""
        if self._host.now_ms() < self._not_before_ms:
            return
        self._pursue_positions()
        for node_id, body in self.fetching.requests(self._fetchable(), self._view.leaders, self._settings.fetch_max_wait_ms):
            if not self._host.send_to_node(node_id, Api.FETCH, body, self._taker(node_id)):
                self._take_records(node_id, None)

    def deliver(self) -> list[Delivery]:
        deliverable = self._reach() if self._policy.reads == "everything" else frozenset()
        return self.fetching.deliver(self._readable() | deliverable, self._settings.max_poll_records)

    def _reach(self) -> frozenset[TopicPartition]:
        """Return the partitions that are read: the owned ones, unless a bug is planted."""
        if self._policy.reads == "assigned" or not self._member.is_settled:
            return self._member.owned
        return frozenset(partition for partition in self._view.leaders if partition[0] in self._settings.topics)

    def _fetchable(self) -> frozenset[TopicPartition]:
        """Return the partitions to fetch: those that are read, without those that are being revoked."""
        return self._readable() | (self._reach() - (self._member.owned - self._member.readable))

    def _readable(self) -> frozenset[TopicPartition]:
        """Return the partitions whose records may be delivered: the owned ones, unless a bug is planted."""
        owned = self._member.readable
        if self._policy.delivers_revoked or (self._policy.delivers_while_joining and not self._member.is_settled):
            return owned | self._gave_away
        return owned

    # Positions

    def _pursue_positions(self) -> None:
        """Look up the committed offsets of assigned partitions only (FETCH-06)."""
        wanted = self.fetching.unpositioned(self._reach()) - self._looking_up
        if not wanted or not self._member.is_settled:
            return
        if self._policy.fetches_offsets:
            self._looking_up |= wanted
            self._host.fetch_offsets(wanted, self._take_committed)
        else:
            self._reset(wanted)

    def _take_committed(self, fetched: OffsetFetchResult) -> None:
        if fetched.error is not None:
            if fetched.error == _OVERDUE and self._policy.epochs.overdue_fetch == "forgotten":
                return
            if fetched.error == _OVERDUE and self._policy.epochs.overdue_fetch == "fatal":
                self._fail(fetched.error, "the committed offsets did not come in time")
                return
            self._looking_up.clear()
            if fetched.error == _OVERDUE:  # the coordinator was unreachable; retry, as each poll of the Java client does
                return
            if self._settings.by_epochs:  # report and retry: a position is never invented (CGP-10)
                self._host.report(Fail(error=fetched.error, message=f"OffsetFetch was answered {fetched.error}", fatal=False))
                self._try_later()
                return
            self._fail(fetched.error, f"OffsetFetch was answered {fetched.error}")
            return
        self._looking_up -= fetched.offsets.keys()
        for partition, offset in fetched.offsets.items():
            if partition in self._reach() and offset >= 0:
                self.fetching.stand(partition, offset)
        self._reset(frozenset(partition for partition, offset in fetched.offsets.items() if offset < 0))

    def _reset(self, partitions: frozenset[TopicPartition]) -> None:
        """Apply auto.offset.reset to partitions without a committed offset (CLIENT-79)."""
        if partitions and self._settings.auto_offset_reset == "none":
            self._fail("NO_OFFSET_FOR_PARTITION", f"nothing is committed for {sorted(partitions)[0]}")
            return
        timestamp = _EARLIEST if self._settings.auto_offset_reset == "earliest" else _LATEST
        by_leader = self._view.by_leader(partitions)
        if sum(map(len, by_leader.values())) < len(partitions):
            self._try_later()
        for node_id, mine in by_leader.items():
            asked = [(partition, {"partition_index": partition[1], "timestamp": timestamp}) for partition in mine]
            topics = tuple({"name": topic, "partitions": tuple(parts)} for topic, parts in grouped(asked))
            self._looking_up |= set(mine)
            if not self._host.send_to_node(node_id, Api.LIST_OFFSETS, {"replica_id": -1, "topics": topics}, self._lister(mine)):
                self._take_listed(mine, None)

    def _lister(self, asked: Sequence[TopicPartition]) -> Callable[[Body | None], None]:
        return lambda body: self._take_listed(asked, body)

    def _take_listed(self, asked: Sequence[TopicPartition], body: Body | None) -> None:
        self._looking_up -= set(asked)
        pairs = [] if body is None else [(topic["name"], entry) for topic in body["topics"] for entry in topic["partitions"]]
        found = {(name, entry["partition_index"]): entry["offset"] for name, entry in pairs if not entry["error_code"]}
        for partition, offset in found.items():
            if partition in self._reach():
                self.fetching.stand(partition, offset)
        if len(found) < len(asked):
            self._try_later()
        self._host.perform([])

    # Records

    def _taker(self, node_id: int) -> Callable[[Body | None], None]:
        return lambda body: self._take_records(node_id, body)

    def _take_records(self, node_id: int, body: Body | None) -> None:
        if self.fetching.answered(node_id, body):
            self._try_later()
        self._host.perform([])

    def _try_later(self) -> None:
        self._not_before_ms = self._host.now_ms() + self._settings.retry_backoff_ms
        self._host.want_metadata()

    def _fail(self, error: str, message: str) -> None:
        self._host.perform(self._member.fail(error, message, self._host.now_ms()))
