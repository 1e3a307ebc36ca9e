"""What requests and log lines show about a group's members: identities, last requests, and actions that can begin a rebalance. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from groupproof.harness.judging.diagnosis.rebalances import name_of
from groupproof.protocol.trace import ExchangeId, Observation
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.subscription import Subscription, SubscriptionError, decode_subscription

__all__ = ["MemberRecord", "Membership", "Sign"]

_KNOCKS_FROM: Final = 4
"""From this version of JoinGroup on, a dynamic member without an id first only gets one (KIP-394)."""

_PLAIN: Final = frozenset({"range", "roundrobin"})
"""Assignors whose metadata holds only the subscription. If a log only reports changed metadata, the subscription changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """An event that can begin a rebalance. `name`: new, again, leader-again, changed, subscription, handover, replaced, left, removed, expired,
    evicted, unsynced, loaded, topics.

    `text` is the line or frame as a person reads it. `asked` is the request; `new_ids` maps it to the id that it got.
    """

    name: str
    seq: int
    at_ms: float
    text: str
    member: str | None = None
    reason: str | None = None
    node: int | None = None
    several: tuple[str, ...] = ()
    topic: str | None = None
    asked: ExchangeId = (None, None)
    marks: str = ""


@dataclass(slots=True, kw_only=True)
class MemberRecord:
    """A member by its id. `offer` is what it joined with; a different offer is a change."""

    member: str
    client: str | None = None
    instance: str | None = None
    connection: int | None = None
    session_ms: int | None = None
    rebalance_ms: int | None = None
    offer: tuple[Any, ...] = ()
    subscription: Subscription | None = None
    heard_ms: float = 0.0
    is_pending: bool = False


@dataclass(slots=True, kw_only=True)
class Membership:
    """Reads the observations of one group, and those without a group (Fetch, Metadata, connections).

    `new_ids` and `entered` map a JoinGroup to the id that it got and the generation that it entered.
    """

    records: dict[str, MemberRecord] = field(default_factory=dict)
    leader: str | None = None
    fetches: dict[str, list[float]] = field(default_factory=dict)
    new_ids: dict[ExchangeId, str] = field(default_factory=dict)
    entered: dict[ExchangeId, int] = field(default_factory=dict)
    _topics: dict[str, int] = field(default_factory=dict)
    _found: set[str] = field(default_factory=set)
    _instances: dict[str, str] = field(default_factory=dict)
    _asked: dict[ExchangeId, Observation] = field(default_factory=dict)

    def client_of(self, member: str | None) -> str | None:
        """Return the client id of a member. Where only the member id is known, return its prefix."""
        if not member:
            return None
        record = self.records.get(member)
        return record.client if record is not None and record.client is not None else name_of(member)

    def feed(self, obs: Observation) -> list[Sign]:
        """Record an observation, and return its signs."""
        if obs.kind == "request":
            return self._request(obs)
        if obs.kind == "response":
            return self._response(obs)
        if obs.kind == "event":
            return self._event(obs)
        return []

    # Requests

    def _request(self, obs: Observation) -> list[Sign]:
        self._asked[obs.exchange_id] = obs
        if obs.api == Api.FIND_COORDINATOR.title and obs.client is not None:
            self._found.add(obs.client)
        if obs.api == Api.FETCH.title:
            self.fetches.setdefault(obs.client or "", []).append(obs.at_ms)
        if obs.member and (member := self.records.get(obs.member)) is not None and obs.api != Api.LEAVE_GROUP.title:
            member.heard_ms, member.connection, member.client = obs.at_ms, obs.connection, member.client or obs.client
        if obs.api == Api.JOIN_GROUP.title:
            return self._joins(obs)
        return self._leaves(obs) if obs.api == Api.LEAVE_GROUP.title else []

    def _joins(self, obs: Observation) -> list[Sign]:
        offer, subscription = _offer(obs)
        member = self.records.get(obs.member or "")
        if member is None or member.is_pending:
            return self._comes(obs)
        name = self._change(member, offer, subscription)
        if name == "again" and member.member == self.leader:
            name = "leader-again"
        _take(member, obs, offer, subscription)
        return [_frame(name, obs, member=member.member)]

    def _comes(self, obs: Observation) -> list[Sign]:
        if not obs.member and not obs.instance and (obs.version or 0) >= _KNOCKS_FROM:
            return []
        if not obs.member and obs.instance in self._instances:
            return [_frame("replaced", obs, member=self._instances[obs.instance])]
        first = f"FindCoordinator of {obs.client}, then " if obs.client in self._found else ""
        how = "with the id that it was given" if obs.member else "without a member id"
        return [
            _frame(
                "new",
                obs,
                member=obs.member or None,
                text=f"{first}{_called(obs)} of {obs.client} {how}, on connection {obs.connection}",
            )
        ]

    def _change(self, member: MemberRecord, offer: tuple[Any, ...], subscription: Subscription | None) -> str:
        if offer == member.offer or not member.offer:
            return "again"
        before = member.subscription
        if subscription is None or before is None:
            return "subscription" if {item[0] for item in offer} <= _PLAIN else "changed"
        if set(subscription.topics) != set(before.topics):
            return "subscription"
        return "handover" if set(before.owned) - set(subscription.owned) else "changed"

    def _leaves(self, obs: Observation) -> list[Sign]:
        members = obs.body.get("members") or ({"member_id": obs.member, "group_instance_id": obs.instance},)
        signs = []
        for entry in members:
            instance = entry.get("group_instance_id")
            member = entry.get("member_id") or self._instances.get(instance or "")
            record = self.records.get(member or "")
            is_own = record is not None and not record.instance and _is_own(obs, record)
            name = "left" if is_own or (record is None and not instance) else "removed"
            signs.append(_frame(name, obs, member=member, reason=entry.get("reason")))
        return signs

    # Responses

    def _response(self, obs: Observation) -> list[Sign]:
        asked = self._asked.pop(obs.exchange_id, None)
        if obs.api == Api.METADATA.title:
            return self._counted(obs)
        if obs.api == Api.JOIN_GROUP.title and asked is not None:
            self._joined(obs, asked)
        return []

    def _joined(self, obs: Observation, asked: Observation) -> None:
        if not obs.member or obs.error not in (0, None, ErrorCode.MEMBER_ID_REQUIRED):
            return
        member = self.records.setdefault(obs.member, MemberRecord(member=obs.member))
        self.new_ids[obs.exchange_id] = obs.member
        member.is_pending = obs.error == ErrorCode.MEMBER_ID_REQUIRED
        if not member.is_pending:
            if obs.generation is not None:
                self.entered[obs.exchange_id] = obs.generation
            _take(member, asked, *_offer(asked))
            self.leader = obs.body.get("leader") or self.leader
        member.client, member.heard_ms = asked.client, obs.at_ms
        if member.instance:
            self._instances[member.instance] = member.member

    def _counted(self, obs: Observation) -> list[Sign]:
        """Return a sign for each topic whose number of partitions has changed."""
        signs = []
        for topic in obs.body.get("topics") or ():
            name, count = str(topic.get("name")), topic.get("partitions")
            if isinstance(count, int) and self._topics.setdefault(name, count) != count:
                sentence = f"Metadata for {obs.client}: {name} has {count} partitions, {self._topics[name]} before"
                signs.append(_frame("topics", obs, text=sentence, topic=name))
                self._topics[name] = count
        return signs

    # Log lines and the kit's own events

    def _event(self, obs: Observation) -> list[Sign]:
        name, line = str(obs.body.get("name")), str(obs.body.get("line", ""))
        if name not in _EVENTS:
            return []
        member = obs.member
        if name == "replaced" and obs.instance:
            member = str(obs.body.get("replaced") or self._instances.get(obs.instance) or obs.instance)
        if name in ("joining", "given-id") and member is not None:
            record = self.records.setdefault(member, MemberRecord(member=member, is_pending=name == "given-id"))
            record.instance = record.instance or obs.instance
        known_instance = self.records[member].instance if member in self.records else None
        is_static = bool(obs.instance or known_instance)
        called = "removed" if name == "left" and is_static else _EVENTS[name]
        several = tuple(obs.body.get("several") or ())
        text = line or f"{name} {obs.group or ''}".strip()
        return [
            Sign(
                name=called, seq=obs.seq, at_ms=obs.at_ms, text=text, member=member or (several[0] if several else None), node=obs.node,
                reason=obs.body.get("reason"), several=several, topic=obs.body.get("topic"), marks=str(obs.body.get("marks", "")),
            )
        ]  # fmt: skip


