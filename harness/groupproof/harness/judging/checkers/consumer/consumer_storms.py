"""Heartbeats that come in storms: more in a second than any interval or backoff asks for, though they say nothing new. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from groupproof.harness.judging.checkers.claim import Claim
from groupproof.harness.judging.checkers.frame_facts import error_of
from groupproof.harness.judging.checkers.listening_checker import ListeningChecker
from groupproof.harness.judging.checkers.shared.request_storms import STORM_PER_SECOND, are_calm
from groupproof.harness.judging.checkers.steady import ALL_ROWS, NO_ROWS, Steady
from groupproof.harness.judging.checkers.tracking.epoch_reader import EPOCH_NEWS
from groupproof.harness.model.verdicts import Finding
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["HeartbeatsDoNotStorm"]

_BEAT: Final = ConsumerEvent.HEARTBEAT.value
_FIELDS: Final = tuple(sorted(EPOCH_NEWS - {"assignment"}))
_FENCED: Final = frozenset({ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID})
_EXPECTED: Final = f"A member spaces its heartbeats: at most {STORM_PER_SECOND} in a second that say nothing new."


@dataclass(slots=True)
class _Beats:
    """What a member said last, field by field, what the coordinator answered last, and when the newest heartbeats came that say nothing new.

    `is_called` is true while the next heartbeat has a reason in an answer: an assignment, another epoch, or the end of the membership.
    """

    fields: dict[str, Any] = field(default_factory=dict)
    assignment: frozenset[Any] | None = None
    epoch: int | None = None
    error: int = 0
    is_called: bool = False
    is_storm: bool = False
    idle_ms: deque[float] = field(default_factory=lambda: deque(maxlen=STORM_PER_SECOND))

    def says_more(self, beat: Observation) -> bool:
        """Record what a heartbeat says. Return whether it says anything that the one before did not."""
        values = {name: _value(beat, name) for name in _FIELDS if beat.body.get(name) is not None}
        epoch = beat.member_epoch or 0
        is_new = any(self.fields.get(name) != value for name, value in values.items()) or _kind(epoch) != _kind(self.epoch)
        self.fields.update(values)
        self.epoch = epoch
        return is_new


class HeartbeatsDoNotStorm(ListeningChecker):
    """A member sends its heartbeats at the interval that it was answered (CGC-24), and waits before it repeats a refused one (CLIENT-75). More than
    twenty of them in a second are a storm, reported once for each member.

    A heartbeat does not count that says something new: a join, a leave, another subscription, other owned partitions. Nor does the next one after
    an answer with another assignment or epoch, or one that ended the membership: the member joins again at once (CGT-21).
    """

    listens = frozenset({("request", _BEAT), ("response", _BEAT)})

    def __init__(self) -> None:
        self._members: dict[tuple[str, str], _Beats] = {}

    def look(self, obs: Observation) -> Iterable[Finding]:
        if obs.api != _BEAT or obs.client is None or obs.kind not in ("request", "response"):
            return ()
        beats = self._members.setdefault((obs.client, obs.member or ""), _Beats())
        if obs.kind == "response":
            self._answer(beats, obs)
            return ()
        is_new = beats.says_more(obs)
        is_called, beats.is_called = beats.is_called and (beats.error not in _FENCED or obs.member_epoch == 0), False
        return () if is_new or is_called else self._idle(beats, obs)

    @staticmethod
    def _answer(beats: _Beats, answer: Observation) -> None:
        beats.error = error_of(answer)
        if beats.error:
            beats.is_called = beats.is_called or beats.error in _FENCED
            return
        if answer.body.get("assignment") is not None and beats.assignment != frozenset(answer.partitions):
            beats.assignment, beats.is_called = frozenset(answer.partitions), True
        if answer.member_epoch is not None and answer.member_epoch != beats.epoch:
            beats.is_called = True

    @staticmethod
    def _idle(beats: _Beats, obs: Observation) -> Iterable[Finding]:
        at_ms, idle_ms = obs.at_ms, beats.idle_ms
        if idle_ms and at_ms < idle_ms[-1]:  # the clock was set back
            idle_ms.clear()
        is_storm = len(idle_ms) == STORM_PER_SECOND and at_ms - idle_ms[0] < 1_000 and not beats.is_storm
        idle_ms.append(at_ms)
        if not is_storm:
            return ()
        beats.is_storm = True
        claim = Claim(requirement="CLIENT-75" if beats.error else "CGC-24", expected=_EXPECTED)
        return (claim.tolerated("Heartbeats that say nothing new came in a storm.", obs),)

    def wants(self, steady: Steady) -> Collection[int] | None:
        beats, asked = self._members.get((steady.client, steady.member)), steady.asked.get(_BEAT)
        if asked is None:
            return NO_ROWS
        if beats is None or beats.is_called or beats.epoch != steady.generation:
            return ALL_ROWS
        return NO_ROWS if beats.is_storm or are_calm(beats.idle_ms, asked) else ALL_ROWS

    def absorb(self, steady: Steady) -> None:
        if (asked := steady.asked.get(_BEAT)) is not None:
            beats = self._members[steady.client, steady.member]
            beats.error = 0
            beats.idle_ms.extend(asked.at_ms[-STORM_PER_SECOND:])

    def end(self) -> Iterator[Finding]:
        return iter(())


def _kind(epoch: int | None) -> int:
    """Return whether an epoch is one of a join, of a leave, or of a member."""
    return 2 if epoch is None else (epoch > 0) - (epoch < 0)


def _value(beat: Observation, name: str) -> Any:
    """Return the value of a field that can be compared: the order of topics and partitions says nothing."""
    if name == "topic_partitions":
        return frozenset(beat.partitions)
    value = beat.body[name]
    return frozenset(value) if name == "subscribed_topic_names" else value
