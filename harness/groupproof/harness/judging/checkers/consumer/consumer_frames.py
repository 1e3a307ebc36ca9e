"""Checks what members of a consumer group may send in any case: their own epochs and partitions, one heartbeat at a time, whole joins.

A request is judged a little later, because the answer that it acts on is recorded when its bytes have left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from groupproof.harness.judging.checkers.checker import UnderWay
from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import IN_FLIGHT_MS, SLACK_MS, error_of
from groupproof.harness.judging.checkers.listening_checker import ANY_API, ListeningChecker, WaitingChecker
from groupproof.harness.judging.checkers.steady import ALL_ROWS, NO_ROWS, Steady
from groupproof.harness.judging.checkers.tracking.group_tracker import TrackingChecker
from groupproof.harness.model.verdicts import Finding, Proof
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, TopicPartition

__all__ = ["EpochsGiven", "FetchesEndWithTheAcknowledgement", "HeartbeatsNameTheirMember", "JoinsAreWhole", "OneHeartbeatAtATime", "OwnedWereGiven"]

_BEAT: Final = ConsumerEvent.HEARTBEAT.value
_COMMIT, _TXN_COMMIT, _FETCH = Api.OFFSET_COMMIT.title, Api.TXN_OFFSET_COMMIT.title, Api.FETCH.title
_ASKS, _ANSWERS = ("request", _BEAT), ("response", _BEAT)

_PATIENCE_MS: Final = 1_000.0
"""No client gives up an answer this soon (ms). A heartbeat within this time is sent while the client still waits for the one before."""

_FETCHES_MIN: Final = 2
"""So many Fetch requests of a revoked partition are no accident."""


@dataclass(slots=True)
class _Membership:
    """What answers gave one member of one client, over all its memberships. `has_left` is true from its leave to its next join.

    `gone_ms` is when the answer to its leave was sent, and `left_on` the connection of its leave.
    """

    epochs: set[int] = field(default_factory=set)
    partitions: set[TopicPartition] = field(default_factory=set)
    has_left: bool = False
    gone_ms: float | None = None
    left_on: int | None = None

    def is_after_leave(self, beat: Observation) -> bool:
        """Return whether a heartbeat was sent after the leave. On another connection it may have been on its way (kafrust)."""
        return self.has_left and (beat.connection == self.left_on or self.has_long_left(beat.at_ms))

    def has_long_left(self, now_ms: float) -> bool:
        return self.gone_ms is not None and now_ms - self.gone_ms > IN_FLIGHT_MS


class _Memberships:
    """The memberships by client and member id. A restarted process may use its client id for another member."""

    def __init__(self) -> None:
        self._by_client: dict[tuple[str | None, str | None], _Membership] = {}

    def follow(self, obs: Observation) -> None:
        if obs.api != _BEAT:
            return
        if obs.kind == "response" and not error_of(obs) and (obs.member_epoch or 0) >= 0:
            membership = self.of(obs)
            membership.epochs.add(obs.member_epoch or 0)
            membership.partitions.update(obs.partitions)
        elif obs.kind == "response" and not error_of(obs) and self.of(obs).has_left:
            self.of(obs).gone_ms = obs.at_ms
        elif obs.kind == "request" and obs.member_epoch is not None:
            membership = self.of(obs)
            membership.left_on = obs.connection if obs.member_epoch < 0 else membership.left_on
            membership.has_left = obs.member_epoch < 0 or (membership.has_left and obs.member_epoch > 0)
            membership.gone_ms = membership.gone_ms if membership.has_left else None

    def of(self, obs: Observation) -> _Membership:
        return self._by_client.setdefault((obs.client, obs.member), _Membership())

    def epochs_of(self, member: str | None) -> set[int]:
        """Return the epochs of a member, whichever client asks for it: a producer has its own client id (KIP-447)."""
        return {epoch for (_, member_id), membership in self._by_client.items() if member_id == member for epoch in membership.epochs}

    def gave(self, steady: Steady) -> bool:
        """Return whether a member that has not left has the epoch that it names. The answer then repeats it."""
        membership = self._by_client.get((steady.client, steady.member))
        return membership is not None and steady.generation in membership.epochs and not membership.has_left


class EpochsGiven(WaitingChecker[tuple[Observation, bool]]):
    """A heartbeat names 0, -1, -2 or an epoch that an answer gave this member. A commit names such an epoch (CGI-18, CGP-04), within a transaction
    too (CGP-17).

    A transactional commit without a member id is not judged: a producer may commit for an application that is in no group. After its leave a member
    may only join (CGV-11), and may not commit with its old epoch (CGP-15).
    """

    listens = frozenset({_ASKS, _ANSWERS, ("request", _COMMIT), ("request", _TXN_COMMIT)})
    wait_ms = SLACK_MS

    def __init__(self) -> None:
        super().__init__()
        self._memberships = _Memberships()

    def look(self, obs: Observation) -> Iterable[Finding]:
        if obs.kind == "request" and obs.api == _TXN_COMMIT and obs.member:
            self._waiting.add(obs.at_ms, (obs, False))
        elif obs.kind == "request" and self._epoch(obs) > 0 and obs.member:
            membership = self._memberships.of(obs)
            self._waiting.add(obs.at_ms, (obs, membership.is_after_leave(obs) if obs.api == _BEAT else membership.has_long_left(obs.at_ms)))
        self._memberships.follow(obs)
        return ()

    def wants(self, steady: Steady) -> Collection[int] | None:
        return NO_ROWS if self._memberships.gave(steady) else ALL_ROWS

    @staticmethod
    def _epoch(request: Observation) -> int:
        """Return the epoch that a heartbeat or a commit names; 0 for any other request."""
        if request.api == _BEAT:
            return request.member_epoch or 0
        return (request.generation or 0) if request.api == _COMMIT else 0

    def _judge_transactional(self, request: Observation) -> Iterator[Finding]:
        epochs = self._memberships.epochs_of(request.member)
        if epochs and request.generation not in epochs:
            claim = Claim(requirement="CGP-17", expected="A commit within a transaction names the epoch that its member was given.")
            yield claim.failed("TxnOffsetCommit named an epoch that the member was never given.", request, detail=f"epoch {request.generation}")

    def _judge(self, item: tuple[Observation, bool]) -> Iterator[Finding]:
        request, has_left = item
        if request.api == _TXN_COMMIT:
            yield from self._judge_transactional(request)
            return
        membership = self._memberships.of(request)
        if self._epoch(request) not in membership.epochs:
            if request.api == _COMMIT and not membership.epochs:
                return  # a member of the other protocol, or one from before the trace
            claim = Claim(requirement="CGI-18" if request.api == _BEAT else "CGP-04", expected="A member names the epoch that it was given last.")
            yield claim.failed(f"{request.api} named an epoch that the member was never given.", request, detail=f"epoch {self._epoch(request)}")
        elif has_left and request.api == _BEAT:
            claim = Claim(requirement="CGV-11", expected="After its leave a member sends no heartbeat until it joins again.")
            yield claim.failed("A heartbeat with an epoch came after the leave of its member.", request)
        elif has_left:
            claim = Claim(requirement="CGP-15", expected="After its leave a member commits nothing with the epoch that it had.")
            yield claim.failed("A commit with an epoch came after the leave of its member had been answered.", request)


class OwnedWereGiven(WaitingChecker[Observation]):
    """A member reports only partitions as owned that an answer gave it (CGI-19)."""

    listens = frozenset({_ASKS, _ANSWERS})
    wait_ms = SLACK_MS

    def __init__(self) -> None:
        super().__init__()
        self._memberships = _Memberships()

    def look(self, obs: Observation) -> Iterable[Finding]:
        self._memberships.follow(obs)
        if obs.kind == "request" and obs.api == _BEAT and obs.partitions:
            self._waiting.add(obs.at_ms, obs)
        return ()

    def wants(self, steady: Steady) -> Collection[int] | None:
        return NO_ROWS  # they name no partitions

    def _judge(self, request: Observation) -> Iterator[Finding]:
        strange = sorted(set(request.partitions) - self._memberships.of(request).partitions)
        if strange:
            claim = Claim(requirement="CGI-19", expected="A member reports as its own what it was assigned, and nothing else.")
            yield claim.failed("A heartbeat reported partitions as owned that the member was never given.", request, detail=str(strange))


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Two heartbeats of a member. The later one was sent before the answer to the earlier one was recorded."""

    earlier: Observation
    later: Observation

    @property
    def is_on_one_connection(self) -> bool:
        return self.earlier.connection == self.later.connection

    def judge(self) -> Finding:
        claim = Claim(requirement="CGI-17", expected="A member has one heartbeat under way at a time.")
        detail = f"{self.later.at_ms - self.earlier.at_ms:.0f} ms"
        return claim.failed("A heartbeat was sent while another of the same member was unanswered.", self.later, detail=detail)


