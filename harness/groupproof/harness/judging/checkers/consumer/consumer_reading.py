"""Checks what members of a consumer group read: only what answers assigned to them, and no record of a partition after its callback.

The owners are those of the tracker, as for classic members (`shared/ownership.py`, `shared/fetches.py`). Only the requirements differ, and what is
legal while a partition is given up. A member of a mixed group that speaks the classic protocol is not judged here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import ClassVar, Final

from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import SLACK_MS
from groupproof.harness.judging.checkers.listening_checker import WaitingChecker
from groupproof.harness.judging.checkers.shared.fetches import ClientFetch, FetchesStayWithOwners
from groupproof.harness.judging.checkers.shared.ownership import RecordsComeToOwners
from groupproof.harness.judging.checkers.steady import NO_ROWS, Steady
from groupproof.harness.judging.checkers.tracking.group_tracker import TrackingChecker
from groupproof.harness.judging.checkers.tracking.ownership_tracker import REPORTERS, Holding, partitions_reported
from groupproof.harness.model.verdicts import Finding, Proof
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["CallbacksNameAssigned", "FetchesAreOfAssigned", "RecordsEndWithTheCallback"]

_COMMIT: Final = Api.OFFSET_COMMIT.title
_ASSIGNED: Final = Claim(requirement="CGT-03", expected="A member takes the partitions that answers assign to it, and no other.")


class RecordsEndWithTheCallback(RecordsComeToOwners):
    """An application gets no record of a partition after its revoked-callback (CGP-13), and none of a partition that no answer assigned (CGT-03).

    Until the callback ends, records are legal: a client with a background thread calls it while the application polls (franz-go). A program that
    reports no end of its callbacks is judged by their beginning. Records below an offset that the client committed before were delivered before
    (CLIENT-62): only their report is late.
    """

    listens = RecordsComeToOwners.listens | {("request", _COMMIT)}

    claim: ClassVar[Claim] = Claim(requirement="CGP-13", expected="No record of a partition is delivered after the callback that took it away.")
    never_assigned: ClassVar[Claim] = _ASSIGNED

    def __init__(self) -> None:
        super().__init__()
        self._ends: set[str] = set()
        self._committed: dict[tuple[str, TopicPartition], int] = {}

    def look(self, obs: Observation) -> Iterator[Finding]:
        if obs.kind == "request" and obs.api == _COMMIT and obs.client is not None:
            for topic, number, offset in obs.offsets:
                self._commit(obs.client, (topic, number), offset)
        if obs.who in REPORTERS and obs.client is not None and obs.body.get("name") == "callback_done":
            self._ends.add(obs.client)
        yield from super().look(obs)

    def wants(self, steady: Steady) -> Collection[int] | None:
        return NO_ROWS

    def absorb(self, steady: Steady) -> None:
        if (commits := steady.asked.get(_COMMIT)) is not None:
            for partition, committed in commits.committed.items():
                self._commit(steady.client, partition, committed.highest)

    def _commit(self, client: str, partition: TopicPartition, offset: int) -> None:
        """Record a commit up to the end of the callback. A later one may be of records that were delivered later."""
        if not self._group.hands.is_away(client, partition):
            self._committed[client, partition] = max(offset, self._committed.get((client, partition), 0))

    def _is_judged(self, client: str) -> bool:
        return self._group.dialect_of(client) == CONSUMER.name

    def _is_owned(self, holding: Holding, records: Observation) -> bool:
        if super()._is_owned(holding, records) or self._was_committed(holding, records):
            return True
        return holding.client in self._ends and holding.is_handed_over_at(records, self._group.late_ms(holding.client))

    def _was_committed(self, holding: Holding, records: Observation) -> bool:
        named = [item for item in records.body.get("partitions") or () if (item["topic"], item["partition"]) == holding.partition]
        committed = self._committed.get((holding.client, holding.partition), 0)
        return bool(named) and all(item.get("maxOffset", committed) < committed for item in named)


class FetchesAreOfAssigned(FetchesStayWithOwners):
    """A member fetches only partitions that an answer assigned to it (CGT-03). When it must end a fetch is CGP-14 (`consumer_frames.py`)."""

    never_assigned: ClassVar[Claim] = _ASSIGNED

    def look(self, obs: Observation) -> Iterable[Finding]:
        return super().look(obs) if obs.client is None or self._group.dialect_of(obs.client) == CONSUMER.name else ()

    def _belongs_to_another(self, fetch: ClientFetch, partition: TopicPartition) -> bool:
        return False


class CallbacksNameAssigned(WaitingChecker[Observation], TrackingChecker):
    """The assigned-callback names only partitions that an answer assigned to the client (CGT-03). It is judged a little later, because the answer is
    recorded when its bytes have left.
    """

    listens: ClassVar[frozenset[tuple[str, str]]] = frozenset()
    wait_ms = SLACK_MS

    def look(self, obs: Observation) -> Iterable[Finding]:
        is_report = obs.who in REPORTERS and obs.body.get("name") == "partitions_assigned"
        if is_report and obs.client in self._group.driven and self._group.dialect_of(obs.client or "") == CONSUMER.name:
            self._waiting.add(obs.at_ms, obs)
        return ()

    def _judge(self, event: Observation) -> Iterator[Finding]:
        client = event.client or ""
        foreign = sorted(partition for partition in partitions_reported(event) if self._group.was_never_assigned(client, partition))
        if foreign:
            sentence = "The application was told of a partition that no answer assigned."
            yield _ASSIGNED.failed(sentence, event, detail=str(foreign), proof=Proof.LIVENESS)
