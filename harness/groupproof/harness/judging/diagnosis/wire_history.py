"""The course of a group of which only requests and answers were seen: when its rebalances began and ended follows from them. Pure.

A rebalance begins with the request that makes the coordinator begin it. Where there is none, it is first told by a heartbeat's answer 27; then a
member's session is over, and it is the one that was not heard for so long.
"""

from __future__ import annotations

from itertools import takewhile
from typing import Final

from groupproof.harness.judging.diagnosis.group_history import ABANDONED, Course
from groupproof.harness.judging.diagnosis.member_history import Sign
from groupproof.harness.judging.diagnosis.rebalances import Shown
from groupproof.protocol.trace import ExchangeId, Observation
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["WireCourse"]

_BEGINS: Final = frozenset({"new", "replaced", "leader-again", "changed", "subscription", "handover", "left", "removed"})
_SLACK_MS: Final = 1_000.0
_TELLING: Final = frozenset({Api.HEARTBEAT.title, Api.OFFSET_COMMIT.title, Api.SYNC_GROUP.title})


class WireCourse:
    """Infers the course; `generation` is the newest that an answer has told."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._generation = -1
        self._present: set[str] = set()
        self._synced: set[str] = set()
        self._node: int | None = None
        self._trigger: ExchangeId | None = None
        self._asked: dict[ExchangeId, Observation] = {}

    def feed(self, seen: Observation, signs: list[Sign]) -> None:
        """Take an observation of the group, and what it shows."""
        if seen.kind == "request":
            self._asked[seen.exchange_id] = seen
            if seen.api == Api.SYNC_GROUP.title and seen.member:
                self._synced.add(seen.member)
            begins = [each for each in signs if each.name in _BEGINS]
            if begins and self._course.open is None:
                self._begin(seen, seen.at_ms, begins[0])
                self._trigger = seen.exchange_id
        elif seen.kind == "response":
            self._answered(seen, self._asked.pop(seen.exchange_id, None))

    def _begin(self, seen: Observation, at_ms: float, sign: Sign | None) -> None:
        said = Shown(seq=seen.seq, at_ms=at_ms, text=sign.text) if sign is not None else None
        self._course.begin(seen, at_ms=at_ms, generation=self._generation, said=said)

    def _answered(self, seen: Observation, asked: Observation | None) -> None:
        is_trigger = self._trigger is not None and self._trigger == seen.exchange_id
        if is_trigger and self._takes_back(seen):
            return
        if seen.api == Api.JOIN_GROUP.title and not seen.error and seen.generation is not None:
            self._joined(seen, asked)
        elif seen.api == Api.SYNC_GROUP.title and not seen.error and (now := self._course.open) is not None and now.joined_ms is not None:
            self._course.assign(seen, Shown(seq=seen.seq, at_ms=seen.at_ms, text=f"SyncGroup of generation {seen.generation} answered"))
        elif seen.api == Api.LEAVE_GROUP.title and not seen.error and asked is not None:
            self._left(seen, asked)
        elif seen.api in _TELLING and seen.error == ErrorCode.REBALANCE_IN_PROGRESS and self._course.open is None:
            self._untold(seen)

    def _takes_back(self, seen: Observation) -> bool:
        """Forget the rebalance that a request seemed to begin: it was refused, or answered within the generation that there was."""
        self._trigger = None
        is_within = seen.api == Api.JOIN_GROUP.title and seen.generation == self._generation
        now = self._course.open
        if now is None or not (seen.error or is_within) or now.joined_ms is not None or self._others_join(seen):
            return False
        self._course.rebalances.pop()
        self._course.is_empty = self._course.is_empty or now.is_initial
        return bool(seen.error)

    def _others_join(self, seen: Observation) -> bool:
        """Tell whether somebody else's JoinGroup waits for an answer: then a rebalance goes on, whoever began it."""
        return any(each.api == Api.JOIN_GROUP.title and each.group == seen.group and each.client != seen.client for each in self._asked.values())

    def _joined(self, seen: Observation, asked: Observation | None) -> None:
        generation = seen.generation or 0
        if seen.node is not None and self._node is not None and seen.node != self._node:
            self._moved(seen, asked)
        self._node = seen.node if seen.node is not None else self._node
        if generation > self._generation:
            if self._course.open is None:
                self._begin(seen, asked.at_ms if asked is not None else seen.at_ms, None)
            self._generation, self._present, self._synced = generation, set(), set()
            self._course.complete(seen, generation, Shown(seq=seen.seq, at_ms=seen.at_ms, text=f"JoinGroup answered with generation {generation}"))
        if generation == self._generation and seen.member:
            self._present.add(seen.member)

    def _moved(self, seen: Observation, asked: Observation | None) -> None:
        """Note that the group goes on at another broker; a rebalance that was under way begins anew there."""
        at_ms = asked.at_ms if asked is not None else seen.at_ms
        text = f"JoinGroup answered by broker {seen.node}, before by {self._node}"
        self._course.note([Sign(name="loaded", seq=seen.seq, at_ms=at_ms, text=text, node=seen.node)])
        if (now := self._course.open) is not None:
            now.ended = ABANDONED
            arrived = [each.at_ms for each in self._asked.values() if each.api == Api.JOIN_GROUP.title and each.node == seen.node]
            self._begin(seen, min([at_ms, *arrived]), None)

    def _left(self, seen: Observation, asked: Observation) -> None:
        since = takewhile(lambda each: each.seq >= asked.seq, reversed(self._course.signs))
        gone = {each.member for each in since if each.seq == asked.seq and each.name in ("left", "removed")}
        self._present -= {each for each in gone if each is not None}
        if not self._present and (now := self._course.open) is not None and now.joined_ms is None:
            self._course.empty(seen, None, Shown(seq=seen.seq, at_ms=seen.at_ms, text="LeaveGroup of the last member answered"))

    def _untold(self, seen: Observation) -> None:
        """Begin a rebalance of which the answer 27 is the first sign."""
        silent = self._silent(seen)
        unsynced = self._unsynced(seen)
        if unsynced:
            text = f"{', '.join(unsynced)} joined generation {self._generation} and sent no SyncGroup within the rebalance timeout"
            sign = Sign(name="unsynced", seq=seen.seq, at_ms=seen.at_ms, text=text, member=unsynced[0], several=tuple(unsynced))
            self._course.note([sign])
            self._begin(seen, seen.at_ms, sign)
            return
        if silent is None:
            self._begin(seen, seen.at_ms, None)
            return
        known = self._course.members.known[silent]
        at_ms = known.heard_ms + (known.session_ms or 0)
        text = f"{silent} was last heard {(seen.at_ms - known.heard_ms) / 1000:.1f} s before {seen.api} of {seen.client} was answered 27; its session is {known.session_ms} ms"
        sign = Sign(name="expired", seq=seen.seq, at_ms=at_ms, text=text, member=silent)
        self._course.note([sign])
        self._begin(seen, at_ms, sign)

    def _unsynced(self, seen: Observation) -> list[str]:
        """Return the members that have not asked for their assignment until the rebalance timeout was over (KAFKA-12890)."""
        last = self._course.rebalances[-1] if self._course.rebalances else None
        timeout_ms = max((known.rebalance_ms or 0 for each in self._present if (known := self._course.members.known.get(each))), default=0)
        if last is None or last.joined_ms is None or not timeout_ms or seen.at_ms < last.joined_ms + timeout_ms:
            return []
        return sorted(self._present - self._synced)

    def _silent(self, seen: Observation) -> str | None:
        """Return the member of the generation that has been silent for its session, the longest silent first."""
        known = [self._course.members.known[each] for each in self._present if each in self._course.members.known]
        over = [each for each in known if each.session_ms and each.heard_ms + each.session_ms <= seen.at_ms + _SLACK_MS]
        return min(over, key=lambda each: each.heard_ms).member if over else None
