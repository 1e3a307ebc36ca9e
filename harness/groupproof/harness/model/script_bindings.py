"""What a script leaves open until it runs: the real names of its groups and topics, and the state of each member. Pure."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from groupproof.harness.model.script import AssignmentBytes, Group, OwnedById, PartitionsById, Ref, SubscriptionBytes, Topic, TopicId, TopicPattern
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.subscription import Assignment, Subscription, encode_assignment, encode_subscription

__all__ = ["GROUP_PREFIX", "NO_TOPIC_ID", "Memory", "Names", "topic_named", "topics_of"]

GROUP_PREFIX = "groupproof-"

_SLUG_CHARS_MAX = 60
_COUNTERS = frozenset({"generation", "member_epoch"})
_UNFIT = re.compile(r"[^a-z0-9]+")
_PLACE = re.compile(r"\{([a-z]\w*)\}")


NO_TOPIC_ID = "00000000-0000-0000-0000-00000000dead"
"""An id that no topic has."""


def topic_named(partitions: int, prefix: str = GROUP_PREFIX, nth: int = 1) -> str:
    """Return the name of the `nth` shared topic with so many partitions."""
    return f"{prefix}t{partitions}" if nth == 1 else f"{prefix}t{partitions}-{nth}"


def _real_names(topics: Mapping[str, int], prefix: str) -> dict[str, str]:
    """Return the shared topic for each topic of a script. Two topics of the same size get two shared topics."""
    counts: dict[int, int] = {}
    named: dict[str, str] = {}
    for name, partitions in topics.items():
        counts[partitions] = counts.get(partitions, 0) + 1
        named[name] = topic_named(partitions, prefix, counts[partitions])
    return named


def topics_of(topics: Mapping[str, int], prefix: str = GROUP_PREFIX) -> dict[str, int]:
    """Return the shared topics, with their partition counts, that a script with `topics` needs."""
    return {real: topics[name] for name, real in _real_names(topics, prefix).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The real names in one run of one case. Groups belong to the run (`key` distinguishes runs). Topics are shared and exist before the run.

    Topics in `own` are created by the script and belong to the run, as groups do. Any other undeclared topic keeps its name: no such topic exists.
    """

    case: str
    key: str
    topics: Mapping[str, int]
    prefix: str = GROUP_PREFIX
    own: frozenset[str] = frozenset()

    def group(self, name: str) -> str:
        slug = _UNFIT.sub("-", self.case.lower()).strip("-")[:_SLUG_CHARS_MAX]
        return f"{self.prefix}{slug}-{self.key}-{name}"

    def producer_id(self, member: str) -> int:
        """Return the id of a member's producer, which is probably unique in the life of a cluster."""
        return zlib.crc32(self.group(member).encode())

    def topic(self, name: str) -> str:
        if name in self.own:
            return self.group(name)
        return _real_names(self.topics, self.prefix).get(name, name)

    def pattern(self, text: str) -> str:
        """Return a regular expression with the real names in it. The full stop is the only special character in them, and it is escaped."""
        return _PLACE.sub(lambda found: self.topic(found[1]).replace(".", "\\."), text)

    def partitions(self, partitions: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
        return tuple((self.topic(topic), index) for topic, index in partitions)


@dataclass(slots=True)
class _Membership:
    """What one member got from its latest answer to JoinGroup, or to a heartbeat with epochs."""

    member_id: str = ""
    generation: int = -1
    leader: str = ""
    protocol_name: str | None = None
    member_epoch: int = 0
    assigned: tuple[Mapping[str, Any], ...] = ()


@dataclass(slots=True, kw_only=True)
class Memory:
    """The state of the members of one run, and the values of a script's markers. `topic_ids` are by the topics' real names."""

    names: Names
    topic_ids: dict[str, str] = field(default_factory=dict)
    _members: dict[str, _Membership] = field(default_factory=dict)

    def answered(self, api: Api, member: str, body: Mapping[str, Any]) -> None:
        """Record an answer to JoinGroup, or one with a member epoch. An error or an answer to a leave changes no epoch."""
        if api is Api.JOIN_GROUP:
            self.joined(member, body)
        elif body.get("member_epoch", -1) >= 0 and not body.get("error_code"):
            membership = self._members.setdefault(member, _Membership())
            membership.member_id, membership.member_epoch = body.get("member_id") or membership.member_id, body["member_epoch"]
            if body.get("assignment") is not None:
                membership.assigned = tuple(body["assignment"]["topic_partitions"])

    def joined(self, member: str, body: Mapping[str, Any]) -> None:
        """Record an answer to JoinGroup: the member id if there is one, the other fields if there is a generation."""
        membership = self._members.setdefault(member, _Membership())
        membership.member_id = body.get("member_id") or membership.member_id
        if body.get("generation_id", -1) >= 0:
            membership.generation = body["generation_id"]
            membership.leader = body.get("leader", "")
            membership.protocol_name = body.get("protocol_name")

    def resolved(self, value: Any) -> Any:
        """Return `value` with each marker in it replaced by its current value."""
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
        return self._assignment(value) if isinstance(value, AssignmentBytes) else self._by_id(value)

    def _by_id(self, value: Any) -> Any:
        if isinstance(value, TopicId):
            return self._topic_id(value.name)
        if isinstance(value, TopicPattern):
            return self.names.pattern(value.text)
        if isinstance(value, PartitionsById):
            return self._partitions(value)
        return self._members.get(value.member, _Membership()).assigned if isinstance(value, OwnedById) else value

    def _topic_id(self, name: str) -> str:
        return self.topic_ids.get(self.names.topic(name), NO_TOPIC_ID)

    def _partitions(self, named: PartitionsById) -> tuple[Mapping[str, Any], ...]:
        indexes: dict[str, list[int]] = {}
        for topic, index in named.partitions:
            indexes.setdefault(self._topic_id(topic), []).append(index)
        return tuple({"topic_id": topic_id, "partitions": tuple(found)} for topic_id, found in indexes.items())

    def _ref(self, ref: Ref) -> Any:
        if ref.attribute == "producer_id":
            return self.names.producer_id(ref.member)
        membership_value = getattr(self._members.get(ref.member, _Membership()), ref.attribute)
        return membership_value + ref.plus if ref.attribute in _COUNTERS else membership_value

    def _subscription(self, subscription: SubscriptionBytes) -> bytes:
        topics = tuple(self.names.topic(topic) for topic in subscription.topics)
        owned = self.names.partitions(subscription.owned)
        return encode_subscription(Subscription(topics=topics, owned=owned, user_data=subscription.user_data or None, version=subscription.version))

    def _assignment(self, assignment: AssignmentBytes) -> bytes:
        partitions = self.names.partitions(assignment.partitions)
        return encode_assignment(Assignment(partitions=partitions, user_data=assignment.user_data or None, version=assignment.version))
