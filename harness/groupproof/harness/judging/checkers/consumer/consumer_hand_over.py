"""Checks that the callback for revoked partitions has ended before the acknowledgement is sent (CGT-06). Pure.

The next owner may begin right after the acknowledgement. The arrival of a shim event is no proof by itself, so each finding is LIVENESS.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import has_no_callbacks
from groupproof.harness.judging.checkers.listening_checker import WaitingChecker
from groupproof.harness.judging.checkers.steady import NO_ROWS, Steady
from groupproof.harness.judging.checkers.tracking.group_tracker import LATE_LINES_MS_MAX, TrackingChecker
from groupproof.harness.judging.checkers.tracking.ownership_tracker import Holding
from groupproof.harness.model.verdicts import Finding, Proof
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import TopicPartition

__all__ = ["CallbacksEndBeforeAcknowledgements"]

_BEAT: Final = ConsumerEvent.HEARTBEAT.value
_CLAIM: Final = Claim(requirement="CGT-06", expected="The application has given its partitions up before the client says so.")


@dataclass(frozen=True, slots=True, eq=False)
class _GivenUp:
    """An acknowledgement, and what the application owned when it was sent."""

    request: Observation
    holdings: tuple[Holding, ...]


class CallbacksEndBeforeAcknowledgements(WaitingChecker[_GivenUp], TrackingChecker):
    """Judges every heartbeat by which a member releases partitions that its application owns. A join and a leave release all in another way
    (CGT-18).

    A client without `on-revoked` is not judged: it may call its application just before the next assignment, and its fetches are judged anyway
    (CGP-14). A partition that was never listed is not released: a heartbeat may be on its way while the application learns of the assignment.
    """

    listens = frozenset({("request", _BEAT)})
    wait_ms = LATE_LINES_MS_MAX

    def __init__(self) -> None:
        super().__init__()
        self._listed: dict[str, frozenset[TopicPartition]] = {}
        self._without_callback: set[str] = set()

    def look(self, obs: Observation) -> Iterable[Finding]:
        client = obs.client
        if obs.who == "kit" and obs.body.get("name") == "hello" and client is not None:
            (self._without_callback.add if has_no_callbacks(obs.body.get("capabilities") or ()) else self._without_callback.discard)(client)
        if (
            obs.kind == "request"
            and obs.api == _BEAT
            and client is not None
            and client in self._group.driven
            and client not in self._without_callback
        ):
            self._follow(client, obs)
        return ()

    def wants(self, steady: Steady) -> Collection[int] | None:
        return NO_ROWS  # they list no partitions

    def _follow(self, client: str, beat: Observation) -> None:
        if (beat.member_epoch or 0) <= 0:
            self._listed.pop(client, None)
        elif beat.body.get("topic_partitions") is not None:
            listed = self._listed.get(client, frozenset())
            if held := [item for item in self._held(client, beat) if item.partition in listed]:
                self._waiting.add(beat.at_ms, _GivenUp(beat, tuple(held)))
            self._listed[client] = frozenset(beat.partitions)

    def _held(self, client: str, request: Observation) -> Iterator[Holding]:
        """Yield what the application still owns although the request no longer lists it, or is still revoking in its callback."""
        hands, kept = self._group.hands, set(request.partitions)
        for partition, holding in hands.now.get(client, {}).items():
            if partition not in kept:
                yield holding
        ended_seq = hands.ended_seq.get(client, -1)  # partitions that ended with their process are in no callback of the next one
        for partition, holding in hands.last.get(client, {}).items():
            is_going = holding.done_ms is None and holding.until is not None and holding.until.seq > ended_seq
            if partition not in kept and partition not in hands.now.get(client, {}) and is_going:
                yield holding

    def _judge(self, given_up: _GivenUp) -> Iterator[Finding]:
        request = given_up.request
        client = request.client or ""
        late_ms = self._group.late_ms(client)
        still = [item for item in given_up.holdings if item.until is None]
        slow = [item for item in given_up.holdings if item.until is not None and (item.done_ms or item.until.at_ms) - request.at_ms > late_ms]
        if still and self._group.hands.ended_seq.get(client, -1) < request.seq:
            yield _CLAIM.failed("The application was never told that partitions go.", request, detail=_named(still), proof=Proof.LIVENESS)
        elif slow:
            yield _CLAIM.failed("The acknowledgement came before the callback had ended.", request, detail=_named(slow), proof=Proof.LIVENESS)

    def end(self) -> Iterator[Finding]:
        """Judge nothing at the end: a late event may still come."""
        return iter(())


def _named(holdings: list[Holding]) -> str:
    return ", ".join(f"{topic}-{number}" for topic, number in sorted(holding.partition for holding in holdings))