class OneHeartbeatAtATime(WaitingChecker[_Pair]):
    """A member sends no heartbeat while one is unanswered, except its leave (CGI-17, CGC-27).

    A client gives up a request when its connection ends, and notices that first. So a second heartbeat on another connection proves something only
    if the first one is answered after all. A connection is answered in order: an answer that is skipped is missing in the trace.
    """

    listens = frozenset({_ASKS, _ANSWERS})
    wait_ms = SLACK_MS

    def __init__(self) -> None:
        super().__init__()
        self._asked: UnderWay[Observation] = UnderWay()
        self._open: dict[tuple[str | None, str | None], Observation] = {}
        self._pairs: list[_Pair] = []
        self._closed: set[int] = set()

    def look(self, obs: Observation) -> Iterable[Finding]:
        if obs.who == "link" and obs.body.get("name") == "closed":
            return self._close(obs)
        if obs.api == _BEAT and obs.kind == "response" and (asked := self._asked.answered(obs)) is not None:
            self._forget(asked)
            self._answer(asked, obs)
        elif obs.api == _BEAT and obs.kind == "request":
            self._request(obs)
        return ()

    def wants(self, steady: Steady) -> Collection[int] | None:
        """Need no heartbeats one after the other, if no earlier one is open at the first of them, or that one was given up by then."""
        earlier, beats = self._open.get((steady.client, steady.member)), steady.asked[_BEAT]
        is_alone = earlier is None or beats.at_ms[0] - earlier.at_ms >= _PATIENCE_MS
        return NO_ROWS if is_alone and self._asked.is_apart(steady) else ALL_ROWS

    def absorb(self, steady: Steady) -> None:
        self._open.pop((steady.client, steady.member), None)

    def _request(self, obs: Observation) -> None:
        key = (obs.client, obs.member)
        earlier = self._open.get(key)
        is_leave = (obs.member_epoch or 0) < 0
        if earlier is not None and not is_leave and obs.at_ms - earlier.at_ms < _PATIENCE_MS:
            self._pairs.append(_Pair(earlier, obs))
        if not is_leave and obs.member:
            self._open[key] = obs
            self._asked.ask(obs, obs)

    def _answer(self, asked: Observation, answer: Observation) -> None:
        """Let a pair wait for the end of its connection once the earlier heartbeat is answered. Drop a pair whose earlier answer is missing."""
        for pair in self._pairs:
            if pair.earlier is asked:
                self._waiting.add(answer.at_ms, pair)
        self._pairs = [pair for pair in self._pairs if pair.earlier is not asked and not (pair.later is asked and pair.is_on_one_connection)]

    def _close(self, closed: Observation) -> Iterator[Finding]:
        for gone in self._asked.closed(closed):
            self._forget(gone)
        self._closed |= {pair.later.seq for pair in self._waiting if pair.earlier.connection == closed.connection}
        ended = [pair for pair in self._pairs if pair.earlier.connection == closed.connection]
        self._pairs = [pair for pair in self._pairs if pair not in ended]
        for pair in ended:
            if pair.is_on_one_connection and closed.at_ms - pair.later.at_ms > SLACK_MS:
                yield pair.judge()

    def _forget(self, asked: Observation) -> None:
        if self._open.get((asked.client, asked.member)) is asked:
            del self._open[asked.client, asked.member]

    def end(self) -> Iterator[Finding]:
        yield from super().end()
        yield from (pair.judge() for pair in self._pairs if pair.is_on_one_connection)

    def _judge(self, pair: _Pair) -> Iterator[Finding]:
        if pair.later.seq not in self._closed:
            yield pair.judge()
        self._closed.discard(pair.later.seq)


