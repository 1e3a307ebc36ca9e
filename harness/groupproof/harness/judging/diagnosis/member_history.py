"""What requests and log lines tell of a group's members: who they are, when they were last heard, and what each did that can begin a rebalance. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from groupproof.harness.judging.diagnosis.rebalances import name_of
from groupproof.protocol.trace import ExchangeId, Observation
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.subscription import Subscription, SubscriptionError, decode_subscription

__all__ = ["Known", "Membership", "Sign"]

_KNOCKS_FROM: Final = 4
"""From this version of JoinGroup on, a dynamic member without an id is only given one (KIP-394)."""


"""A connection and a correlation id: the request that both name."""

_PLAIN: Final = frozenset({"range", "roundrobin"})
"""Assignors whose metadata holds the subscription alone: where a log tells no more than that it changed, the subscription did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """Something that can begin a rebalance. `name`: new, again, leader-again, changed, subscription, handover, replaced, left, removed, expired, evicted,
    unsynced, loaded, topics. `seq` and `at_ms` say when, `text` what it looked like; `asked` is the request, `given` of which tells the id that it got."""

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
class Known:
    """A member by its id; `offer` is what it joined with, by which a change is noticed."""

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
    """Fed with the observations of one group, and those of no group (Fetch, Metadata, connections).

    `given` and `entered` tell by a JoinGroup which id it got, and which generation it came into.
    """

    known: dict[str, Known] = field(default_factory=dict)
    leader: str | None = None
    fetches: dict[str, list[float]] = field(default_factory=dict)
    given: dict[ExchangeId, str] = field(default_factory=dict)
    entered: dict[ExchangeId, int] = field(default_factory=dict)
    _topics: dict[str, int] = field(default_factory=dict)
    _found: set[str] = field(default_factory=set)
    _instances: dict[str, str] = field(default_factory=dict)
    _asked: dict[ExchangeId, Observation] = field(default_factory=dict)

    def client_of(self, member: str | None) -> str | None:
        """Return the client id of a member; of one of which only the id was told, what the id begins with."""
        if not member:
            return None
        known = self.known.get(member)
        return known.client if known is not None and known.client is not None else name_of(member)

    def feed(self, seen: Observation) -> list[Sign]:
        """Take an observation, and return what it shows."""
        if seen.kind == "request":
            return self._request(seen)
        if seen.kind == "response":
            return self._response(seen)
        if seen.kind == "event":
            return self._event(seen)
        return []

    # Requests

    def _request(self, seen: Observation) -> list[Sign]:
        self._asked[seen.exchange_id] = seen
        if seen.api == Api.FIND_COORDINATOR.title and seen.client is not None:
            self._found.add(seen.client)
        if seen.api == Api.FETCH.title:
            self.fetches.setdefault(seen.client or "", []).append(seen.at_ms)
        if seen.member and (known := self.known.get(seen.member)) is not None and seen.api != Api.LEAVE_GROUP.title:
            known.heard_ms, known.connection, known.client = seen.at_ms, seen.connection, known.client or seen.client
        if seen.api == Api.JOIN_GROUP.title:
            return self._joins(seen)
        return self._leaves(seen) if seen.api == Api.LEAVE_GROUP.title else []

    def _joins(self, seen: Observation) -> list[Sign]:
        offer, subscription = _offer(seen)
        known = self.known.get(seen.member or "")
        if known is None or known.is_pending:
            return self._comes(seen)
        name = self._change(known, offer, subscription)
        if name == "again" and known.member == self.leader:
            name = "leader-again"
        _take(known, seen, offer, subscription)
        return [_frame(name, seen, member=known.member)]

    def _comes(self, seen: Observation) -> list[Sign]:
        if not seen.member and not seen.instance and (seen.version or 0) >= _KNOCKS_FROM:
            return []
        if not seen.member and seen.instance in self._instances:
            return [_frame("replaced", seen, member=self._instances[seen.instance])]
        first = f"FindCoordinator of {seen.client}, then " if seen.client in self._found else ""
        known = "with the id that it was given" if seen.member else "without a member id"
        return [
            _frame(
                "new",
                seen,
                member=seen.member or None,
                text=f"{first}{_called(seen)} of {seen.client} {known}, on connection {seen.connection}",
            )
        ]

    def _change(self, known: Known, offer: tuple[Any, ...], subscription: Subscription | None) -> str:
        if offer == known.offer or not known.offer:
            return "again"
        before = known.subscription
        if subscription is None or before is None:
            return "subscription" if {each[0] for each in offer} <= _PLAIN else "changed"
        if set(subscription.topics) != set(before.topics):
            return "subscription"
        return "handover" if set(before.owned) - set(subscription.owned) else "changed"

    def _leaves(self, seen: Observation) -> list[Sign]:
        members = seen.body.get("members") or ({"member_id": seen.member, "group_instance_id": seen.instance},)
        signs = []
        for each in members:
            instance = each.get("group_instance_id")
            member = each.get("member_id") or self._instances.get(instance or "")
            known = self.known.get(member or "")
            is_own = known is not None and not known.instance and _is_own(seen, known)
            name = "left" if is_own or (known is None and not instance) else "removed"
            signs.append(_frame(name, seen, member=member, reason=each.get("reason")))
        return signs

    # Responses

    def _response(self, seen: Observation) -> list[Sign]:
        asked = self._asked.pop(seen.exchange_id, None)
        if seen.api == Api.METADATA.title:
            return self._counted(seen)
        if seen.api == Api.JOIN_GROUP.title and asked is not None:
            self._joined(seen, asked)
        return []

    def _joined(self, seen: Observation, asked: Observation) -> None:
        if not seen.member or seen.error not in (0, None, ErrorCode.MEMBER_ID_REQUIRED):
            return
        known = self.known.setdefault(seen.member, Known(member=seen.member))
        self.given[seen.exchange_id] = seen.member
        known.is_pending = seen.error == ErrorCode.MEMBER_ID_REQUIRED
        if not known.is_pending:
            if seen.generation is not None:
                self.entered[seen.exchange_id] = seen.generation
            _take(known, asked, *_offer(asked))
            self.leader = seen.body.get("leader") or self.leader
        known.client, known.heard_ms = asked.client, seen.at_ms
        if known.instance:
            self._instances[known.instance] = known.member

    def _counted(self, seen: Observation) -> list[Sign]:
        """Notice that a topic has another number of partitions than it had."""
        signs = []
        for topic in seen.body.get("topics") or ():
            name, count = str(topic.get("name")), topic.get("partitions")
            if isinstance(count, int) and self._topics.setdefault(name, count) != count:
                said = f"Metadata for {seen.client}: {name} has {count} partitions, {self._topics[name]} before"
                signs.append(_frame("topics", seen, text=said, topic=name))
                self._topics[name] = count
        return signs

    # Log lines and the kit's own events

    def _event(self, seen: Observation) -> list[Sign]:
        name, line = str(seen.body.get("name")), str(seen.body.get("line", ""))
        if name not in _EVENTS:
            return []
        member = seen.member
        if name == "replaced" and seen.instance:
            member = str(seen.body.get("replaced") or self._instances.get(seen.instance) or seen.instance)
        if name in ("joining", "given-id") and member is not None:
            known = self.known.setdefault(member, Known(member=member, is_pending=name == "given-id"))
            known.instance = known.instance or seen.instance
        known_instance = self.known[member].instance if member in self.known else None
        is_static = bool(seen.instance or known_instance)
        called = "removed" if name == "left" and is_static else _EVENTS[name]
        several = tuple(seen.body.get("several") or ())
        text = line or f"{name} {seen.group or ''}".strip()
        return [
            Sign(
                name=called, seq=seen.seq, at_ms=seen.at_ms, text=text, member=member or (several[0] if several else None), node=seen.node,
                reason=seen.body.get("reason"), several=several, topic=seen.body.get("topic"), marks=str(seen.body.get("marks", "")),
            )
        ]  # fmt: skip


