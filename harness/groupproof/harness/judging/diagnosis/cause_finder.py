"""Finds why each rebalance of a group began: from the coordinator's reason, refined by requests and log lines, or by exclusion. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final

from groupproof.harness.judging.diagnosis.causes import Cause, Certainty
from groupproof.harness.judging.diagnosis.group_history import ABANDONED, NEAR, GroupHistory
from groupproof.harness.judging.diagnosis.member_history import Sign
from groupproof.harness.judging.diagnosis.reasons import Reason, cause_of_client_reason, own_words, reason_of
from groupproof.harness.judging.diagnosis.rebalances import EvidenceLine, Rebalance, name_of

__all__ = ["Causes"]

_LATE_MS: Final = 10.0
"""A tolerance: a request's arrival is estimated from the time when its answer was logged, which is a little late."""

_NEAR_MS: Final = 2_000.0
"""An older sign did not begin the rebalance, because the coordinator begins at once."""

_MEANT: Final = {
    "new": Cause.NEW_MEMBER, "replaced": Cause.STATIC_REPLACED, "leader-again": Cause.LEADER_REJOINED, "changed": Cause.METADATA,
    "subscription": Cause.SUBSCRIPTION, "handover": Cause.HANDOVER, "left": Cause.LEFT, "removed": Cause.ADMIN_REMOVAL,
    "expired": Cause.HEARTBEAT_TIMEOUT, "unsynced": Cause.SYNC_TIMEOUT,
}  # fmt: skip
_LOSSES: Final = frozenset({Cause.HEARTBEAT_TIMEOUT, Cause.POLL_INTERVAL, Cause.CLOSED, Cause.LEFT, Cause.ADMIN_REMOVAL, Cause.SYNC_TIMEOUT})
_IN_1_1: Final = (Cause.POLL_INTERVAL, Cause.NEW_MEMBER, Cause.CLOSED, Cause.SUBSCRIPTION, Cause.PARTITIONS, Cause.LEADER_REJOINED)
_REMOVED: Final = ("UNKNOWN_MEMBER_ID", "UnknownMemberId")
"""Words in the reason of a member that comes back because the coordinator no longer knew it."""

_SESSION_MS: Final = 45_000