class JoinsAreWhole(ListeningChecker):
    """A join has a rebalance timeout, an empty list of owned partitions, and topic names or a regular expression (CGC-07)."""

    listens = frozenset({_ASKS})

    def look(self, obs: Observation) -> Iterator[Finding]:
        if obs.kind != "request" or obs.api != _BEAT or obs.member_epoch != 0:
            return
        body = obs.body
        lacks = [
            field_name
            for field_name, is_there in (
                ("a rebalance timeout", body.get("rebalance_timeout_ms", -1) > 0),
                ("an empty list of owned partitions", body.get("topic_partitions") is not None and not body["topic_partitions"]),
                ("a subscription", body.get("subscribed_topic_names") is not None or body.get("subscribed_topic_regex") is not None),
            )
            if not is_there
        ]
        if lacks:
            claim = Claim(requirement="CGC-07", expected="A join says all that the coordinator has to know of the member.")
            yield claim.failed(f"A join came without {' and '.join(lacks)}.", obs)

    def wants(self, steady: Steady) -> Collection[int] | None:
        return NO_ROWS  # none of them joins

    def end(self) -> Iterator[Finding]:
        return iter(())


class HeartbeatsNameTheirMember(ListeningChecker):
    """A heartbeat names its group and its member (CGC-01). Only in version 0 the coordinator makes the id, so that a join has none."""

    listens = frozenset({_ASKS})

    def look(self, obs: Observation) -> Iterator[Finding]:
        if obs.kind != "request" or obs.api != _BEAT:
            return
        may_be_nameless = obs.version == 0 and obs.member_epoch == 0
        lacks = [name for name, is_there in (("a group id", obs.group), ("a member id", obs.member or may_be_nameless)) if not is_there]
        if lacks:
            claim = Claim(requirement="CGC-01", expected="A heartbeat names its group and its member.")
            yield claim.failed(f"A heartbeat came without {' and '.join(lacks)}.", obs)

    def wants(self, steady: Steady) -> Collection[int] | None:
        return NO_ROWS  # all of them name both

    def end(self) -> Iterator[Finding]:
        return iter(())