_EVENTS: Final = {
    "joining": "new", "given-id": "knocks", "expired": "expired", "left": "left", "replaced": "replaced", "evicted": "evicted", "unsynced": "unsynced",
    "loaded": "loaded", "loaded-partition": "loaded", "moved": "loaded", "partition-made": "topics", "grown": "topics",
}  # fmt: skip
"""What events stand for."""


def _called(seen: Observation) -> str:
    return f"{seen.api} v{seen.version}" if seen.version is not None else str(seen.api)


def _offer(join: Observation) -> tuple[tuple[Any, ...], Subscription | None]:
    """Return what a JoinGroup offers, blob by blob (or by their lengths, where a log told no more), and the first subscription."""
    protocols = join.body.get("protocols") or ()
    offer = tuple((each.get("name"), each.get("metadata") or each.get("metadata_bytes")) for each in protocols)
    try:
        return offer, decode_subscription(protocols[0].get("metadata") or b"") if protocols else None
    except SubscriptionError:
        return offer, None


def _is_own(leave: Observation, known: Known) -> bool:
    """Tell whether a LeaveGroup is the member's own: on its connection, or by its client id on another one, as kafka-go says goodbye; else somebody removes it."""
    return known.connection in (leave.connection, None) or (leave.client is not None and leave.client == known.client)


def _take(known: Known, join: Observation, offer: tuple[Any, ...], subscription: Subscription | None) -> None:
    known.offer, known.subscription, known.connection = offer, subscription, join.connection
    known.session_ms = join.body.get("session_timeout_ms", known.session_ms)
    known.rebalance_ms = join.body.get("rebalance_timeout_ms", known.rebalance_ms)
    known.instance = join.instance or known.instance


def _frame(name: str, seen: Observation, *, member: str | None = None, reason: str | None = None, text: str = "", topic: str | None = None) -> Sign:
    said = text or " ".join(part for part in (_called(seen), f"of {seen.client}", f"on connection {seen.connection}") if part)
    return Sign(
        name=name, seq=seen.seq, at_ms=seen.at_ms, text=said, member=member, reason=reason or seen.body.get("reason"), node=seen.node, topic=topic,
        asked=seen.exchange_id,
    )  # fmt: skip
