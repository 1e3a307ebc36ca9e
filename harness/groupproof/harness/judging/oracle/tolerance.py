"""How exactly a recorded answer must keep the rule's time (contract, "Verdicts", Time): early is judged strictly, late with an allowance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from groupproof.harness.judging.oracle.exchanges import Exchange
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["Tolerance", "untimely"]

_LAGS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """All in milliseconds except `late_share`.

    A timer may fire `early_ms` before its deadline (broker clocks tick). After it, a timer may be late by the greater of `late_ms` and `late_share`
    of the wait. A consequence of a request has no deadline in the protocol, and may take `prompt_ms`. The broker may process two concurrent
    requests within `reorder_ms` in either order. It may process a request within `late_timer_ms` after a deadline before the timer, and a request
    within `late_uptake_ms` before the deadline after the timer. A request that waited for `uptake_ms` or more may have been processed at either end
    of that time. A new group may be invisible for `unseen_ms`. A moved group may be refused for `loading_ms`. A replay tries the periodic cleanup,
    whose phase is unknown, if its interval is `cleanup_ms` or shorter. A group's coordinator may not know a topic for `topics_ms` after its broker
    reports it (measured were 0.1 to 0.5 s), and for `late_topics_ms` more against the advice of CGX-16. With `ends_delay_early` an initial delay may end
    early, against the advice of IDJ-02.
    """

    early_ms: float = 30.0
    late_ms: float = 500.0
    late_share: float = 0.1
    prompt_ms: float = 2_000.0
    reorder_ms: float = 250.0
    late_timer_ms: float = 500.0
    late_uptake_ms: float = 500.0
    uptake_ms: float = 150.0
    unseen_ms: float = 500.0
    loading_ms: float = 5_000.0
    cleanup_ms: float = 60_000.0
    topics_ms: float = 1_000.0
    late_topics_ms: float = 0.0
    ends_delay_early: bool = False

    def allowance_ms(self, waited_ms: float) -> float:
        """Return how late the end of a wait may come."""
        return max(self.late_ms, self.late_share * waited_ms)

    def widened(self, lag_ms: float) -> Tolerance:
        """Return the tolerance for a broker on a host that was late by `lag_ms`: timers and answers may be several times as late."""
        more_ms = lag_ms * _LAGS
        return replace(
            self,
            late_ms=self.late_ms + more_ms,
            prompt_ms=self.prompt_ms + more_ms,
            late_timer_ms=self.late_timer_ms + more_ms,
            late_uptake_ms=self.late_uptake_ms + more_ms,
            unseen_ms=self.unseen_ms + more_ms,
            topics_ms=self.topics_ms + more_ms,
            reorder_ms=self.reorder_ms + lag_ms,
            early_ms=self.early_ms + lag_ms,
        )

    def later(self, ms: float) -> Tolerance:
        """Return the tolerance for answers and timers that may be later by `ms`, but no earlier."""
        return replace(self, late_ms=self.late_ms + ms, prompt_ms=self.prompt_ms + ms, late_timer_ms=self.late_timer_ms + ms)

    def with_late_topics(self, ms: float) -> Tolerance:
        """Return the tolerance for a coordinator that hears of topics so much later than Kafka's."""
        return replace(self, late_topics_ms=ms)

    def with_early_ends(self) -> Tolerance:
        """Return the tolerance for a coordinator that may end an initial delay early."""
        return replace(self, ends_delay_early=True)

    def with_any_cleanup(self) -> Tolerance:
        """Return the tolerance that tries the periodic cleanup at any interval."""
        return replace(self, cleanup_ms=math.inf)


def untimely(asked: Exchange, *, due_ms: int, cause: Exchange | None, tolerance: Tolerance, moving_ms: float = 0.0) -> str | None:
    """Return how an answer missed its time `due_ms`: unparked, early, late, or slow if it had no deadline. None if it was in time or did not come.

    `cause` is the request that released it, if one did. `moving_ms` is how long moves of the group have taken.
    """
    if asked.answered_ms is None:
        return None
    is_caused = cause is not None and due_ms <= int(cause.ready_ms)
    is_exact = is_caused and cause is not None and cause.ready_ms == cause.request.at_ms
    if asked.answered_ms < (due_ms if is_exact else due_ms - tolerance.early_ms):
        return "unparked" if is_caused and cause is not asked else "early"
    allowance_ms = tolerance.prompt_ms if is_caused else tolerance.allowance_ms(due_ms - asked.ready_ms)
    is_late = asked.answered_ms > asked.latest_ms(due_ms, allowance_ms + moving_ms) and not asked.is_unread
    # No requirement limits the time of an answer that waits for nothing: clients choose how long they wait (request.timeout.ms).
    is_slow = is_caused and cause is asked and not _ends_a_phase(asked)
    return None if not is_late else "slow" if is_slow else "late"


def _ends_a_phase(asked: Exchange) -> bool:
    """Return whether the request was parked until its phase ended, even where it is the last one of the phase (TR-046)."""
    return asked.api in (Api.JOIN_GROUP, Api.SYNC_GROUP) and asked.code == ErrorCode.NONE
