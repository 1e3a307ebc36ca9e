"""Checks that a member of a consumer group commits on its own only what is its own (COMMIT-27). Pure.

A coordinator of KIP-848 compares only the epoch of a commit, not its partitions. So a member with the newest epoch can overwrite the offsets of the
member that owns the partition now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from groupproof.harness.judging.checkers.checker import UnderWay
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import IN_FLIGHT_MS, SLACK_MS, error_of
from groupproof.harness.judging.checkers.listening_checker import WaitingChecker
from groupproof.harness.judging.checkers.shared.commits import commanded_offsets
from groupproof.harness.judging.checkers.steady import ALL_ROWS, NO_ROWS, Steady
from groupproof.harness.judging.checkers.tracking.group_tracker import TrackingChecker
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["CommitsAreOfOwned"]

_BEAT: Final = ConsumerEvent.HEARTBEAT.value
_COMMIT: Final = Api.OFFSET_COMMIT.title
_CLAIM: Final = Claim(requirement="COMMIT-27", expected="A member commits on its own only for partitions that it owns.")


@dataclass(slots=True, eq=False)
class _Commit:
    """A commit when it came. `foreign` are its partitions that were not the member's. `released` are those of them that it had released for long;
    `others` of these have another owner.
    """

    request: Observation
    foreign: frozenset[TopicPartition]
    released: frozenset[TopicPartition]
    others: frozenset[TopicPartition]


class CommitsAreOfOwned(WaitingChecker[_Commit], TrackingChecker):
    """Judges the accepted commits of clients that the kit drives. Elsewhere an application may commit any offset by hand.

    Legal are: offsets that the kit asked for; a commit until its partition is released by a heartbeat, and a little later, while it may be on its
    way; the repetition of such a commit that was not accepted, which a client sends again until it is (CGP-08).
    """

    listens = frozenset({("request", _BEAT), ("request", _COMMIT), ("response", _COMMIT)})
    wait_ms = SLACK_MS

    def __init__(self) -> None:
        super().__init__()
        self._commanded: dict[str, set[TopicPartition]] = {}
        self._listed: dict[str, frozenset[TopicPartition]] = {}
        self._released_ms: dict[tuple[str, TopicPartition], float] = {}
        self._open: dict[tuple[str, TopicPartition], int] = {}
        self._asked: UnderWay[_Commit] = UnderWay()

    def look(self, obs: Observation) -> Iterable[Finding]:
        self._asked.closed(obs)
        client = obs.client
        if client is None:
            return ()
        if obs.kind == "event":
            if offsets := commanded_offsets(obs):
                self._commanded.setdefault(client, set()).update((topic, partition) for topic, partition, _ in offsets)
        elif obs.api == _BEAT and obs.kind == "request":
            self._release(obs, client)
        elif obs.kind == "response" and (commit := self._asked.answered(obs)) is not None and not error_of(obs):
            self._accept(commit, client, obs.at_ms)
        elif obs.api == _COMMIT and obs.kind == "request" and obs.member and client in self._group.driven:
            self._commit(obs, client)
        return ()

    def wants(self, steady: Steady) -> Collection[int] | None:
        return ALL_ROWS if steady.client in self._group.driven else NO_ROWS

    def _release(self, beat: Observation, client: str) -> None:
        """Record what a heartbeat releases: it lists what the member still owns. A leave or a join releases all in another way (CGP-15)."""
        if (beat.member_epoch or 0) <= 0:
            self._listed.pop(client, None)
        elif beat.body.get("topic_partitions") is not None:
            before, self._listed[client] = self._listed.get(client, frozenset()), frozenset(beat.partitions)
            self._released_ms.update(((client, partition), beat.at_ms) for partition in before - self._listed[client])
        for partition in self._own(client):
            self._released_ms.pop((client, partition), None)

    def _own(self, client: str) -> frozenset[TopicPartition]:
        """Return what a member owns, and what it is assigned and may not have reported yet."""
        mine = self._group.members.get(client)
        return frozenset() if mine is None else mine.owned | (mine.target or frozenset())

    def _commit(self, request: Observation, client: str) -> None:
        if self._group.dialect_of(client) != CONSUMER.name or (request.generation or 0) <= 0:
            return
        own = self._own(client)
        foreign, released = set[TopicPartition](), set[TopicPartition]()
        for topic, number, offset in request.offsets:
            partition = (topic, number)
            if partition in own:
                self._open[client, partition] = offset
            elif topic in self._group.topics and partition not in self._commanded.get(client, ()):
                foreign.add(partition)
                since_ms = self._released_ms.get((client, partition))
                is_repeated = self._open.get((client, partition)) == offset
                if since_ms is not None and request.at_ms - since_ms >= IN_FLIGHT_MS and not is_repeated:
                    released.add(partition)
        others = frozenset(partition for partition in released if self._group.other_owners(partition, client))
        self._asked.ask(request, _Commit(request, frozenset(foreign), frozenset(released), others))

    def _accept(self, commit: _Commit, client: str, at_ms: float) -> None:
        for topic, number, offset in commit.request.offsets:
            if self._open.get((client, (topic, number))) == offset:
                del self._open[client, (topic, number)]
        if commit.foreign:
            self._waiting.add(at_ms, commit)

    def _judge(self, commit: _Commit) -> Iterator[Finding]:
        """Judge it a little later, because the answer that assigns is recorded when its bytes have left."""
        client = commit.request.client or ""
        if never := sorted(partition for partition in commit.foreign if self._group.was_never_assigned(client, partition)):
            yield _CLAIM.failed("It committed for a partition that was never assigned to it.", commit.request, detail=str(never))
        released = commit.released - self._own(client)
        if released:
            verdict = Verdict.FAILED if released & commit.others else Verdict.NON_STRICT
            sentence = "It committed for a partition that it had released, and that another member owns."
            alone = "It committed for a partition that it had released."
            yield _CLAIM.found(
                verdict, sentence if released & commit.others else alone, commit.request, detail=str(sorted(released)), proof=Proof.LIVENESS
            )
