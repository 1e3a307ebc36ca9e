"""Checks owners by the reports of applications: never two in one generation, and records and callbacks match SyncGroup responses.

A member without which the group went on (expired, fenced) cannot know that it lost its partitions. So only members of the same generation are
compared. The arrival of a shim event alone proves nothing, so each finding here is LIVENESS, unless a Fetch supports it. `FetchesStayWithOwners`
finds what the frames prove by themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from groupproof.harness.judging.checkers.checker import Waiting
from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms
from groupproof.harness.judging.checkers.frame_facts import GROUP_REQUESTS, SLACK_MS
from groupproof.harness.judging.checkers.listening_checker import WaitingChecker
from groupproof.harness.judging.checkers.steady import ALL_ROWS, NO_ROWS, Steady
from groupproof.harness.judging.checkers.tracking.group_tracker import LATE_LINES_MS_MAX, TrackingChecker
from groupproof.harness.judging.checkers.tracking.membership import Assignment
from groupproof.harness.judging.checkers.tracking.ownership_tracker import REPORTERS, REPORTING_MS, Holding, partitions_reported
from groupproof.harness.model.verdicts import Finding, Proof
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["CallbacksTellAssignments", "OwnersNeverOverlap", "RecordsComeToOwners"]

_FETCH, _SYNC = Api.FETCH.title, Api.SYNC_GROUP.title
_GROUP_TITLES: Final = frozenset(api.title for api in GROUP_REQUESTS)

_ANSWERS_KEPT: Final = 8
"""The number of SyncGroup responses of one client that are kept for late events."""

_EARLY_RECORDS_MAX = 16
"""The number of reports kept for each client and partition, for records of a partition that no event has assigned yet."""


@dataclass(slots=True, eq=False)
class _Pair:
    """Two clients that own a partition at once. `knows` says whether both were in the newer of their two generations, once that is certain."""

    earlier: Holding
    later: Holding
    knows: bool | None = None


class OwnersNeverOverlap(TrackingChecker):
    """No partition has two owners in one generation (ASSIGN-09, INV-09)."""

    listens = frozenset({("request", _FETCH)})

    def __init__(self) -> None:
        super().__init__()
        self._pairs: dict[tuple[str, TopicPartition], list[_Pair]] = {}
        self._waiting: Waiting[_Pair] = Waiting(SLACK_MS)
        self._read_ms: dict[tuple[str, TopicPartition], float] = {}
        self._closing: Observation | None = None

    def queues(self) -> tuple[Waiting[Any], ...]:
        return (self._waiting,)

    def due(self, at_ms: float) -> Iterator[Finding]:
        for pair in self._waiting.due(at_ms):
            self._ask(pair)
        return iter(())

    def look(self, obs: Observation) -> Iterator[Finding]:
        if obs.who == "kit" and obs.body.get("name") == "end" and self._closing is None:
            self._closing = obs
        if obs.client is not None:
            self._read_ms.update(((obs.client, partition), obs.at_ms) for partition in _read_in(obs))
        revoked, assigned = self._group.changes
        for holding in assigned:
            for pair in self._pairs.pop((holding.client, holding.partition), ()):
                yield from self._over(pair, obs)
        for holding in revoked:
            self._meet(holding)

    def _meet(self, later: Holding) -> None:
        for client, earlier in self._group.hands.owners[later.partition].items():
            if client != later.client:
                pair = _Pair(earlier, later)
                for holding in (earlier, later):
                    self._pairs.setdefault((holding.client, holding.partition), []).append(pair)
                self._waiting.add(later.since.at_ms, pair)

    def _ask(self, pair: _Pair) -> None:
        """Set whether the client with the older assignment took part in the generation that gave the partition to the other.

        The later owner may have the older assignment: its response was delayed for long, and the group has gone on without it.
        """
        earlier, later = self._assignment(pair.earlier), self._assignment(pair.later)
        if later is None:
            return
        newer, other = later, pair.earlier
        if earlier is not None and earlier.seq > later.seq:
            newer, other = earlier, pair.later
        pair.knows = newer.generation is not None and self._group.lives.was_in(other.client, newer.generation)

    def _assignment(self, holding: Holding) -> Assignment | None:
        assigned = self._group.assigned.get(holding.client)
        return None if assigned is None else assigned.latest.get(holding.partition)

    def _over(self, pair: _Pair, until: Observation) -> Iterator[Finding]:
        for holding in (pair.earlier, pair.later):
            mine = self._pairs.get((holding.client, holding.partition), [])
            if pair in mine:
                mine.remove(pair)
        shared_ms, late_ms = elapsed_ms(pair.later.since, until), max(self._group.late_ms(item.client) for item in (pair.earlier, pair.later))
        if shared_ms > late_ms and pair.knows and not self._group.lives.are_twins(pair.earlier.client, pair.later.client):
            claim = Claim(requirement="ASSIGN-09", expected="A partition is never in the hands of two members.")
            detail = f"{pair.later.partition}, {shared_ms:.0f} ms"
            # A client that still fetches it owns it. For one that does not, an event is missing, by the client's fault or its shim's.
            reads = self._read_ms.get((pair.earlier.client, pair.earlier.partition), -1.0) > pair.later.since.at_ms
            missing = "No partitions_revoked came in time for a partition that another member was given."
            sentence = "Two members of one generation held a partition at once." if reads else missing
            yield replace(claim.failed(sentence, pair.later.since, detail=detail, proof=Proof.LIVENESS), line="partitions_revoked")

    def end(self) -> Iterator[Finding]:
        for pair in self._waiting.rest():
            self._ask(pair)
        until = self._closing or self._group.last
        for pair in list(dict.fromkeys(pair for pairs in self._pairs.values() for pair in pairs)):
            if until is not None:
                yield from self._over(pair, until)


def _read_in(obs: Observation) -> set[TopicPartition]:
    """Return the partitions that a client fetches, or whose records its application gets."""
    if obs.kind == "request" and obs.api == _FETCH:
        return {(topic, partition) for topic, partition, _ in obs.offsets}
    return partitions_reported(obs) if obs.who in REPORTERS and obs.body.get("name") == "records_consumed" else set()


class RecordsComeToOwners(WaitingChecker[tuple[Observation, TopicPartition]], TrackingChecker):
    """An application gets records only of partitions that it owns (CLIENT-63). A poll during the callback may be reported just after it.

    Partitions without a callback are judged at the end, by the answers that assign: an application need not report its assignment.
    A dialect with requirements of its own has a subclass with its claims.
    """

    listens = frozenset({("request", _FETCH)})
    wait_ms = REPORTING_MS
    claim: ClassVar[Claim] = Claim(requirement="CLIENT-63", expected="Records are delivered only of partitions that are assigned.")
    never_assigned: ClassVar[Claim] = claim

    def __init__(self) -> None:
        super().__init__()
        self._fetched: dict[str, set[TopicPartition]] = {}
        self._early_records: dict[tuple[str, TopicPartition], list[Observation]] = {}

    def look(self, obs: Observation) -> Iterator[Finding]:
        revoked, _ = self._group.changes
        if obs.kind == "request" and obs.api == _FETCH and obs.client in self._group.driven:
            self._fetched.setdefault(obs.client or "", set()).update((topic, partition) for topic, partition, _ in obs.offsets)
        for holding in revoked:
            for records in self._early_records.pop((holding.client, holding.partition), ()):
                if not self._is_owned(holding, records):
                    yield self._foreign(records, holding.partition)
        is_report = obs.kind == "event" and obs.who in REPORTERS and obs.body.get("name") == "records_consumed"
        if is_report and obs.client is not None and self._is_judged(obs.client):
            for partition in partitions_reported(obs):
                self._waiting.add(obs.at_ms, (obs, partition))

    def _is_judged(self, client: str) -> bool:
        return True

    def _is_owned(self, holding: Holding, records: Observation) -> bool:
        return holding.covers(records.at_ms, self._group.late_ms(holding.client))

    def _judge(self, item: tuple[Observation, TopicPartition]) -> Iterator[Finding]:
        records, partition = item
        client = records.client or ""
        mine = list(self._group.hands.of(client, partition))
        if not mine:
            early = self._early_records.setdefault((client, partition), [])
            if len(early) < _EARLY_RECORDS_MAX:
                early.append(records)
        elif not any(self._is_owned(holding, records) for holding in mine):
            yield self._foreign(records, partition)

    def end(self) -> Iterator[Finding]:
        yield from super().end()
        for (client, partition), early in self._early_records.items():
            if client in self._group.driven and self._group.was_never_assigned(client, partition):
                # A shim event alone proves nothing; with a Fetch it does.
                proof = Proof.SAFETY if partition in self._fetched.get(client, ()) else Proof.LIVENESS
                sentence = "Records of a partition that was never assigned were delivered."
                yield self.never_assigned.failed(sentence, early[0], detail=str(partition), proof=proof)

    def _foreign(self, records: Observation, partition: TopicPartition) -> Finding:
        sentence = "Records of a partition that was taken away were delivered."
        return self.claim.failed(sentence, records, detail=str(partition), proof=Proof.LIVENESS)


class CallbacksTellAssignments(WaitingChecker[Observation], TrackingChecker):
    """The callback of an assignment names only partitions that a SyncGroup response gave to the client (CLIENT-30).

    Its event may come after the next rebalance. So everything assigned until then counts too, unless the event names its generation.
    """

    listens = frozenset({("response", _SYNC), *(("request", title) for title in _GROUP_TITLES)})
    wait_ms = SLACK_MS

    def __init__(self) -> None:
        super().__init__()
        self._speaks: set[str] = set()
        self._past: dict[str, list[Assignment]] = {}

    def look(self, obs: Observation) -> Iterable[Finding]:
        client = obs.client
        if client is None or client not in self._group.driven:
            return ()
        if obs.kind == "request" and obs.api in _GROUP_TITLES:
            self._speaks.add(client)
        elif obs.kind == "response" and obs.api == _SYNC:
            self._keep(client, obs.at_ms)
        elif obs.who in REPORTERS and obs.body.get("name") == "partitions_assigned":
            self._waiting.add(obs.at_ms, obs)
        return ()

    def wants(self, steady: Steady) -> Collection[int] | None:
        return NO_ROWS if steady.client not in self._group.driven or steady.client in self._speaks else ALL_ROWS

    def _keep(self, client: str, now_ms: float) -> None:
        """Keep the client's newest response, and earlier ones that a late event may be about."""
        assigned = self._group.assigned.get(client)
        if assigned is not None and assigned.newest is not None:
            past = self._past.setdefault(client, [])
            replaced = [assignment.at_ms for assignment in past[1:]] + [now_ms]
            kept = [assignment for assignment, until_ms in zip(past, replaced, strict=False) if now_ms - until_ms <= LATE_LINES_MS_MAX]
            self._past[client] = [*kept[-_ANSWERS_KEPT:], assigned.newest]

    def _judge(self, event: Observation) -> Iterator[Finding]:
        client = event.client or ""
        past = self._past.get(client, [])
        # An event that names its generation is about that generation's response, however late it is.
        named = [assignment for assignment in past if assignment.generation == event.body.get("generation")]
        assigned = {partition for assignment in named or past for partition in assignment.partitions}
        foreign = partitions_reported(event) - assigned
        if foreign and client in self._speaks and client not in self._group.unreadable:
            claim = Claim(
                requirement="CLIENT-30", expected="An application is told of the partitions that SyncGroup answers gave its client, and of no other."
            )
            none = "The application was told of a partition that no SyncGroup answer gave."
            other = "The application was told of a partition, with a generation whose SyncGroup answer did not give it."
            elsewhere = {partition for assignment in past for partition in assignment.partitions}
            sentence = other if foreign <= elsewhere else none
            yield claim.failed(sentence, event, detail=str(sorted(foreign)), proof=Proof.LIVENESS)
