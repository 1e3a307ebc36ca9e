"""A recorded conversation with the reference machine, without network or clock: requests at stated milliseconds, answers a moment later."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from groupproof.coordinator.machine.coordinator import Arrival, Coordinator, Output, Reply, Settings, partition_of
from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import Api
from groupproof.protocol.wire.message_conversion import body_of
from groupproof.protocol.wire.messages import (
    CommitPartition,
    CommitTopic,
    FetchGroup,
    FetchTopic,
    GroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    LeaveGroupRequest,
    LeaveMember,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncAssignment,
    SyncGroupRequest,
)
from groupproof.protocol.wire.subscription import Subscription, encode_subscription

SETTINGS: Mapping[str, Any] = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100}
SUBSCRIBED = encode_subscription(Subscription(topics=("t",), owned=(), user_data=None, version=1))
VERSIONS = {Api.JOIN_GROUP: 5, Api.SYNC_GROUP: 3, Api.HEARTBEAT: 3, Api.LEAVE_GROUP: 3, Api.OFFSET_COMMIT: 7, Api.OFFSET_FETCH: 5}


class Recording:
    """Members are called by their clients' names, and each has one connection; `latency_ms` passes between an answer and its arrival."""

    def __init__(
        self, profile: str = "kafka-4.1", settings: Mapping[str, Any] = SETTINGS, latency_ms: float = 1.0, seed: int = 1, variant: Variant = REFERENCE
    ) -> None:
        self.trace: Trace = []
        self.ids: dict[str, str] = {}
        self.generations: dict[str, int] = {}
        self.now_ms = 0
        self._machine = Coordinator(profile=profile, settings=Settings.of(settings, profile), random=random.Random(seed), variant=variant)
        self._latency_ms = latency_ms
        self._asked: dict[int, tuple[dict[str, Any], str]] = {}
        self._connections: dict[str, int] = {}

    def ask(self, client: str, message: GroupRequest, *, version: int | None = None, label: str = "", over: str = "", settles: bool = True) -> None:
        number = len(self._asked)
        columns: dict[str, Any] = {
            "who": "member", "node": 0, "client": client, "api": message.api.title, "correlation": number, "detail": label or f"{message.api.title} {client}",
            "version": VERSIONS[message.api] if version is None else version, "connection": self._connection(over or client),
            "group": getattr(message, "group_id", None),
        }  # fmt: skip
        self._asked[number] = (columns, client)
        self.note("request", self.now_ms, **columns, body=body_of(message))
        arrival = Arrival(token=number, api_version=columns["version"], client_id=client, client_host="/127.0.0.1")
        self._take(self._machine.handle(message, arrival, self.now_ms))
        if settles:
            self.note(
                "event",
                self.now_ms + 2 * self._latency_ms,
                who="kit",
                body={"name": "settled", "connection": columns["connection"], "correlation": number},
            )

    def wait(self, ms: int) -> None:
        until_ms = self.now_ms + ms
        while (due_ms := self._machine.next_deadline_ms()) is not None and due_ms <= until_ms:
            self.now_ms = due_ms
            self._take(self._machine.advance(due_ms))
        self.now_ms = until_ms

    def note(self, kind: str, at_ms: float, **columns: Any) -> None:
        self.trace.append(Observation(seq=len(self.trace), at_ns=round(at_ms * 1e6), kind=kind, **columns))

    def unload(self) -> None:
        """Let the coordinator give the group up."""
        self._take(self._machine.unload(partition_of("g", self._machine.settings.offsets_topic_num_partitions), self.now_ms))

    def event(self, name: str, who: str = "kit", connection: int | None = None, **body: Any) -> None:
        self.note("event", self.now_ms, who=who, connection=connection, body={"name": name, **body})

    def close(self, client: str, by: str = "client") -> None:
        self.event("closed", who="link", connection=self._connection(client), by=by)

    def end(self) -> Trace:
        self.note("event", self.now_ms + self._latency_ms, who="kit", body={"name": "end"})
        return in_order(self.trace)

    def _connection(self, name: str) -> int:
        return self._connections.setdefault(name, len(self._connections) + 1)

    def _take(self, outputs: Iterable[Output]) -> None:
        for output in outputs:
            if isinstance(output, Reply):
                columns, client = self._asked[int(str(output.token))]
                body = body_of(output.message)
                if isinstance(output.message, JoinGroupResponse) and output.message.error_code in (0, 79):
                    self.ids[client] = output.message.member_id
                    self.generations[client] = output.message.generation_id
                self.note("response", self.now_ms + self._latency_ms, **columns, error=body.get("error_code", 0), body=body)

    # What members say

    def join(self, client: str, *, instance: str | None = None, session_ms: int = 6_000, protocols: Iterable[str] = ("range",), **more: Any) -> None:
        asked = JoinGroupRequest(
            group_id="g", session_timeout_ms=session_ms, rebalance_timeout_ms=more.pop("rebalance_ms", 10_000),
            member_id=more.pop("member_id", self.ids.get(client, "")), group_instance_id=instance,
            protocol_type="consumer", protocols=tuple(JoinProtocol(name=name, metadata=SUBSCRIBED) for name in protocols),
        )  # fmt: skip
        self.ask(client, asked, **more)

    def joined(self, client: str, **more: Any) -> None:
        """Join as a newcomer: once more with the id that the first answer gave, where it gave one and no membership (KIP-394)."""
        self.join(client, **more)
        self.wait(5)
        if self.generations.get(client) == -1:
            self.join(client, **more)

    def sync(self, client: str, *owned: str, **more: Any) -> None:
        assignments = tuple(SyncAssignment(member_id=self.ids[name], assignment=f"for {name}".encode()) for name in owned)
        self.ask(client, SyncGroupRequest(group_id="g", **self._who(client), assignments=assignments), **more)

    def beat(self, client: str, **more: Any) -> None:
        self.ask(client, HeartbeatRequest(group_id="g", **self._who(client)), **more)

    def leave(self, client: str, **more: Any) -> None:
        self.ask(client, LeaveGroupRequest(group_id="g", members=(LeaveMember(member_id=self.ids[client]),)), **more)

    def commit(self, client: str, offset: int = 7, **more: Any) -> None:
        partitions = tuple(CommitPartition(partition_index=index, committed_offset=offset, committed_metadata="m") for index in (0, 1))
        self.ask(client, OffsetCommitRequest(group_id="g", **self._who(client), topics=(CommitTopic(name="t", partitions=partitions),)), **more)

    def fetch(self, client: str, **more: Any) -> None:
        wanted = FetchGroup(group_id="g", topics=(FetchTopic(name="t", partition_indexes=(0, 1)),))
        self.ask(client, OffsetFetchRequest(groups=(wanted,)), **more)

    def _who(self, client: str) -> dict[str, Any]:
        return {"generation_id": self.generations[client], "member_id": self.ids[client]}

    def stable(self, *clients: str, **more: Any) -> None:
        """Let the clients form generation n of n, each join in its turn; the first leads."""
        for index, client in enumerate(clients):
            self.joined(client, **more)
            for earlier in clients[:index]:
                self.wait(5)
                self.join(earlier, **more)
            self.wait(5)
        for client in (*clients[1:], clients[0]):
            self.sync(client, *(clients if client == clients[0] else ()))
            self.wait(5)


def in_order(trace: Iterable[Observation]) -> Trace:
    ordered = sorted(trace, key=lambda obs: obs.at_ns)
    return [replace(obs, seq=seq) for seq, obs in enumerate(ordered)]


def changed(trace: Trace, label: str, change: Callable[[Observation], Observation | None], *, nth: int = -1) -> Trace:
    """Return the trace with the answer to the exchange called `label` (the last one) changed, or gone where `change` returns None."""
    chosen = [obs for obs in trace if obs.kind == "response" and obs.detail == label][nth]
    made = [change(obs) if obs is chosen else obs for obs in trace]
    return in_order(obs for obs in made if obs is not None)


def bodied(**fields: Any) -> Callable[[Observation], Observation]:
    """Return a change of single fields of an answer's body."""
    return lambda obs: replace(obs, body={**obs.body, **fields})


def moved(ms: float) -> Callable[[Observation], Observation]:
    """Return a change that lets the answer arrive so much later, or earlier."""
    return lambda obs: replace(obs, at_ns=obs.at_ns + round(ms * 1e6))


def lost(obs: Observation) -> None:
    """Let no answer come."""
