"""What classic members do in the scripts of measured steps: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, in classic groups and in mixed ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.coordinator.machine.consumer.measured_answers import Observed, assignment_of

from groupproof.protocol.wire import messages
from groupproof.protocol.wire.subscription import Assignment, Subscription, decode_assignment, encode_assignment, encode_subscription

__all__ = ["ClassicActs", "PlayedMember"]

_UNREADABLE = b"\xff"


@dataclass(slots=True)
class PlayedMember:
    """A member as it knows itself."""

    epoch: int = 0
    owned: dict[str, tuple[int, ...]] = field(default_factory=dict)
    token: int = 0


class ClassicActs(ABC):
    """`joingroup` without `id=self` asks with the id that the member was given, or without one."""

    base: dict[str, int]
    members: dict[tuple[str, str], PlayedMember]
    classic: dict[tuple[str, str], str]
    replies: dict[int, Any]
    mark: int = 0
    _serial: int = 0

    @abstractmethod
    def _ask(self, message: Any, version: int, client: str = "c") -> Any: ...

    @abstractmethod
    def _described(self, group: str) -> Any: ...

    @abstractmethod
    def _member(self, group: str, name: str) -> PlayedMember: ...

    @abstractmethod
    def _epoch(self, group: str, name: str, options: Mapping[str, str]) -> int: ...

    def _id(self, group: str, name: str) -> str:
        return "" if name == "-" else self.classic.get((group, name), name)

    def _act_joingroup(self, group: str, name: str, words: list[str], options: Mapping[str, str]) -> Observed:
        member = self._member(group, name)
        request = messages.JoinGroupRequest(
            group_id=group, session_timeout_ms=int(options.get("session", "10000")), rebalance_timeout_ms=int(options.get("timeout", "10000")),
            member_id=name if "id" in options else self.classic.get((group, name), ""), group_instance_id=options.get("instance"),
            protocol_type=options.get("type", "consumer"), protocols=_protocols(options, member),
        )  # fmt: skip
        answer = self._ask(request, int(options.get("version", "9")))
        member.token = self._serial
        return Observed() if answer is None else self._joined(group, name, answer)

    def _joined(self, group: str, name: str, answer: Any) -> Observed:
        if answer.member_id:
            self.classic[group, name] = answer.member_id
        if answer.error_code:
            return Observed(code=answer.error_code, count=len(answer.members))
        member = self._member(group, name)
        member.epoch = answer.generation_id
        epoch = answer.generation_id - self.base[group] if group in self.base else None
        is_up = answer.generation_id > self.mark
        return Observed(
            code=0, epoch=epoch, count=len(answer.members), up=str(is_up), leader="self" if answer.leader == answer.member_id else answer.leader
        )

    def _act_parked(self, group: str, name: str, words: list[str], options: Mapping[str, str]) -> Observed:
        """Return what a parked request was answered."""
        answer = self.replies[self._member(group, name).token]
        return Observed(code=answer.error_code)

    def _act_sync(self, group: str, name: str, words: list[str], options: Mapping[str, str]) -> Observed:
        member, shares = self._member(group, name), assignment_of(options["assign"]) if "assign" in options else None
        assignments = () if shares is None else (messages.SyncAssignment(member_id=self._id(group, name), assignment=_in_bytes(shares, options)),)
        request = messages.SyncGroupRequest(
            group_id=group, generation_id=self._epoch(group, name, options), member_id=self._id(group, name), group_instance_id=options.get("instance"),
            protocol_type=options.get("type", "consumer"), protocol_name=options.get("protocol", "range"), assignments=assignments,
        )  # fmt: skip
        answer = self._ask(request, 5)
        if answer.error_code:
            return Observed(code=answer.error_code)
        member.owned = {}
        for topic, index in decode_assignment(answer.assignment).partitions:
            member.owned[topic] = (*member.owned.get(topic, ()), index)
        return Observed(code=0, assignment=member.owned, tells_assignment=True)

    def _act_heartbeat(self, group: str, name: str, words: list[str], options: Mapping[str, str]) -> Observed:
        request = messages.HeartbeatRequest(
            group_id=group,
            generation_id=self._epoch(group, name, options),
            member_id=self._id(group, name),
            group_instance_id=options.get("instance"),
        )
        return Observed(code=self._ask(request, 4).error_code)

    def _act_leavegroup(self, group: str, name: str, words: list[str], options: Mapping[str, str]) -> Observed:
        entry = messages.LeaveMember(member_id=self._id(group, name), group_instance_id=options.get("instance"))
        return Observed(code=self._ask(messages.LeaveGroupRequest(group_id=group, members=(entry,)), 5).error_code)

    def _act_classic_live(self, group: str, name: str, words: list[str], options: Mapping[str, str]) -> None:
        """Let a classic member join, alone, and give itself what `assign` says."""
        self._act_joingroup(group, name, [], {**options, "version": "3"})
        self._act_sync(group, name, [], options)
        self.mark = self._member(group, name).epoch

    def _act_classic_empty(self, group: str, name: str, words: list[str], options: Mapping[str, str]) -> None:
        self._act_classic_live(group, name, [], {**options, "type": "connect"})
        self._act_leavegroup(group, name, [], options)

    def _do_mark(self, group: str, words: list[str], options: Mapping[str, str]) -> None:
        """Remember the group epoch, for the next `up`."""
        self.mark = self._described(group).group_epoch

    def _do_types(self, group: str, words: list[str], options: Mapping[str, str]) -> Observed:
        """Say of what type the members are, of each whether it is the one of that name; and how far the epoch is above the mark."""
        described = self._described(group)
        types = sorted(
            [member.member_id == options["of"], member.member_type] if "of" in options else member.member_type for member in described.members
        )
        return Observed(state=described.group_state, up=str(described.group_epoch - self.mark), types=types)


def _protocols(options: Mapping[str, str], member: PlayedMember) -> tuple[messages.JoinProtocol, ...]:
    names = options.get("protocols", "range")
    owned = tuple((topic, index) for topic, indexes in member.owned.items() for index in indexes)
    subscription = Subscription(
        topics=() if options.get("names") == "[]" else tuple(options.get("names", "t").split(",")),
        owned=owned,
        rack=options.get("rack"),
        version=3 if "rack" in options else 1,
    )
    metadata = _UNREADABLE if "unreadable" in options else encode_subscription(subscription)
    return () if names == "[]" else tuple(messages.JoinProtocol(name=name, metadata=metadata) for name in names.split(","))


def _in_bytes(shares: Mapping[str, tuple[int, ...]], options: Mapping[str, str]) -> bytes:
    partitions = tuple((topic, index) for topic, indexes in shares.items() for index in indexes)
    return encode_assignment(Assignment(partitions=partitions, user_data=options["data"].encode() if "data" in options else None, version=1))
