"""How a group moves, told plainly: a rebalance is prepared, its join phase ends, members go, timers go off. Written from the catalogue alone.

A world holds all groups, the time, what was answered and which moves were made. Nothing is remembered that can be counted anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

from tests.stateful.naive_group import Group, Member, elect, listed, metadata_of, subscribed_topics, unjoined, votes

from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.messages import GroupResponse, JoinGroupResponse, JoinProtocol, SyncGroupResponse

__all__ = ["COMPLETING", "DEAD", "EMPTY", "PREPARING", "STABLE", "Release", "World"]

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = (
    GroupState.EMPTY, GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE, GroupState.STABLE, GroupState.DEAD,
)  # fmt: skip
Due = tuple[int, int]
Release = tuple[int, ...]
"""Rules of a release are those of the catalogue, with "First release of each behaviour" (kafka-cases, 6.10) for what came when.

The coordinator in Java (4.0) does some of it in its own way, as the error tables and measurements of 4.1.0 say: `is_java` marks where.
"""


class World:
    """Every group of one coordinator. `answers` and `moves` collect what one input brings about; `disk` is what the log answers to appends."""

    def __init__(self, settings: Settings, release: Release = (4, 1)) -> None:
        self.settings = settings
        self.release = release
        self.now_ms = 0
        self.groups: dict[str, Group] = {}
        self.answers: list[tuple[Hashable, GroupResponse]] = []
        self.moves: list[tuple[str, GroupState | None, GroupState, int]] = []
        self.disk = ErrorCode.NONE
        self.is_active = True
        self.elsewhere: set[str] = set()  # groups that another broker coordinates
        self.loading: set[str] = set()  # groups that this one is about to coordinate
        self.commits = 0  # so many offsets were committed
        self._armed = 0

    def since(self, *release: int) -> bool:
        return self.release >= release

    @property
    def is_java(self) -> bool:
        return self.since(4, 0)

    @property
    def spares_newcomers(self) -> bool:
        return self.since(2, 4, 1) and not self.since(2, 5)

    # What every rule does

    def answer(self, token: Hashable, message: GroupResponse) -> None:
        self.answers.append((token, message))

    def join_error(self, error: ErrorCode, member_id: str = "") -> JoinGroupResponse:
        """Return an error's answer, which tells the code and the id alone (JOIN-30)."""
        return JoinGroupResponse(error_code=error, generation_id=-1 if self.since(2, 2) else 0, member_id=member_id)

    def move(self, group: Group, state: GroupState) -> None:
        self.moves.append((group["id"], group["state"], state, group["generation"]))
        group["state"] = state

    def due_in(self, ms: int) -> Due:
        self._armed += 1
        return (self.now_ms + ms, self._armed)

    def restart(self, member: Member) -> None:
        """Give the member another whole session (HB-14); 2.4.1 took it from a newcomer, for good unless it syncs (KAFKA-9752, measured)."""
        member["session"] = None if member["new"] and self.spares_newcomers else self.due_in(member["session_ms"])

    # A rebalance begins

    def prepare_or_check(self, group: Group) -> None:
        """Begin a rebalance, or see whether the one under way can end (JOIN-16, JOIN-17)."""
        if group["state"] is PREPARING:
            self.check(group)
        else:
            self.prepare(group)

    def prepare(self, group: Group) -> None:
        was = group["state"]
        if was is COMPLETING:
            self.abort_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group["sync"] = None
        self.move(group, PREPARING)
        if was is EMPTY:
            delay_ms = self.settings.group_initial_rebalance_delay_ms
            group["span"], group["remaining"] = delay_ms, max(self.rebalance_ms(group) - delay_ms, 0)  # IDJ-05
            group["delay"] = self.due_in(delay_ms)
            return
        self.wait_for_joins(group)

    def wait_for_joins(self, group: Group) -> None:
        if self.is_ready(group):
            self.complete(group)
        else:
            group["join"] = self.due_in(self.rebalance_ms(group))  # DJOIN-01, DJOIN-07

    def abort_syncs(self, group: Group, error: ErrorCode) -> None:
        """Answer every parked SyncGroup with the error, and clear the assignments (JOIN-19, SYNC-11, SYNC-25)."""
        for member in group["members"].values():
            member["assignment"] = b""
            if member["sync"] is not None:
                self.answer(member["sync"], SyncGroupResponse(error_code=error))
                member["sync"] = None
                self.restart(member)

    def rebalance_ms(self, group: Group) -> int:
        return max((item["rebalance_ms"] for item in group["members"].values()), default=0)

    # A join phase ends

    def is_ready(self, group: Group) -> bool:
        """Tell whether all have joined and no id is pending (DJOIN-51)."""
        return not unjoined(group) and not group["pending"]

    def check(self, group: Group) -> None:
        """End the join phase if it can end early; the initial delay never does (IDJ-02)."""
        if group["state"] is PREPARING and group["delay"] is None and self.is_ready(group):
            self.complete(group)

    def complete(self, group: Group) -> None:
        group["join"] = group["delay"] = None
        for member in unjoined(group):
            if member["instance"] is None:  # STATIC-03
                del group["members"][member["id"]]
                if not self.since(2, 1) and member["session"] is not None:
                    group["evicted"][member["id"]] = member["session"]  # DJOIN-19
        joined = [item["id"] for item in group["members"].values() if item["join"] is not None]
        if group["leader"] not in group["members"]:  # JOIN-07
            group["leader"] = elect(list(group["members"])) if group["members"] else None
        if joined and group["leader"] not in joined:  # STATIC-12
            group["leader"] = elect(joined)
        if group["members"] and not joined:
            group["join"] = self.due_in(self.rebalance_ms(group))  # TR-050, STATIC-13
            return
        group["generation"] += 1
        group["newcomer"], group["owing"] = False, set()
        if group["members"]:
            self.begin_generation(group)
        else:
            self.become_empty(group)

    def become_empty(self, group: Group) -> None:
        group["protocol"], group["empty_since"], group["subscribed"] = None, self.now_ms, set()
        self.move(group, EMPTY)
        self.store(group)

    def begin_generation(self, group: Group) -> None:
        group["protocol"] = elect(votes(group))
        group["subscribed"] = subscribed_topics(group)
        self.move(group, COMPLETING)
        for member in group["members"].values():
            if member["join"] is not None:
                self.answer(member["join"], self.joined(group, member))
                member["join"] = None
            member["new"] = member["new"] and self.spares_newcomers
            self.restart(member)  # DJOIN-12, STATIC-14
            member["new"] = False
        group["owing"] = set(group["members"])
        if self.since(2, 8, 1):
            group["sync"] = self.due_in(self.rebalance_ms(group))

    def joined(self, group: Group, member: Member, **other: Any) -> JoinGroupResponse:
        """Return what a member of the generation is told (JOIN-13, JOIN-14)."""
        is_leader = member["id"] == group["leader"]
        fields = {
            "generation_id": group["generation"], "protocol_type": group["type"], "protocol_name": group["protocol"], "leader": group["leader"],
            "member_id": member["id"], "members": listed(group) if is_leader else (), **other,
        }  # fmt: skip
        return JoinGroupResponse(**fields)

    def store(self, group: Group) -> None:
        """Write the group down as it now is, for whoever coordinates it next (EMIG-03)."""
        if self.disk is ErrorCode.NONE:
            members = {item["id"]: self.recorded(group, item) for item in group["members"].values()}
            group["stored"] = {**{name: group[name] for name in ("generation", "type", "protocol", "leader", "empty_since")}, "members": members}

    def recorded(self, group: Group, member: Member) -> Member:
        """Return what a record tells of a member: of its protocols only the chosen one."""
        chosen = JoinProtocol(name=group["protocol"] or "", metadata=metadata_of(member, group["protocol"]))
        return {**member, "protocols": (chosen,), "join": None, "sync": None, "session": None, "new": False}

    # Somebody goes

    def remove(self, group: Group, member_id: str) -> None:
        """Take a member out; its parked JoinGroup is answered 25 (LEAVE-08, since 2.1.1), leadership passes on (JOIN-07)."""
        member = group["members"].pop(member_id)
        group["owing"].discard(member_id)
        if member["join"] is not None and self.since(2, 1, 1):
            self.answer(member["join"], self.join_error(ErrorCode.UNKNOWN_MEMBER_ID))
        if group["leader"] == member_id:
            group["leader"] = elect(list(group["members"])) if group["members"] else None

    def gone(self, group: Group) -> None:
        """Go on after somebody went (HB-11, LEAVE-03 to LEAVE-05)."""
        if group["state"] in (STABLE, COMPLETING):
            self.prepare(group)
        else:
            self.check(group)

    def missed(self, group: Group) -> None:
        """Go on after a timer took somebody away: 4.1.0 ends even the initial delay when nobody is awaited any more (TR-062 is the older rule)."""
        if group["state"] is PREPARING and self.is_java and self.is_ready(group):
            self.complete(group)
        else:
            self.gone(group)

    # Time

    def next_due(self) -> tuple[Due, Callable[[], None]] | None:
        """Return the timer that goes off next. At one instant those of a group go before those of members, each in the order of arming.

        Timers that would do nothing are none: that for SyncGroup when everyone has synced, and the session of who is parked.
        """
        found: list[tuple[tuple[int, bool, int], Due, Callable[[], None]]] = []
        for group in self.groups.values():
            ends = [("delay", self.end_delay), ("join", self.complete), ("sync", self.end_sync)]
            for name, end in ends if group["owing"] else ends[:2]:
                if group[name] is not None:
                    found.append(((group[name][0], False, group[name][1]), group[name], partial(end, group)))
            sessions = [(item["id"], item["session"]) for item in group["members"].values() if not self.is_kept(item)]
            for name, due in [*sessions, *group["pending"].items(), *group["evicted"].items()]:
                if due is not None:
                    found.append(((due[0], True, due[1]), due, partial(self.end_session, group, name)))
        return min(found, key=lambda item: item[0])[1:] if found else None

    def is_kept(self, member: Member) -> bool:
        """Tell whether no session ends for the member: something is parked, and it is no newcomer (DJOIN-15, SYNC-20, NEWM-02, NEWM-03)."""
        return not member["new"] and (member["join"] is not None or member["sync"] is not None)

    def advance(self, now_ms: int) -> None:
        """Let every timer go off that is due."""
        while (timer := self.next_due()) is not None and timer[0][0] <= now_ms:
            self.now_ms = max(self.now_ms, timer[0][0])
            timer[1]()
        self.now_ms = now_ms

    def end_delay(self, group: Group) -> None:
        """End the initial delay, or extend it for those who came meanwhile (IDJ-03, IDJ-04)."""
        group["delay"] = None
        if group["newcomer"] and group["remaining"]:
            span = min(self.settings.group_initial_rebalance_delay_ms, group["remaining"])
            group["newcomer"], group["remaining"], group["span"] = False, max(group["remaining"] - span, 0), span
            group["delay"] = self.due_in(span)
        else:
            self.complete(group)

    def end_sync(self, group: Group) -> None:
        """Remove who has not synced by the deadline (2.8.1+)."""
        group["sync"] = None
        for member_id in list(group["owing"]):
            if member_id in group["members"]:
                self.remove(group, member_id)
        self.prepare(group)

    def end_session(self, group: Group, member_id: str) -> None:
        if member_id in group["pending"]:  # PEND-04
            del group["pending"][member_id]
            if group["state"] is PREPARING:
                self.missed(group)
            return
        if member_id in group["evicted"]:
            del group["evicted"][member_id]
            self.missed(group)
            return
        self.remove(group, member_id)
        self.missed(group)
