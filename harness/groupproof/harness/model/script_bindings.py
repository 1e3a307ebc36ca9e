"""What a script leaves open until it runs: the real names of its groups and topics, and what each member was last given. Pure."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from groupproof.harness.model.script import AssignmentBytes, Group, Ref, SubscriptionBytes, Topic
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.subscription import Assignment, Subscription, encode_assignment, encode_subscription

__all__ = ["GROUP_PREFIX", "Memory", "Names", "topic_named", "topics_of"]

GROUP_PREFIX = "groupproof-"

_SLUG_CHARS_MAX = 60
_COUNTERS = frozenset({"generation", "member_epoch"})
_UNFIT = re.compile(r"[^a-z0-9]+")


def topic_named(partitions: int, prefix: str = GROUP_PREFIX) -> str:
    """Return the topic of so many partitions that all cases share."""
    return f"{prefix}t{partitions}"


def topics_of(topics: Mapping[str, int], prefix: str = GROUP_PREFIX) -> dict[str, int]:
    """Return the shared topics, with their partitions, that a script with `topics` needs."""
    return {topic_named(partitions, prefix): partitions for partitions in topics.values()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The real names in one run of one case: groups are its own (`key` tells runs apart), topics are shared and were there before.

    A topic that the script does not declare keeps its name: there is none so called.
    """

    case: str
    key: str
    topics: Mapping[str, int]
    prefix: str = GROUP_PREFIX

    def group(self, name: str) -> str:
        slug = _UNFIT.sub("-", self.case.lower()).strip("-")[:_SLUG_CHARS_MAX]
        return f"{self.prefix}{slug}-{self.key}-{name}"

    def producer_id(self, member: str) -> int:
        """Return the id of a member's producer: likely nobody else's in a cluster's life."""
        return zlib.crc32(self.group(member).encode())

    def topic(self, name: str) -> str:
        return topic_named(self.topics[name], self.prefix) if name in self.topics else name

    def partitions(self, partitions: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
        return tuple((self.topic(topic), index) for topic, index in partitions)


@dataclass(slots=True)
class _Membership:
    """What one member was last given, by an answer to JoinGroup or to a heartbeat with epochs."""

    member_id: str = ""
    generation: int = -1
    leader: str = ""
    protocol_name: str | None = None
    member_epoch: int = 0


@dataclass(slots=True, kw_only=True)
class Memory:
    """What the members of one run were given, and with it the values that a script's markers stand for."""

    names: Names
    _members: dict[str, _Membership] = field(default_factory=dict)

    def answered(self, api: Api, member: str, body: Mapping[str, Any]) -> None:
        """Take an answer in: to JoinGroup, or one with a member epoch (an error gives none, and takes none away)."""
        if api is Api.JOIN_GROUP:
            self.joined(member, body)
        elif "member_epoch" in body and not body.get("error_code"):
            given = self._members.setdefault(member, _Membership())
            given.member_id, given.member_epoch = body.get("member_id") or given.member_id, body["member_epoch"]

    def joined(self, member: str, body: Mapping[str, Any]) -> None:
        """Take an answer to JoinGroup in: an id whenever there is one, the rest where there is a generation."""
        given = self._members.setdefault(member, _Membership())
        given.member_id = body.get("member_id") or given.member_id
        if body.get("generation_id", -1) >= 0:
            given.generation = body["generation_id"]
            given.leader = body.get("leader", "")
            given.protocol_name = body.get("protocol_name")

    def resolved(self, value: Any) -> Any:
        """Return `value` with each marker in it replaced by what it stands for now."""
        if isinstance(value, Mapping):
            return {name: self.resolved(item) for name, item in value.items()}
        if isinstance(value, tuple | list):
            return tuple(self.resolved(item) for item in value)
        return self._marked(value)

    def _marked(self, value: Any) -> Any:
        if isinstance(value, Ref):
            return self._ref(value)
        if isinstance(value, Group):
            return self.names.group(value.name)
        if isinstance(value, Topic):
            return self.names.topic(value.name)
        if isinstance(value, SubscriptionBytes):
            return self._subscription(value)
        return self._assignment(value) if isinstance(value, AssignmentBytes) else value

    def _ref(self, ref: Ref) -> Any:
        if ref.what == "producer_id":
            return self.names.producer_id(ref.member)
        given = getattr(self._members.get(ref.member, _Membership()), ref.what)
        return given + ref.plus if ref.what in _COUNTERS else given

    def _subscription(self, subscription: SubscriptionBytes) -> bytes:
        topics = tuple(self.names.topic(topic) for topic in subscription.topics)
        owned = self.names.partitions(subscription.owned)
        return encode_subscription(Subscription(topics=topics, owned=owned, user_data=subscription.user_data or None, version=subscription.version))

    def _assignment(self, assignment: AssignmentBytes) -> bytes:
        partitions = self.names.partitions(assignment.partitions)
        return encode_assignment(Assignment(partitions=partitions, user_data=assignment.user_data or None, version=assignment.version))
