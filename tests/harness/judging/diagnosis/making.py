"""Traces by hand: a few words for an observation each, in the order in which they are written."""

from __future__ import annotations

from typing import Any

from tests.traces import Written

from groupproof.protocol.trace import Observation
from groupproof.protocol.wire.subscription import Subscription, encode_subscription

__all__ = ["Story"]


class Story(Written):
    """A trace of group `g` in the making; every entry is at the given millisecond."""

    def add(self, ms: float, kind: str, **columns: Any) -> Observation:
        self._now_ms = ms
        return self.see(kind, **{"group": "g", **columns})

    def ask(self, ms: float, api: str, client: str, **columns: Any) -> Observation:
        self._correlation += 1
        asked = {"connection": int(client[1:]), "correlation": self._correlation, "version": 9}
        return self.add(ms, "request", api=api, client=client, **{**asked, **columns})

    def answer(self, ms: float, asked: Observation, **columns: Any) -> Observation:
        where = {
            name: getattr(asked, name) for name in ("api", "client", "connection", "correlation", "version", "group", "member", "generation", "node")
        }
        return self.add(ms, "response", **{**where, "error": 0, **columns})

    def join(
        self,
        ms: float,
        client: str,
        member: str = "",
        *,
        topics: tuple[str, ...] = ("t",),
        session: int = 6_000,
        rebalance: int = 60_000,
        **columns: Any,
    ) -> Observation:
        metadata = encode_subscription(Subscription(topics=topics, owned=(), user_data=None, version=0))
        body = {"session_timeout_ms": session, "rebalance_timeout_ms": rebalance, "protocols": ({"name": "range", "metadata": metadata},)}
        return self.ask(ms, "JoinGroup", client, member=member, body=body, **columns)

    def joined(self, ms: float, asked: Observation, member: str, generation: int, leader: str) -> Observation:
        return self.answer(
            ms,
            asked,
            member=member,
            generation=generation,
            body={"leader": leader, "member_id": member, "generation_id": generation, "protocol_name": "range"},
        )

    def settle(self, ms: float, members: dict[str, str], generation: int, leader: str, **columns: Any) -> None:
        """Let members (client by member id) join and sync within 10 ms."""
        joins = {member: self.join(ms, client, member, **columns) for member, client in members.items()}
        for member, asked in joins.items():
            self.joined(ms + 5, asked, member, generation, leader)
        for member, client in members.items():
            body = {"assignments": ({"member_id": member},)} if member == leader else {}
            asked = self.ask(ms + 6, "SyncGroup", client, member=member, generation=generation, body=body)
            self.answer(ms + 10, asked, partitions=(("t", int(client[1:])),))

    def beat(self, ms: float, client: str, member: str, generation: int, error: int = 0) -> None:
        self.answer(ms + 1, self.ask(ms, "Heartbeat", client, member=member, generation=generation), error=error)

    def move(self, ms: float, before: str | None, after: str, generation: int, reason: str = "", **columns: Any) -> None:
        self.add(ms, "transition", state_before=before, state_after=after, generation=generation, detail=reason, **columns)

    def client_event(self, ms: float, client: str, name: str, *partitions: tuple[str, int], **body: Any) -> Observation:
        listed = [{"topic": topic, "partition": partition} for topic, partition in partitions]
        return self.add(ms, "event", who="shim", client=client, group=None, partitions=partitions, body={"name": name, "partitions": listed, **body})
