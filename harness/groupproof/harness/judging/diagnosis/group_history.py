"""The course of one group: its rebalances one after the other, with their phases and who was waited for. Told by transitions, or by `wire_history.py`. Pure."""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.diagnosis.member_history import Membership, Sign
from groupproof.harness.judging.diagnosis.rebalances import Awaited, Rebalance, Shown
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState

__all__ = ["ABANDONED", "NEAR", "Course", "follow_transition"]

NEAR: Final = 0.9
"""A phase that took this part of the rebalance timeout was ended by it (DIAG-27)."""

ABANDONED: Final = "never ended here: the coordinator moved"
_TOLD_OF: Final = frozenset({ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION})
_BEGUN_ANEW: Final = "begun anew before the assignment was there"
_CUT: Final = "still going on where the trace ends"


class Course:
    """`rebalances` in order; `signs` are what could have begun them."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.rebalances: list[Rebalance] = []
        self.signs: list[Sign] = []
        self.members = Membership()
        self.offsets_partition: int | None = None
        self.is_empty = True

    @property
    def open(self) -> Rebalance | None:
        """The rebalance that is under way: one of which neither the assignment nor another end was seen."""
        last = self.rebalances[-1] if self.rebalances else None
        return last if last is not None and not last.ended else None

    # What happens

    def begin(self, seen: Observation, *, at_ms: float, generation: int, said: Shown | None = None) -> Rebalance:
        """Note that a rebalance began at `at_ms` in the group's `generation`."""
        before = self.open
        if before is not None:
            moved = before.node is not None and seen.node is not None and before.node != seen.node
            before.ended = ABANDONED if moved else _BEGUN_ANEW
        made = Rebalance(
            group=self.group, number=len(self.rebalances) + 1, start_seq=seen.seq, started_ms=at_ms, node=seen.node, generation_before=generation,
            is_initial=self.is_empty,
        )  # fmt: skip
        if said is not None:
            made.show(said)
        self.is_empty = False
        self.rebalances.append(made)
        return made

    def complete(self, seen: Observation, generation: int, said: Shown | None = None) -> None:
        """Note the end of the join phase (DIAG-02)."""
        if (now := self.open) is None:
            return
        now.joined_ms, now.generation = seen.at_ms, generation
        if said is not None:
            now.show(said)

    def assign(self, seen: Observation, said: Shown | None = None) -> None:
        """Note that the leader's assignment is there (DIAG-03)."""
        if (now := self.open) is None:
            return
        now.synced_ms, now.leader, now.ended = seen.at_ms, now.leader or seen.member or self.members.leader, "settled"
        if said is not None:
            now.show(said)

    def empty(self, seen: Observation, generation: int | None, said: Shown | None = None) -> None:
        """Note that nobody is left (DIAG-05)."""
        self.is_empty = True
        if (now := self.open) is None:
            return
        now.joined_ms, now.generation, now.is_emptied, now.ended = seen.at_ms, generation, True, "the group is empty"
        if said is not None:
            now.show(said)

    def follow(self, seen: Observation) -> None:
        """Note who joins and syncs while a rebalance is under way."""
        if seen.kind == "request" and seen.api == Api.JOIN_GROUP.title:
            self._arrive(seen)
        elif seen.kind == "request" and seen.api == Api.SYNC_GROUP.title and seen.body.get("assignments") and (now := self.open) is not None:
            if now.joined_ms is not None and seen.at_ms >= now.joined_ms:
                now.leader = seen.member
                now.awaited_to_sync.append(Awaited(member=seen.member or "", ms=seen.at_ms - now.joined_ms, why="the leader brought the assignment"))
        elif seen.kind == "response" and seen.api == Api.JOIN_GROUP.title and not seen.error:
            self._joined(seen)
        elif seen.kind == "response" and seen.error in _TOLD_OF and self.rebalances:
            answers = self.rebalances[-1].answers
            answers[seen.error] = answers.get(seen.error, 0) + 1

    def _arrive(self, seen: Observation) -> None:
        name = seen.member or seen.client or ""
        if (now := self.open) is not None and now.joined_ms is None:
            now.joined_at[name] = seen.at_ms

    def _joined(self, seen: Observation) -> None:
        for now in reversed(self.rebalances[-2:]):
            if seen.member and (now.generation == seen.generation or (now.generation is None and now is self.open)):
                arrived = now.joined_at.pop(seen.client or "", None)
                now.joined_at.setdefault(seen.member, now.started_ms if arrived is None else arrived)
                now.members = tuple(dict.fromkeys((*now.members, seen.member)))
                now.leader = seen.body.get("leader") or now.leader
                return

    def note(self, signs: list[Sign]) -> None:
        """Keep what could begin a rebalance, and note who was put out of one."""
        self.signs += signs
        for each in signs:
            if each.name in ("evicted", "unsynced") and self.rebalances:
                self.rebalances[-1].show(Shown(seq=each.seq, at_ms=each.at_ms, text=each.text, marks=each.marks))
            if each.name == "evicted" and self.rebalances:
                self.rebalances[-1].evicted = each.several or ((each.member,) if each.member else ())

    # At the end

    def finish(self) -> None:
        """Say of each rebalance who was waited for, when nothing more is to come."""
        if (now := self.open) is not None:
            now.ended = _CUT
        before: tuple[str, ...] = ()
        for each in self.rebalances:
            self._finish(each, before)
            before = each.members or before

    def _finish(self, now: Rebalance, before: tuple[str, ...]) -> None:
        known = [self.members.known[each] for each in (*before, *now.members, *now.joined_at) if each in self.members.known]
        now.rebalance_timeout_ms = max((each.rebalance_ms for each in known if each.rebalance_ms), default=None)
        mine = self.members.known.get(now.member or "")
        now.session_timeout_ms = mine.session_ms if mine is not None else max((each.session_ms for each in known if each.session_ms), default=None)
        if not now.evicted and now.members and before and self._is_timed_out(now):
            now.evicted = tuple(each for each in before if each not in now.members and each != now.member)
        if now.join_ms is not None:
            now.awaited_to_join = list(self._awaited(now, now.join_ms))

    def _is_timed_out(self, now: Rebalance) -> bool:
        return now.join_ms is not None and now.rebalance_timeout_ms is not None and now.join_ms >= NEAR * now.rebalance_timeout_ms

    def _awaited(self, now: Rebalance, join_ms: float) -> list[Awaited]:
        if now.evicted:
            return [
                Awaited(member=each, ms=join_ms, why="did not join again and was left out when the rebalance timeout was over")
                for each in now.evicted
            ]
        if now.is_initial and not now.is_emptied:
            return [Awaited(member="", ms=join_ms, why="group.initial.rebalance.delay.ms, which a group that was empty is given for others to join")]
        arrivals = {member: at_ms for member, at_ms in now.joined_at.items() if now.joined_ms is None or at_ms <= now.joined_ms}
        if not arrivals:
            return []
        last = max(arrivals, key=lambda member: arrivals[member])
        waited_ms = arrivals[last] - now.started_ms
        return [Awaited(member=last, ms=waited_ms, why="the last to join")] if waited_ms > 0 else []


def follow_transition(course: Course, seen: Observation) -> None:
    """Let a transition that the trace tells move the course."""
    said = _line(seen)
    if seen.state_after == GroupState.PREPARING_REBALANCE.value:
        course.begin(seen, at_ms=seen.at_ms, generation=-1 if seen.generation is None else seen.generation, said=said)
    elif seen.state_after == GroupState.COMPLETING_REBALANCE.value:
        if course.open is not None and (count := seen.body.get("members")) is not None:
            course.open.member_count = int(count)
        course.complete(seen, seen.generation or 0, said)
    elif seen.state_after == GroupState.STABLE.value:
        course.assign(seen, said)
    elif seen.state_after == GroupState.EMPTY.value:
        course.empty(seen, seen.generation, said)
    elif (now := course.open) is not None:
        now.ended = ABANDONED


def _line(seen: Observation) -> Shown:
    text = seen.body.get("line") or f"{seen.state_before or 'no group'} → {seen.state_after}, generation {seen.generation}: {seen.detail or ''}"
    return Shown(seq=seen.seq, at_ms=seen.at_ms, text=str(text), marks=str(seen.body.get("marks", "")))
