"""Invariants of time: each parked request is answered, a rebalance ends in time, and no member that obeys the rules is removed early.

Lateness counts only beyond the deadline + max(500 ms, 10 %), and only where nothing from outside explains it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from groupproof.harness.judging.checkers.claim import Claim, tolerated_ms
from groupproof.harness.judging.checkers.frame_facts import SLACK_MS, error_of, instance_of
from groupproof.harness.judging.checkers.steady import Steady
from groupproof.harness.judging.checkers.tracking.group_state import InferredGroup, Invariant, PendingRequest
from groupproof.harness.model.verdicts import Finding, Proof
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState

__all__ = ["AnswersCome", "NobodyEvictedEarly", "RebalancesEnd"]

_JOIN, _SYNC, _BEAT, _LEAVE = (api.title for api in (Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP))
_PARKS: Final = frozenset({_JOIN, _SYNC})
_AT_ONCE: Final = frozenset({_BEAT, _LEAVE, Api.OFFSET_COMMIT.title, Api.OFFSET_FETCH.title})
_KEEPS: Final = frozenset({_JOIN, _BEAT})
_EMPTY, _PREPARING = GroupState.EMPTY.value, GroupState.PREPARING_REBALANCE.value
_AT_ONCE_MS: Final = 30_000
"""How long (ms) a client waits for an answer that needs no waiting (request.timeout.ms)."""


class AnswersCome(Invariant):
    """Every request is answered: parked ones by the end of their phase, all others at once (INV-06, INV-08). Reported at the end.

    A connection serves one request at a time, so only its oldest one is owed an answer. A request that its member's newer one supersedes is not
    (JOIN-35). If a later request of the connection was answered, so was this one; its answer was not recorded.
    """

    listens = frozenset({("response", None)})

    def __init__(self) -> None:
        self._answered: dict[int | None, int] = {}

    def look(self, obs: Observation, group: InferredGroup) -> Iterator[Finding]:
        if obs.who == "link" and obs.body.get("name") == "closed":
            self._answered.pop(obs.connection, None)
        elif obs.kind == "response" and group.answered is not None:
            self._answered[obs.connection] = max(group.answered.request.seq, self._answered.get(obs.connection, -1))
        return iter(())

    def can_absorb(self, steady: Steady, group: InferredGroup) -> bool:
        return True  # each answer has its request

    def absorb(self, steady: Steady, group: InferredGroup) -> None:
        newest = max(requests.seqs[-1] for requests in steady.asked.values())
        self._answered[steady.connection] = max(newest, self._answered.get(steady.connection, -1))

    def rest(self, group: InferredGroup) -> Iterator[Finding]:
        waiting = [request for request in group.asked.rest() if request.request.api in _PARKS | _AT_ONCE]
        oldest: dict[int | None, PendingRequest] = {}
        newest: dict[tuple[str | None, str | None], int] = {}
        for item in waiting:
            oldest.setdefault(item.request.connection, item)
            newest[item.request.api, item.request.member] = item.request.seq
        for connection, item in oldest.items():
            if (
                item.request.seq > self._answered.get(connection, -1)
                and self._is_due(item.request, group)
                and not (item.request.member and newest[item.request.api, item.request.member] > item.request.seq)
            ):
                claim = Claim(requirement="INV-08", expected="Every request is answered once.")
                yield claim.failed(f"{item.request.api} was never answered.", item.request, proof=Proof.LIVENESS)

    def _is_due(self, request: Observation, group: InferredGroup) -> bool:
        limit_ms = max(group.rebalance_ms, group.initial_delay_ms, _AT_ONCE_MS) if request.api in _PARKS else _AT_ONCE_MS
        return group.disturbed_ms < request.at_ms and group.now_ms - request.at_ms > tolerated_ms(limit_ms)


class RebalancesEnd(Invariant):
    """A join phase lasts no longer than the longest rebalance timeout of the group (INV-12). A first one may last as long as the initial delay.

    It is measured by the coordinator's transitions, or without them by how long a JoinGroup waits. Some waits are not judged. A group with static
    members may wait longer for them (TR-050), and the wait for SyncGroup depends on the release (SYNC-16). Nor is a group judged that the trace
    does not have as a whole: a member whose join is missing may have the longest timeout. Whether the trace is whole is known when every request
    was answered.
    """

    listens = frozenset({("transition", None), ("request", _JOIN), ("response", _JOIN)})

    def __init__(self) -> None:
        self._since: Observation | None = None
        self._is_first = False
        self._joins = 0
        self._held: list[tuple[float, Finding]] = []

    def look(self, obs: Observation, group: InferredGroup) -> Iterator[Finding]:
        yield from self._certain(obs, group)
        if obs.kind == "transition":
            if self._since is not None:
                self._late(self._since, obs.at_ms, group, obs)
            is_preparing = obs.state_after == _PREPARING
            self._since, self._is_first, self._joins = (obs if is_preparing else None), obs.state_before in (None, _EMPTY), 0
        elif obs.api == _JOIN and obs.kind == "request":
            self._joins += 1
        elif obs.api == _JOIN and obs.kind == "response" and not group.tells and group.answered is not None:
            self._is_first, self._joins = True, 1
            self._late(group.answered.request, obs.at_ms, group, obs)

    def rest(self, group: InferredGroup) -> Iterator[Finding]:
        if self._since is not None:
            self._late(self._since, group.now_ms, group, self._since)
        if group.is_whole:
            yield from (finding for _, finding in self._held)

    def _certain(self, obs: Observation, group: InferredGroup) -> list[Finding]:
        """Return what is now certain to be late."""
        certain = [entry for entry in self._held if obs.at_ms - entry[0] > SLACK_MS]
        self._held = [entry for entry in self._held if entry not in certain] if certain else self._held
        return [finding for _, finding in certain] if group.is_whole else []

    def _late(self, since: Observation, until_ms: float, group: InferredGroup, shown_by: Observation) -> None:
        due_ms = max(group.rebalance_ms, group.initial_delay_ms if self._is_first else 0.0)
        is_explained = group.has_static or group.disturbed_ms >= since.at_ms or not self._joins
        lasted_ms = until_ms - since.at_ms
        if due_ms and lasted_ms > tolerated_ms(due_ms) and not is_explained:
            claim = Claim(requirement="INV-12", expected="A join phase ends within the rebalance timeout.")
            detail = f"{lasted_ms:.0f} ms, of {due_ms:.0f} at most"
            late = claim.failed("A join phase lasted longer than its deadline.", shown_by, proof=Proof.TIMING, detail=detail)
            self._held.append((shown_by.at_ms, late))


@dataclass(slots=True)
class _Membership:
    """What keeps one member in the group: the time of its last good request, and how long that is valid. `has_synced` is set once it has its
    assignment.
    """

    limit_ms: float
    instance: str | None
    generation: int
    good_ms: float
    epoch: int
    has_synced: bool = False


class NobodyEvictedEarly(Invariant):
    """A member that the coordinator removes was silent for a session timeout, missed a join phase, or left (HB-11).

    Two answers prove that the coordinator heard a member that had missed nothing: a Heartbeat without error, and a JoinGroup into a new generation.
    A JoinGroup that is answered at once does not restart the session, nor does such a SyncGroup from 4.0 on. A Heartbeat before an owed SyncGroup
    proves nothing (SYNC-16); nor does the answer to a Heartbeat from a coordinator that is loading the group (FIND-10).
    """

    listens = frozenset({("request", _LEAVE), ("response", None)})

    def __init__(self) -> None:
        self._members: dict[str, _Membership] = {}
        self._newest: dict[str, str] = {}

    def look(self, obs: Observation, group: InferredGroup) -> Iterator[Finding]:
        if obs.kind == "request" and obs.api == _LEAVE:
            self._left(obs)
        elif obs.kind == "response" and group.answered is not None:
            request = group.answered.request
            if error_of(obs) == ErrorCode.UNKNOWN_MEMBER_ID and request.member and obs.api != _LEAVE:
                yield from self._refused(obs, request, self._members.pop(request.member, None), group)
            elif not error_of(obs) and obs.api in _KEEPS:
                self._note_contact(obs, request, group)
            elif not error_of(obs) and obs.api == _SYNC and (membership := self._members.get(request.member or "")) is not None:
                membership.has_synced |= request.generation == membership.generation

    def _left(self, obs: Observation) -> None:
        gone = obs.body.get("members") or ({"member_id": obs.member, "group_instance_id": obs.instance},)
        for request in gone:
            self._members.pop(request.get("member_id") or "", None)
            self._members.pop(self._newest.get(request.get("group_instance_id") or "", ""), None)

    def _note_contact(self, obs: Observation, request: Observation, group: InferredGroup) -> None:
        member = (obs.member if obs.api == _JOIN else request.member) or ""
        membership = self._members.get(member)
        if obs.api == _JOIN and member:
            session_ms = float(request.body.get("session_timeout_ms") or 0)
            rebalance_ms = float(request.body.get("rebalance_timeout_ms") or -1)
            limit_ms = min(session_ms, rebalance_ms) if rebalance_ms >= 0 else session_ms
            generation = -1 if obs.generation is None else obs.generation
            if membership is None or membership.epoch != group.epoch or generation > membership.generation:
                self._joined(member, _Membership(limit_ms, instance_of(request), generation, obs.at_ms, group.epoch))
        elif membership is not None and membership.has_synced and group.loaded_seq is not None and group.loaded_seq < request.seq:
            membership.good_ms, membership.epoch = max(membership.good_ms, request.at_ms), group.epoch

    def can_absorb(self, steady: Steady, group: InferredGroup) -> bool:
        return True  # a Heartbeat and a commit that were answered without error remove no member

    def absorb(self, steady: Steady, group: InferredGroup) -> None:
        membership, beats = self._members.get(steady.member), steady.asked.get(_BEAT)
        if membership is not None and membership.has_synced and beats is not None and group.loaded_seq is not None:
            membership.good_ms, membership.epoch = max(membership.good_ms, beats.at_ms[-1]), group.epoch

    def _joined(self, member: str, membership: _Membership) -> None:
        if membership.instance is not None:
            replaced = self._newest.get(membership.instance)
            if replaced is not None and replaced != member:
                self._members.pop(replaced, None)
            self._newest[membership.instance] = member
        self._members[member] = membership

    def _refused(self, obs: Observation, request: Observation, membership: _Membership | None, group: InferredGroup) -> Iterator[Finding]:
        is_itself = membership is not None and membership.instance == instance_of(request)  # another instance id is another reason to be refused
        if membership is None or not is_itself or membership.epoch != group.epoch or group.disturbed_ms >= membership.good_ms:
            return
        silent_ms = obs.at_ms - membership.good_ms
        if tolerated_ms(silent_ms) < membership.limit_ms:
            claim = Claim(requirement="HB-11", expected="Nobody is put out of a group before its session's end.")
            observed = "A member was told that it is none, though it had kept the rules."
            yield claim.failed(observed, obs, detail=f"{request.member}, heard of {silent_ms:.0f} ms before, of {membership.limit_ms:.0f} allowed")
