"""The rebalances of one group in order, with their phases and the members they waited for, by transitions or `wire_history.py`. Pure."""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.diagnosis.member_history import Membership, Sign
from groupproof.harness.judging.diagnosis.rebalances import AwaitedMember, EvidenceLine, Rebalance
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState

__all__ = ["ABANDONED", "NEAR", "GroupHistory", "follow_transition"]

NEAR: Final = 0.9
"""A phase that took this share of the rebalance timeout was ended by it (DIAG-27)."""

ABANDONED: Final = "never ended here: the coordinator moved"
_REBALANCE_CODES: Final = frozenset({ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION})
_BEGUN_ANEW: Final = "begun anew before the assignment was there"
_CUT: Final = "still going on where the trace ends"


class GroupHistory:
    """`rebalances` in order. `signs` are the events that may have begun them."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.rebalances: list[Rebalance] = []
        self.signs: list[Sign] = []
        self.members = Membership()
        self.offsets_partition: int | None = None
        self.is_empty = True

    @property
    def open(self) -> Rebalance | None:
        """Return the rebalance under way: the last one, if it has no assignment or other end."""
        last = self.rebalances[-1] if self.rebalances else None
        return last if last is not None and not last.ended else None

    # The events

    def begin(self, obs: Observation, *, at_ms: float, generation: int, evidence: EvidenceLine | None = None) -> Rebalance:
        """Begin a rebalance at `at_ms` in the group's `generation`."""
        before = self.open
        if before is not None:
            moved = before.node is not None and obs.node is not None and before.node != obs.node
            before.ended = ABANDONED if moved else _BEGUN_ANEW
        last = self.rebalances[-1] if self.rebalances else None
        if last is not None and last.is_initial and last.ended == ABANDONED:
            self.is_empty = True  # the broker before had stored nothing of the group
        made = Rebalance(
            group=self.group, number=len(self.rebalances) + 1, start_seq=obs.seq, started_ms=at_ms, node=obs.node, generation_before=generation,
            is_initial=self.is_empty,
        )  # fmt: skip
        if evidence is not None:
            made.show(evidence)
        self.is_empty = False
        self.rebalances.append(made)
        return made

    def complete(self, obs: Observation, generation: int, evidence: EvidenceLine | None = None) -> None:
        """Record the end of the join phase (DIAG-02)."""
        if (now := self.open) is None:
            return
        now.joined_ms, now.generation = obs.at_ms, generation
        if evidence is not None:
            now.show(evidence)

    def assign(self, obs: Observation, evidence: EvidenceLine | None = None) -> None:
        """Record that the leader's assignment came (DIAG-03)."""
        if (now := self.open) is None:
            return
        now.synced_ms, now.leader, now.ended = obs.at_ms, now.leader or obs.member or self.members.leader, "settled"
        if evidence is not None:
            now.show(evidence)

    def empty(self, obs: Observation, generation: int | None, evidence: EvidenceLine | None = None) -> None:
        """Record that the group has no members any more (DIAG-05)."""
        self.is_empty = True
        if (now := self.open) is None:
            return
        now.joined_ms, now.generation, now.is_emptied, now.ended = obs.at_ms, generation, True, "the group is empty"
        if evidence is not None:
            now.show(evidence)

    def follow(self, obs: Observation) -> None:
        """Record joins and syncs while a rebalance is under way."""
        if obs.kind == "request" and obs.api == Api.JOIN_GROUP.title:
            self._arrive(obs)
        elif obs.kind == "request" and obs.api == Api.SYNC_GROUP.title and obs.body.get("assignments") and (now := self.open) is not None:
            if now.joined_ms is not None and obs.at_ms >= now.joined_ms:
                now.leader = obs.member
                now.awaited_to_sync.append(
                    AwaitedMember(member=obs.member or "", ms=obs.at_ms - now.joined_ms, why="the leader brought the assignment")
                )
        elif obs.kind == "response" and obs.api == Api.JOIN_GROUP.title and not obs.error:
            self._joined(obs)
        elif obs.kind == "response" and obs.error in _REBALANCE_CODES and self.rebalances:
            answers = self.rebalances[-1].answers
            answers[obs.error] = answers.get(obs.error, 0) + 1

    def _arrive(self, obs: Observation) -> None:
        name = obs.member or obs.client or ""
        if (now := self.open) is not None and now.joined_ms is None:
            now.joined_at[name] = obs.at_ms

    def _joined(self, obs: Observation) -> None:
        for now in reversed(self.rebalances[-2:]):
            if obs.member and (now.generation == obs.generation or (now.generation is None and now is self.open)):
                arrived = now.joined_at.pop(obs.client or "", None)
                now.joined_at.setdefault(obs.member, now.started_ms if arrived is None else arrived)
                now.members = tuple(dict.fromkeys((*now.members, obs.member)))
                now.leader = obs.body.get("leader") or now.leader
                return

    def note(self, signs: list[Sign]) -> None:
        """Keep the signs that can begin a rebalance, and record the members that were removed in one."""
        self.signs += signs
        for sign in signs:
            if sign.name in ("evicted", "unsynced") and self.rebalances:
                self.rebalances[-1].show(EvidenceLine(seq=sign.seq, at_ms=sign.at_ms, text=sign.text, marks=sign.marks))
            if sign.name == "evicted" and self.rebalances:
                self.rebalances[-1].evicted = sign.several or ((sign.member,) if sign.member else ())

    # At the end

    def finish(self) -> None:
        """Set for each rebalance the members that it waited for, once the trace is complete."""
        if (now := self.open) is not None:
            now.ended = _CUT
        before: tuple[str, ...] = ()
        for rebalance in self.rebalances:
            self._finish(rebalance, before)
            before = rebalance.members or before

    def _finish(self, now: Rebalance, before: tuple[str, ...]) -> None:
        records = [self.members.records[name] for name in (*before, *now.members, *now.joined_at) if name in self.members.records]
        now.rebalance_timeout_ms = max((entry.rebalance_ms for entry in records if entry.rebalance_ms), default=None)
        mine = self.members.records.get(now.member or "")
        now.session_timeout_ms = (
            mine.session_ms if mine is not None else max((entry.session_ms for entry in records if entry.session_ms), default=None)
        )
        if not now.evicted and now.members and before and self._is_timed_out(now):
            now.evicted = tuple(name for name in before if name not in now.members and name != now.member)
        if now.join_ms is not None:
            now.awaited_to_join = list(self._awaited(now, now.join_ms))

    def _is_timed_out(self, now: Rebalance) -> bool:
        return now.join_ms is not None and now.rebalance_timeout_ms is not None and now.join_ms >= NEAR * now.rebalance_timeout_ms

    def _awaited(self, now: Rebalance, join_ms: float) -> list[AwaitedMember]:
        if now.evicted:
            return [
                AwaitedMember(member=name, ms=join_ms, why="did not join again and was left out when the rebalance timeout was over")
                for name in now.evicted
            ]
        if now.is_initial and not now.is_emptied:
            return [
                AwaitedMember(member="", ms=join_ms, why="group.initial.rebalance.delay.ms, which a group that was empty is given for others to join")
            ]
        arrivals = {member: at_ms for member, at_ms in now.joined_at.items() if now.joined_ms is None or at_ms <= now.joined_ms}
        if not arrivals:
            return []
        last = max(arrivals, key=lambda member: arrivals[member])
        waited_ms = arrivals[last] - now.started_ms
        return [AwaitedMember(member=last, ms=waited_ms, why="the last to join")] if waited_ms > 0 else []


def follow_transition(run: GroupHistory, obs: Observation) -> None:
    """Update the history by a transition of the trace."""
    evidence = _line(obs)
    if obs.state_after == GroupState.PREPARING_REBALANCE.value:
        run.begin(obs, at_ms=obs.at_ms, generation=-1 if obs.generation is None else obs.generation, evidence=evidence)
    elif obs.state_after == GroupState.COMPLETING_REBALANCE.value:
        if run.open is not None and (count := obs.body.get("members")) is not None:
            run.open.member_count = int(count)
        run.complete(obs, obs.generation or 0, evidence)
    elif obs.state_after == GroupState.STABLE.value:
        run.assign(obs, evidence)
    elif obs.state_after == GroupState.EMPTY.value:
        run.empty(obs, obs.generation, evidence)
    elif (now := run.open) is not None:
        now.ended = ABANDONED


def _line(obs: Observation) -> EvidenceLine:
    text = obs.body.get("line") or f"{obs.state_before or 'no group'} → {obs.state_after}, generation {obs.generation}: {obs.detail or ''}"
    return EvidenceLine(seq=obs.seq, at_ms=obs.at_ms, text=str(text), marks=str(obs.body.get("marks", "")))