class Causes:
    """Decides the causes for one group history once it is complete. `reasons` are the coordinator's, by the rebalance's first observation."""

    def __init__(self, run: GroupHistory, reasons: dict[int, str], *, has_requests: bool, is_wire: bool) -> None:
        self._course, self._reasons, self._has_requests, self._is_wire = run, reasons, has_requests, is_wire
        self._lost: dict[str, Cause] = {}
        self._in_time = sorted(run.signs, key=_at)
        self._newcomers = {name_of(reason.member): number for number, reason in self._coordinator_reasons() if reason.cause is Cause.NEW_MEMBER}

    def _coordinator_reasons(self) -> Iterator[tuple[int, Reason]]:
        for rebalance in self._course.rebalances:
            reason = reason_of(self._reasons.get(rebalance.start_seq, ""))
            if reason is not None:
                yield rebalance.number, reason

    def decide(self) -> None:
        """Set the cause of every rebalance, in order."""
        before: Rebalance | None = None
        for now in self._course.rebalances:
            self._decide(now, before)
            if now.cause in _LOSSES and now.member:
                self._lost[name_of(now.member)] = now.cause
            for name in now.evicted:
                self._lost[name_of(name)] = Cause.LEFT
            before = now

    def _decide(self, now: Rebalance, before: Rebalance | None) -> None:
        signs = self._signs(now, before)
        reason = reason_of(self._reasons.get(now.start_seq, ""))
        if reason is not None:
            now.cause, now.certainty, now.member, now.client_reason = reason.cause, Certainty.TOLD, reason.member, reason.client
            self._complete(now, reason, signs)
        elif (sign := self._trigger(signs, now) or self._newcomer(now, before)) is not None:
            now.cause, now.certainty, now.member, now.client_reason = _MEANT[sign.name], Certainty.SEEN, sign.member, own_words(sign.reason)
            now.member = self._course.members.new_ids.get(sign.asked) or now.member
            _show(now, sign)
        else:
            self._exclude(now)
        self._sharpen(now, before, signs)

    def _signs(self, now: Rebalance, before: Rebalance | None) -> list[Sign]:
        """Return the signs since the join phase of the rebalance before ended."""
        return self._between(-1.0 if before is None else before.started_ms if before.joined_ms is None else before.joined_ms, now)

    def _between(self, since_ms: float, now: Rebalance) -> list[Sign]:
        """Return the signs from an instant until a rebalance began."""
        return self._in_time[bisect_left(self._in_time, since_ms, key=_at) : bisect_right(self._in_time, now.started_ms + _LATE_MS, key=_at)]

    def _trigger(self, signs: list[Sign], now: Rebalance) -> Sign | None:
        """Return the last sign that begins a rebalance. Of several at once, the coordinator's own log lines come first."""
        near = [sign for sign in signs if sign.name in _MEANT and sign.at_ms >= now.started_ms - _NEAR_MS]
        before = [sign for sign in near if sign.at_ms <= now.started_ms]
        return max(before, key=lambda sign: (bool(sign.marks), sign.at_ms), default=None) or min(near, key=lambda sign: sign.at_ms, default=None)

    def _newcomer(self, now: Rebalance, before: Rebalance | None) -> Sign | None:
        """Return a join that came during the rebalance before but was answered in this one's generation."""
        if before is None:
            return None
        joins = [sign for sign in self._between(before.started_ms, now) if sign.name == "new"]
        return next((join for join in joins if now.generation is not None and self._course.members.entered.get(join.asked) == now.generation), None)

    def _complete(self, now: Rebalance, reason: Reason, signs: list[Sign]) -> None:
        """Set the member and its own reason from a nearby line, where the coordinator's reason names none."""
        beside = [sign for sign in signs if _MEANT.get(sign.name) in (reason.cause, Cause.ADMIN_REMOVAL if reason.cause is Cause.LEFT else None)]
        if not beside:
            return
        sign = next((sign for sign in reversed(beside) if now.member in (None, sign.member)), beside[-1])
        now.member = now.member or sign.member
        now.client_reason = now.client_reason or own_words(sign.reason)
        _show(now, sign)

    def _exclude(self, now: Rebalance) -> None:
        """Infer by exclusion: no session ended and no member joined, so a member left, which no INFO line reports (DIAG-23)."""
        if now.is_initial:
            now.cause, now.certainty = Cause.FIRST_MEMBER, Certainty.SEEN
        elif self._has_requests and now.joined_ms is not None and not self._is_wire:
            now.cause, now.certainty, now.also = Cause.POLL_INTERVAL, Certainty.INFERRED, (Cause.CLOSED,)
        else:
            now.cause, now.certainty, now.also = Cause.UNREPORTED, Certainty.INFERRED, _IN_1_1

    # The finer causes

    def _sharpen(self, now: Rebalance, before: Rebalance | None, signs: list[Sign]) -> None:
        if self._is_moved(now, before):
            now.also, now.cause = (now.cause,) if now.cause is Cause.HEARTBEAT_TIMEOUT else (), Cause.MOVED
        elif now.cause is Cause.NEW_MEMBER:
            self._sharpen_new(now)
        elif now.cause is Cause.LEFT:
            self._sharpen_left(now, signs)
        elif now.cause in (Cause.LEADER_REJOINED, Cause.METADATA):
            self._sharpen_again(now, signs)

    def _is_moved(self, now: Rebalance, before: Rebalance | None) -> bool:
        """Return whether another broker took over the group and this rebalance follows from it (DISC-10): the group was rebalancing, or a member
        did not follow."""
        if before is None or now.is_initial:
            return False
        end = before.started_ms if before.ended == ABANDONED else before.synced_ms or before.joined_ms or before.started_ms
        loads = self._loads(now, end)
        if not loads:
            return False
        is_unsettled = before.synced_ms is None and not before.is_emptied
        session_ms = now.session_timeout_ms or _SESSION_MS
        is_overdue = now.cause is Cause.HEARTBEAT_TIMEOUT and now.started_ms - loads[-1].at_ms <= session_ms + _NEAR_MS
        if is_unsettled or is_overdue:
            _show(now, loads[-1])
        return is_unsettled or is_overdue

    def _loads(self, now: Rebalance, since_ms: float) -> list[Sign]:
        """Return when this rebalance's broker took over the group since then."""
        loads = [sign for sign in self._between(since_ms, now) if sign.name == "loaded" and sign.at_ms > since_ms]
        return [load for load in loads if load.node is None or now.node in (load.node, None)]

    def _sharpen_new(self, now: Rebalance) -> None:
        name = name_of(self._course.members.client_of(now.member))
        if now.is_initial:
            now.cause = Cause.FIRST_MEMBER
        elif self._lost.pop(name, None) is not None or any(word in (now.client_reason or "") for word in _REMOVED):
            now.cause = Cause.RETURNED

    def _sharpen_left(self, now: Rebalance, signs: list[Sign]) -> None:
        removed = any(sign.name == "removed" and now.member in (None, sign.member) for sign in signs)
        cause = cause_of_client_reason(now.client_reason)
        if cause is not None or removed:
            now.cause = cause or Cause.ADMIN_REMOVAL
            return
        member = self._course.members.records.get(now.member or "")
        fetched = self._fetched_before(now)
        now.certainty = Certainty.INFERRED
        if member is None or fetched is None or not member.rebalance_ms:
            comes_back = self._comes_back(now)
            now.cause = Cause.POLL_INTERVAL if comes_back else Cause.LEFT
            now.also = (Cause.CLOSED,) if comes_back else (Cause.POLL_INTERVAL, Cause.CLOSED)
            return
        was_stuck = now.started_ms - fetched >= NEAR * member.rebalance_ms
        now.cause = Cause.POLL_INTERVAL if was_stuck else Cause.CLOSED

    def _comes_back(self, now: Rebalance) -> bool:
        """Return whether a later rebalance began with a member of the same client or instance id: a member that exceeded its poll interval rejoins."""
        return self._newcomers.get(name_of(now.member), 0) > now.number

    def _fetched_before(self, now: Rebalance) -> float | None:
        """Return when the member that left last sent a Fetch: a member that does not poll does not fetch."""
        times = self._course.members.fetches.get(self._course.members.client_of(now.member) or "", [])
        at = bisect_right(times, now.started_ms)
        return times[at - 1] if at else None

    def _sharpen_again(self, now: Rebalance, signs: list[Sign]) -> None:
        """Set what a rejoining member changed: by its requests, else by its own reason, else by other changes."""
        own = [sign.name for sign in signs if sign.member == now.member]
        cause = cause_of_client_reason(now.client_reason)
        topics = self._topics(now)
        if "subscription" in own or "handover" in own:
            now.cause = Cause.SUBSCRIPTION if "subscription" in own else Cause.HANDOVER
        elif cause in (Cause.HANDOVER, Cause.PARTITIONS, Cause.SUBSCRIPTION):
            now.cause = cause
        elif topics and (now.cause is Cause.LEADER_REJOINED or "leader-again" in own):
            now.cause, now.certainty = Cause.PARTITIONS, Certainty.INFERRED
            _show(now, topics[-1])
        elif now.cause is Cause.METADATA and "leader-again" in own:
            now.cause = Cause.LEADER_REJOINED
        elif now.cause is Cause.METADATA and not own:
            now.also = (*((Cause.PARTITIONS,) if topics else ()), Cause.SUBSCRIPTION, Cause.HANDOVER, Cause.LEADER_REJOINED)

    def _topics(self, now: Rebalance) -> list[Sign]:
        """Return the changes of topics since the rebalance before began. They were not in its assignment."""
        before = self._course.rebalances[now.number - 2].started_ms if now.number > 1 else 0.0
        return [sign for sign in self._between(before, now) if sign.name == "topics"]


def _at(sign: Sign) -> float:
    return sign.at_ms


def _show(now: Rebalance, sign: Sign) -> None:
    """Put the line that began a rebalance before those that followed, once."""
    evidence = EvidenceLine(seq=sign.seq, at_ms=sign.at_ms, text=sign.text, marks=sign.marks)
    now.evidence = [evidence, *(view for view in now.evidence if (view.seq, view.text) != (evidence.seq, evidence.text))]
