"""Infers the rebalances of a group from its requests and answers alone. Pure.

A rebalance begins with the request that makes the coordinator begin it. Without one, the first sign is an answer 27 to a heartbeat. Then a member's
session has ended: the one that was silent for that long. The group tracker says who is a member of which generation.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import Final

from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker
from groupproof.harness.judging.diagnosis.group_history import ABANDONED, GroupHistory
from groupproof.harness.judging.diagnosis.member_history import Sign
from groupproof.harness.judging.diagnosis.rebalances import EvidenceLine
from groupproof.protocol.trace import ExchangeId, Observation
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["WireCourse"]

_BEGINS: Final = frozenset({"new", "replaced", "leader-again", "changed", "subscription", "handover", "left", "removed"})
_SLACK_MS: Final = 1_000.0
_TELLING: Final = frozenset({Api.HEARTBEAT.title, Api.OFFSET_COMMIT.title, Api.SYNC_GROUP.title})


class WireCourse:
    """Infers the history. The tracker identifies members by member id, because clients may share a client id and a diagnosis names members by their
    ids."""

    def __init__(self, run: GroupHistory) -> None:
        self._course = run
        self._group = GroupTracker()
        self._node: int | None = None
        self._trigger: ExchangeId | None = None
        self._asked: dict[ExchangeId, Observation] = {}

    def feed(self, obs: Observation, signs: list[Sign]) -> None:
        """Record an observation of the group, with its signs."""
        if obs.kind == "request":
            self._asked[obs.exchange_id] = obs
            begins = [sign for sign in signs if sign.name in _BEGINS]
            if begins and self._course.open is None:
                self._begin(obs, obs.at_ms, begins[0])
                self._trigger = obs.exchange_id
            self._track(obs, obs.member)
        elif obs.kind == "response":
            asked = self._asked.pop(obs.exchange_id, None)
            self._answered(obs, asked)
            self._track(obs, obs.member or (asked.member if asked is not None else None))

    @property
    def _generation(self) -> int:
        return self._group.generation

    @property
    def _present(self) -> dict[str, bool]:
        """Return the members of the newest generation, and whether each has sent its SyncGroup in it."""
        newest = (self._group.epoch, self._group.generation)
        return {name: member.synced_seq >= 0 for name, member in self._group.members.items() if (member.epoch, member.generation) == newest}

    def _track(self, obs: Observation, member: str | None) -> None:
        if member and obs.api != Api.LEAVE_GROUP.title:
            body = {"member_id": member, "generation_id": obs.generation, **obs.body} if obs.kind == "response" else obs.body
            self._group.follow(replace(obs, client=member, member=member, body=body))

    def _begin(self, obs: Observation, at_ms: float, sign: Sign | None) -> None:
        evidence = EvidenceLine(seq=obs.seq, at_ms=at_ms, text=sign.text) if sign is not None else None
        self._course.begin(obs, at_ms=at_ms, generation=self._generation, evidence=evidence)

    def _answered(self, obs: Observation, asked: Observation | None) -> None:
        is_trigger = self._trigger is not None and self._trigger == obs.exchange_id
        if is_trigger and self._takes_back(obs):
            return
        if obs.api == Api.JOIN_GROUP.title and not obs.error and obs.generation is not None:
            self._joined(obs, asked)
        elif obs.api == Api.SYNC_GROUP.title and not obs.error and (now := self._course.open) is not None and now.joined_ms is not None:
            self._course.assign(obs, EvidenceLine(seq=obs.seq, at_ms=obs.at_ms, text=f"SyncGroup of generation {obs.generation} answered"))
        elif obs.api == Api.LEAVE_GROUP.title and not obs.error and asked is not None:
            self._left(obs, asked)
        elif obs.api in _TELLING and obs.error == ErrorCode.REBALANCE_IN_PROGRESS and self._course.open is None:
            self._answered_by_27(obs)

    def _takes_back(self, obs: Observation) -> bool:
        """Remove the rebalance that a request seemed to begin, if the request was refused or answered within the current generation."""
        self._trigger = None
        is_within = obs.api == Api.JOIN_GROUP.title and obs.generation == self._generation
        now = self._course.open
        if now is None or not (obs.error or is_within) or now.joined_ms is not None or self._others_join(obs):
            return False
        self._course.rebalances.pop()
        self._course.is_empty = self._course.is_empty or now.is_initial
        return bool(obs.error)

    def _others_join(self, obs: Observation) -> bool:
        """Return whether another client's JoinGroup waits for an answer. Then a rebalance goes on, whatever began it."""
        return any(item.api == Api.JOIN_GROUP.title and item.group == obs.group and item.client != obs.client for item in self._asked.values())

    def _joined(self, obs: Observation, asked: Observation | None) -> None:
        generation = obs.generation or 0
        if obs.node is not None and self._node is not None and obs.node != self._node:
            self._moved(obs, asked)
        self._node = obs.node if obs.node is not None else self._node
        if generation != self._generation:  # a lower one: the group was created again (INV-04), or goes on from before it (EMIG-05)
            if self._course.open is None:
                self._begin(obs, asked.at_ms if asked is not None else obs.at_ms, None)
            self._course.complete(
                obs, generation, EvidenceLine(seq=obs.seq, at_ms=obs.at_ms, text=f"JoinGroup answered with generation {generation}")
            )

    def _moved(self, obs: Observation, asked: Observation | None) -> None:
        """Record that the group goes on at another broker. A rebalance under way begins again there."""
        at_ms = asked.at_ms if asked is not None else obs.at_ms
        text = f"JoinGroup answered by broker {obs.node}, before by {self._node}"
        self._course.note([Sign(name="loaded", seq=obs.seq, at_ms=at_ms, text=text, node=obs.node)])
        if (now := self._course.open) is not None:
            now.ended = ABANDONED
            arrived = [item.at_ms for item in self._asked.values() if item.api == Api.JOIN_GROUP.title and item.node == obs.node]
            self._begin(obs, min([at_ms, *arrived]), None)

    def _left(self, obs: Observation, asked: Observation) -> None:
        since = takewhile(lambda sign: sign.seq >= asked.seq, reversed(self._course.signs))
        gone = {sign.member for sign in since if sign.seq == asked.seq and sign.name in ("left", "removed")}
        for name in gone:
            self._group.follow(replace(obs, client=name))
        if not self._present and (now := self._course.open) is not None and now.joined_ms is None:
            self._course.empty(obs, None, EvidenceLine(seq=obs.seq, at_ms=obs.at_ms, text="LeaveGroup of the last member answered"))

    def _answered_by_27(self, obs: Observation) -> None:
        """Begin a rebalance whose first sign is the answer 27."""
        silent = self._silent(obs)
        unsynced = self._unsynced(obs)
        if unsynced:
            text = f"{', '.join(unsynced)} joined generation {self._generation} and sent no SyncGroup within the rebalance timeout"
            sign = Sign(name="unsynced", seq=obs.seq, at_ms=obs.at_ms, text=text, member=unsynced[0], several=tuple(unsynced))
            self._course.note([sign])
            self._begin(obs, obs.at_ms, sign)
            return
        if silent is None:
            self._begin(obs, obs.at_ms, None)
            return
        member = self._course.members.records[silent]
        at_ms = member.heard_ms + (member.session_ms or 0)
        text = f"{silent} was last heard {(obs.at_ms - member.heard_ms) / 1000:.1f} s before {obs.api} of {obs.client} was answered 27; its session is {member.session_ms} ms"
        sign = Sign(name="expired", seq=obs.seq, at_ms=at_ms, text=text, member=silent)
        self._course.note([sign])
        self._begin(obs, at_ms, sign)

    def _unsynced(self, obs: Observation) -> list[str]:
        """Return the members that sent no SyncGroup until the rebalance timeout ended (KAFKA-12890)."""
        last = self._course.rebalances[-1] if self._course.rebalances else None
        present = self._present
        timeout_ms = max((member.rebalance_ms or 0 for name in present if (member := self._course.members.records.get(name))), default=0)
        if last is None or last.joined_ms is None or not timeout_ms or obs.at_ms < last.joined_ms + timeout_ms:
            return []
        return sorted(name for name, has_synced in present.items() if not has_synced)

    def _silent(self, obs: Observation) -> str | None:
        """Return the member of the generation that has been silent for its session timeout; of several, the longest silent."""
        records = [self._course.members.records[name] for name in self._present if name in self._course.members.records]
        over = [entry for entry in records if entry.session_ms and entry.heard_ms + entry.session_ms <= obs.at_ms + _SLACK_MS]
        return min(over, key=lambda entry: entry.heard_ms).member if over else None