_EVENTS: Final = {
    "joining": "new", "given-id": "knocks", "expired": "expired", "left": "left", "replaced": "replaced", "evicted": "evicted", "unsynced": "unsynced",
    "loaded": "loaded", "loaded-partition": "loaded", "moved": "loaded", "partition-made": "topics", "grown": "topics",
}  # fmt: skip
"""The signs for which events stand."""


def _called(obs: Observation) -> str:
    return f"{obs.api} v{obs.version}" if obs.version is not None else str(obs.api)


def _offer(join: Observation) -> tuple[tuple[Any, ...], Subscription | None]:
    """Return the protocols of a JoinGroup with their metadata (or its length, where a log has no more), and the first subscription."""
    protocols = join.body.get("protocols") or ()
    offer = tuple((protocol.get("name"), protocol.get("metadata") or protocol.get("metadata_bytes")) for protocol in protocols)
    try:
        return offer, decode_subscription(protocols[0].get("metadata") or b"") if protocols else None
    except SubscriptionError:
        return offer, None


def _is_own(leave: Observation, member: MemberRecord) -> bool:
    """Return whether a LeaveGroup is the member's own: on its connection, or with its client id on another, as kafka-go sends it. Otherwise it is a
    removal."""
    return member.connection in (leave.connection, None) or (leave.client is not None and leave.client == member.client)


def _take(member: MemberRecord, join: Observation, offer: tuple[Any, ...], subscription: Subscription | None) -> None:
    member.offer, member.subscription, member.connection = offer, subscription, join.connection
    member.session_ms = join.body.get("session_timeout_ms", member.session_ms)
    member.rebalance_ms = join.body.get("rebalance_timeout_ms", member.rebalance_ms)
    member.instance = join.instance or member.instance


def _frame(name: str, obs: Observation, *, member: str | None = None, reason: str | None = None, text: str = "", topic: str | None = None) -> Sign:
    description = text or " ".join(part for part in (_called(obs), f"of {obs.client}", f"on connection {obs.connection}") if part)
    return Sign(
        name=name, seq=obs.seq, at_ms=obs.at_ms, text=description, member=member, reason=reason or obs.body.get("reason"), node=obs.node, topic=topic,
        asked=obs.exchange_id,
    )  # fmt: skip
