"""Who owns a partition: never two members of one generation, and records come to owners only.

A member that the group went on without (expired, fenced) can't know that it lost its partitions: only members of one and the same generation are
compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from groupproof.harness.folds.claim import Claim, elapsed_ms
from groupproof.harness.folds.fold import Fold, Waiting
from groupproof.harness.folds.holding import REPORTING_MS, TOLD_BY, Hands, Holding, told_of
from groupproof.harness.folds.membership import Assigned, Assignment, Lives, Partition
from groupproof.harness.folds.reading import SLACK_MS
from groupproof.harness.verdicts import Finding
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["OwnersNeverOverlap", "RecordsComeToOwners"]

_UNTOLD_MAX = 16
"""Of records of a partition that nobody has told of yet, so many reports are kept for each client and partition."""


@dataclass(slots=True, eq=False)
class _Pair:
    """Two clients that hold a partition at once; `knows` tells whether both were in the newer of the generations that gave it to them, once that is certain."""

    earlier: Holding
    later: Holding
    knows: bool | None = None


class OwnersNeverOverlap(Fold):
    """No partition is in the hands of two members of one generation (ASSIGN-09, INV-09)."""

    def __init__(self) -> None:
        self._hands, self._lives = Hands(), Lives()
        self._assigned: dict[str, Assigned] = {}
        self._pairs: dict[tuple[str, Partition], list[_Pair]] = {}
        self._waiting: Waiting[_Pair] = Waiting(SLACK_MS)
        self._closing: Observation | None = None
        self._last: Observation | None = None

    def step(self, seen: Observation) -> Iterator[Finding]:
        for pair in self._waiting.due(seen.at_ms):
            self._ask(pair)
        self._last = seen
        if seen.who == "kit" and seen.body.get("name") == "end" and self._closing is None:
            self._closing = seen
        self._lives.follow(seen)
        if seen.kind == "response" and seen.api == Api.SYNC_GROUP.title and seen.client is not None:
            self._assigned.setdefault(seen.client, Assigned()).follow(seen)
        taken, given = self._hands.follow(seen)
        for holding in given:
            for pair in self._pairs.pop((holding.client, holding.partition), ()):
                yield from self._over(pair, seen)
        for holding in taken:
            self._meet(holding)

    def _meet(self, later: Holding) -> None:
        for client, earlier in self._hands.owners[later.partition].items():
            if client != later.client:
                pair = _Pair(earlier, later)
                for each in (earlier, later):
                    self._pairs.setdefault((each.client, each.partition), []).append(pair)
                self._waiting.add(later.since.at_ms, pair)

    def _ask(self, pair: _Pair) -> None:
        """Tell whether who was assigned the partition before took part in the generation that gave it to the other.

        Who takes it later may be who was assigned it before: its answer was under way for long, and the group has gone on without it since.
        """
        earlier, later = self._assignment(pair.earlier), self._assignment(pair.later)
        if later is None:
            return
        newer, other = later, pair.earlier
        if earlier is not None and earlier.seq > later.seq:
            newer, other = earlier, pair.later
        pair.knows = newer.generation is not None and self._lives.was_in(other.client, newer.generation)

    def _assignment(self, holding: Holding) -> Assignment | None:
        assigned = self._assigned.get(holding.client)
        return None if assigned is None else assigned.latest.get(holding.partition)

    def _over(self, pair: _Pair, until: Observation) -> Iterator[Finding]:
        for each in (pair.earlier, pair.later):
            mine = self._pairs.get((each.client, each.partition), [])
            if pair in mine:
                mine.remove(pair)
        shared_ms = elapsed_ms(pair.later.since, until)
        if shared_ms > REPORTING_MS and pair.knows and not self._lives.are_twins(pair.earlier.client, pair.later.client):
            claim = Claim(requirement="ASSIGN-09", expected="A partition is never in the hands of two members.")
            detail = f"{pair.later.partition}, {shared_ms:.0f} ms"
            yield claim.failed("Two members of one generation held a partition at once.", pair.later.since, detail=detail)

    def end(self) -> Iterator[Finding]:
        for pair in self._waiting.rest():
            self._ask(pair)
        until = self._closing or self._last
        for pair in list(dict.fromkeys(pair for pairs in self._pairs.values() for pair in pairs)):
            if until is not None:
                yield from self._over(pair, until)


class RecordsComeToOwners(Fold):
    """An application is given records only of partitions that it owns (CLIENT-63); a poll that ran while the callback came may be told of just after it."""

    def __init__(self) -> None:
        self._hands = Hands()
        self._waiting: Waiting[tuple[Observation, Partition]] = Waiting(REPORTING_MS)
        self._untold: dict[tuple[str, Partition], list[Observation]] = {}

    def step(self, seen: Observation) -> Iterator[Finding]:
        for records, partition in self._waiting.due(seen.at_ms):
            yield from self._judge(records, partition)
        taken, _ = self._hands.follow(seen)
        for holding in taken:
            for records in self._untold.pop((holding.client, holding.partition), ()):
                if not holding.covers(records.at_ms):
                    yield _foreign(records, holding.partition)
        if seen.kind == "event" and seen.who in TOLD_BY and seen.client is not None and seen.body.get("name") == "records_consumed":
            for partition in told_of(seen):
                self._waiting.add(seen.at_ms, (seen, partition))

    def _judge(self, records: Observation, partition: Partition) -> Iterator[Finding]:
        client = records.client or ""
        mine = list(self._hands.of(client, partition))
        if not mine:
            untold = self._untold.setdefault((client, partition), [])
            if len(untold) < _UNTOLD_MAX:
                untold.append(records)
        elif not any(each.covers(records.at_ms) for each in mine):
            yield _foreign(records, partition)

    def end(self) -> Iterator[Finding]:
        for records, partition in self._waiting.rest():
            yield from self._judge(records, partition)


def _foreign(records: Observation, partition: Partition) -> Finding:
    claim = Claim(requirement="CLIENT-63", expected="Records are delivered only of partitions that are assigned.")
    return claim.failed("Records of a partition that was taken away were delivered.", records, detail=str(partition))
