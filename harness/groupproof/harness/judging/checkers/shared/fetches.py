"""Checks that a client fetches only the partitions that SyncGroup responses gave it, whatever its application prints.

Only clients that the kit drives are judged. Elsewhere processes may share a client id, and an application may read partitions by hand. Some Fetch
requests are legal: one on its way when the response left, those of an eager member with a parked JoinGroup, those of a cooperative member through a
rebalance, and those of a member that does not know that the group went on without it. So a client is compared with the others of its own
generation. An incremental Fetch of a session (KIP-227) lists only changes, so only what it lists is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Final

from groupproof.harness.judging.checkers.checker import UnderWay
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import IN_FLIGHT_MS
from groupproof.harness.judging.checkers.listening_checker import WaitingChecker
from groupproof.harness.judging.checkers.tracking.group_tracker import TrackingChecker
from groupproof.harness.judging.checkers.tracking.membership import Assignment
from groupproof.harness.judging.checkers.tracking.ownership_tracker import REPORTERS
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["HAND_OVER_MS", "UNSHOWN_MS", "ClientFetch", "FetchesStayWithOwners"]

HAND_OVER_MS: Final = 300.0
"""How long (ms) the threads of one client may need to share a new assignment."""

UNSHOWN_MS: Final = 5_000.0
"""After this time (ms) a client has read its SyncGroup response, even without a sign of it."""

_FETCHES_MIN: Final = 2
"""So many new Fetch requests of a partition are no accident."""

_FETCH, _OFFSET_FETCH = Api.FETCH.title, Api.OFFSET_FETCH.title
_NEVER: Final = -1


@dataclass(slots=True)
class _ForeignFetches:
    """The number of requests by which a client fetched a partition of another. `assignment` is the `seq` of the SyncGroup response that it had
    then.
    """

    assignment: int
    requests: int = 0


@dataclass(slots=True)
class _ClientFetches:
    """One client: which response it has provably read and when, when each connection's newest Fetch was answered, and its foreign fetches."""

    read: int = _NEVER
    read_ms: float = 0.0
    answered_ms: dict[int | None, float] = field(default_factory=dict)
    foreign: dict[TopicPartition, _ForeignFetches] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClientFetch:
    """A Fetch and the state when it came. `since_ms` is when the client got to know its assignment."""

    request: Observation
    assignment: Assignment | None
    since_ms: float
    answered_ms: float

    @property
    def is_new(self) -> bool:
        """Return whether the client made it after it knew its assignment: its connection's earlier Fetch was answered since, or it comes long
        after.
        """
        after_ms = self.request.at_ms - self.since_ms
        return after_ms >= IN_FLIGHT_MS or (after_ms >= HAND_OVER_MS and self.answered_ms >= self.since_ms)


class FetchesStayWithOwners(WaitingChecker[ClientFetch], TrackingChecker):
    """No member goes on fetching what its generation gave to another (ASSIGN-09), or fetches what no answer ever gave it (CLIENT-63).

    A dialect with a requirement of its own for the second has a subclass with its claim.
    """

    listens = frozenset({("request", _FETCH), ("response", _FETCH), ("request", _OFFSET_FETCH)})
    wait_ms = HAND_OVER_MS
    never_assigned: ClassVar[Claim] = Claim(requirement="CLIENT-63", expected="A client fetches only partitions that were assigned to it.")

    def __init__(self) -> None:
        super().__init__()
        self._clients: dict[str, _ClientFetches] = {}
        self._asked: UnderWay[Observation] = UnderWay()

    def look(self, obs: Observation) -> Iterable[Finding]:
        for gone in self._asked.closed(obs):
            self._clients[gone.client or ""].answered_ms.pop(gone.connection, None)
        if obs.client not in self._group.driven or obs.client is None:
            return ()
        own_fetches = self._clients.setdefault(obs.client, _ClientFetches())
        self._reads(own_fetches, obs)
        if obs.api == _FETCH and obs.kind == "request":
            self._asked.ask(obs, obs)
            self._waiting.add(obs.at_ms, self._fetch(own_fetches, obs))
        elif obs.api == _FETCH and obs.kind == "response" and self._asked.answered(obs) is not None:
            own_fetches.answered_ms[obs.connection] = obs.at_ms
        return ()

    def _assignment(self, client: str | None) -> Assignment | None:
        member = self._group.members.get(client or "")
        return None if member is None else member.assignment

    def _reads(self, own_fetches: _ClientFetches, obs: Observation) -> None:
        """Record that the client has read its newest SyncGroup response: it calls its application, or asks for offsets (FETCH-06)."""
        is_told = obs.who in REPORTERS and obs.body.get("name") == "partitions_assigned"
        asks = obs.kind == "request" and obs.api == _OFFSET_FETCH
        assignment = self._assignment(obs.client)
        if assignment is not None and own_fetches.read != assignment.seq and (is_told or asks):
            own_fetches.read, own_fetches.read_ms = assignment.seq, obs.at_ms

    def _fetch(self, own_fetches: _ClientFetches, obs: Observation) -> ClientFetch:
        assignment, since_ms = self._assignment(obs.client), obs.at_ms
        if assignment is not None:
            since_ms = own_fetches.read_ms if own_fetches.read == assignment.seq else assignment.at_ms + UNSHOWN_MS
        return ClientFetch(obs, assignment, since_ms, own_fetches.answered_ms.get(obs.connection, -1.0))

    def _judge(self, fetch: ClientFetch) -> Iterator[Finding]:
        """Judge a Fetch a little later, because the SyncGroup response that it acts on is recorded when its bytes have left."""
        client = fetch.request.client or ""
        for topic, number, _ in fetch.request.offsets:
            partition = (topic, number)
            if topic not in self._group.topics:
                continue  # a topic named only by its id (KIP-516), or one outside the group
            if self._group.was_never_assigned(client, partition):
                yield from self._foreign_fetch(fetch, partition, _NEVER)
            elif self._belongs_to_another(fetch, partition):
                yield from self._foreign_fetch(fetch, partition, fetch.assignment.seq if fetch.assignment else _NEVER)

    def _belongs_to_another(self, fetch: ClientFetch, partition: TopicPartition) -> bool:
        """Return whether the generation of the client's last read assignment gave the partition to another, and not to it, as far as the kit can
        read that.
        """
        assignment, client = fetch.assignment, fetch.request.client or ""
        if assignment is None or partition in assignment.partitions or client in self._group.unreadable or not fetch.is_new:
            return False
        return bool(self._group.others_in(assignment.generation, partition, client))

    def _foreign_fetch(self, fetch: ClientFetch, partition: TopicPartition, assignment: int) -> Iterator[Finding]:
        own_fetches = self._clients[fetch.request.client or ""]
        foreign = own_fetches.foreign.get(partition)
        if foreign is None or foreign.assignment != assignment:
            foreign = own_fetches.foreign[partition] = _ForeignFetches(assignment)
        foreign.requests += 1
        if foreign.requests != _FETCHES_MIN:
            return
        if assignment == _NEVER:
            yield self.never_assigned.failed("It fetched a partition that was never assigned to it.", fetch.request, detail=str(partition))
        else:
            claim = Claim(requirement="ASSIGN-09", expected="A partition is never in the hands of two members.")
            yield claim.failed("It went on fetching a partition that its generation gave to another member.", fetch.request, detail=str(partition))