class FetchesEndWithTheAcknowledgement(TrackingChecker):
    """A member stops fetching a partition once it has acknowledged the revocation (CGP-14). One Fetch under way, or the last one of a session, is
    no fault.

    A leave or an error acknowledges nothing. A background thread fetches until the callback has told the application, perhaps with its next poll
    (CGV-20). The join that follows says that the member owns nothing.
    """

    listens = frozenset({("request", ANY_API), ("response", ANY_API)})  # a member of the other protocol may own what it revokes by this one

    def __init__(self) -> None:
        super().__init__()
        self._owned: dict[str, frozenset[TopicPartition]] = {}
        self._given_up: dict[tuple[str, TopicPartition], float] = {}
        self._fetched: dict[tuple[str, TopicPartition], int] = {}

    def look(self, obs: Observation) -> Iterator[Finding]:
        client = obs.client or ""
        before, after = self._owned.get(client, frozenset()), self._group.owned(client)
        says = obs.kind == "request" and (obs.member_epoch or 0) >= 0 and obs.body.get("topic_partitions") is not None
        if after or says:
            self._owned[client] = after
        if obs.api == _BEAT and client:
            self._given_up.update(((client, partition), obs.at_ms) for partition in (before - after if says else ()))
            for partition in after:
                self._given_up.pop((client, partition), None)
                self._fetched.pop((client, partition), None)
        elif obs.kind == "request" and obs.api == _FETCH and client in self._group.driven:
            for topic, index, _ in obs.offsets:
                yield from self._fetch(obs, client, (topic, index))

    def _fetch(self, obs: Observation, client: str, partition: TopicPartition) -> Iterator[Finding]:
        since_ms = self._given_up.get((client, partition), self._taken_ms(client, partition))
        if since_ms is None or obs.at_ms - since_ms < IN_FLIGHT_MS:
            return
        count = self._fetched[client, partition] = self._fetched.get((client, partition), 0) + 1
        if count == _FETCHES_MIN:
            claim = Claim(requirement="CGP-14", expected="A partition is fetched no more once its revocation is acknowledged.")
            yield claim.failed("A member went on fetching a partition that is its own no more.", obs, detail=str(partition), proof=Proof.LIVENESS)

    def _taken_ms(self, client: str, partition: TopicPartition) -> float | None:
        """Return when the callback that took a partition from a former member's application ended (ms), or None."""
        hands = self._group.hands
        was_its_own = partition in self._owned.get(client, ()) and partition not in self._group.owned(client)
        return hands.last[client][partition].done_ms if was_its_own and hands.is_away(client, partition) else None

    def wants(self, steady: Steady) -> Collection[int] | None:
        """Need nothing of a member that owns the same as before and none of the partitions that it gave up."""
        owned = self._group.owned(steady.client)
        is_as_before = owned == self._owned.get(steady.client) and not any((steady.client, partition) in self._given_up for partition in owned)
        return NO_ROWS if is_as_before else ALL_ROWS

    def end(self) -> Iterator[Finding]:
        return iter(())
