"""The records that Kafka's coordinator would store for a simulated classic group: bytes of a log, from the trace of a run.

A generation is stored when the leader's assignment arrives, with the time at which the join phase ended. An empty group is stored when its last
member leaves. A static member that returns without a rebalance is stored in the current generation (`GroupMetadataManager.storeGroup`).
Accepted commits are stored one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.wire.coordinator_records import encode_record
from groupproof.protocol.wire.log_batches import read_log
from groupproof.protocol.wire.offsets_topic import OffsetsTopic
from groupproof.protocol.wire.records import Record, encode_batch

__all__ = ["HOST", "Stored", "records_of", "topic_of"]

HOST = "/127.0.0.1"
Stored = tuple[int, bytes, bytes | None]


def topic_of(trace: Trace, epochs: Mapping[int, Sequence[Stored]] | None = None) -> list[Observation]:
    """Return the observations of a reader of the topic, through bytes and back. `epochs` is as for `records_of`."""
    topic = OffsetsTopic(0)
    found: list[Observation] = []
    for offset, (at_ms, key, value) in enumerate(records_of(trace, epochs)):
        blob = encode_batch([Record(offset=offset, timestamp_ms=at_ms, key=key, value=value)])
        for batch in read_log(blob):
            found.extend(topic.follow(0, batch))
    assert not topic.tally.unreadable
    return found


def records_of(trace: Trace, epochs: Mapping[int, Sequence[Stored]] | None = None) -> Iterator[Stored]:
    """Yield the time, key and value of each record.

    For a consumer group `epochs` has its records, by the `seq` of the observation that caused them. Its trace contributes only commits.
    """
    groups: dict[str, _Coordinated] = {}
    for obs in trace:
        if obs.group is not None and (epochs is None or obs.kind != "transition"):
            yield from groups.setdefault(obs.group, _Coordinated(obs.group)).follow(obs)
        if epochs is not None:
            yield from epochs.get(obs.seq, ())


@dataclass(slots=True)
class _Coordinated:
    """The coordinator's knowledge of one group."""

    group: str
    state: str | None = None
    generation: int = 0
    state_ms: int = 0
    leader: str = ""
    protocol: str = ""
    requests: dict[tuple[int | None, int | None], Observation] = field(default_factory=dict)
    clients: dict[str, Observation] = field(default_factory=dict)
    members: dict[str, dict[str, Any]] = field(default_factory=dict)
    joined: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    assignments: dict[int, dict[str, bytes]] = field(default_factory=dict)

    def follow(self, obs: Observation) -> Iterator[Stored]:
        if obs.kind == "request":
            self.requests[obs.exchange_id] = obs
        elif obs.kind == "processed" and obs.api == "SyncGroup":
            body = self.requests[obs.exchange_id].body
            if body["assignments"]:
                self.assignments[body["generation_id"]] = {entry["member_id"]: bytes(entry["assignment"]) for entry in body["assignments"]}
        elif obs.kind == "response" and obs.api == "JoinGroup" and not obs.error:
            yield from self._follow_join(obs, self.requests[obs.exchange_id])
        elif obs.kind == "response" and obs.api == "OffsetCommit":
            yield from self._follow_commit(obs, self.requests[obs.exchange_id])
        elif obs.kind == "transition":
            yield from self._follow_transition(obs)

    def _follow_transition(self, obs: Observation) -> Iterator[Stored]:
        self.state, self.generation = obs.state_after, obs.generation or 0
        at_ms = round(obs.at_ms)
        if self.state == "Stable" and obs.state_before == "CompletingRebalance":
            assignments = self.assignments.get(self.generation, {})
            self.members = {
                entry["member_id"]: {**entry, "assignment": assignments.get(entry["member_id"], b"")}
                for entry in self.joined.get(self.generation, ())
            }
            yield self._stored(at_ms)
        self.state_ms = at_ms
        if self.state == "Empty" and obs.state_before is not None:
            self.members, self.leader = {}, ""
            yield self._stored(at_ms)
        elif self.state == "Dead":
            yield at_ms, *encode_record("GroupMetadata", {"group": self.group}, None)

    def _follow_join(self, obs: Observation, request: Observation) -> Iterator[Stored]:
        member = obs.body["member_id"]
        self.clients[member] = request
        if obs.body["members"]:
            self.joined[obs.body["generation_id"]] = [dict(entry) for entry in obs.body["members"]]
            self.leader, self.protocol = obs.body["leader"], obs.body["protocol_name"]
        instance = request.body.get("group_instance_id")
        old = next((name for name, stored in self.members.items() if instance is not None and stored["group_instance_id"] == instance), None)
        if old not in (None, member) and self.state == "Stable" and obs.body["generation_id"] == self.generation:
            assert old is not None
            self.members = {member if name == old else name: stored for name, stored in self.members.items()}
            self.leader = member if self.leader == old else self.leader
            yield self._stored(round(obs.at_ms))

    def _stored(self, at_ms: int) -> Stored:
        value = {
            "protocol_type": "consumer", "generation": self.generation, "protocol": self.protocol or None, "leader": self.leader or None,
            "current_state_timestamp": self.state_ms if self.members else at_ms,
            "members": tuple(self._member(name, stored) for name, stored in self.members.items()),
        }  # fmt: skip
        return at_ms, *encode_record("GroupMetadata", {"group": self.group}, value, 3)

    def _member(self, name: str, stored: dict[str, Any]) -> dict[str, Any]:
        request = self.clients.get(name)
        settings = request.body if request is not None else {}
        return {
            "member_id": name, "group_instance_id": stored["group_instance_id"], "client_id": request.client if request is not None else name,
            "client_host": HOST, "rebalance_timeout": settings.get("rebalance_timeout_ms", 0), "session_timeout": settings.get("session_timeout_ms", 0),
            "subscription": bytes(stored["metadata"]), "assignment": bytes(stored["assignment"]),
        }  # fmt: skip

    def _follow_commit(self, obs: Observation, request: Observation) -> Iterator[Stored]:
        accepted = {
            (topic["name"], part["partition_index"]) for topic in obs.body["topics"] for part in topic["partitions"] if not part["error_code"]
        }
        for topic, partition, offset in request.offsets:
            if (topic, partition) in accepted:
                value = {"offset": offset, "leader_epoch": -1, "metadata": "", "commit_timestamp": round(obs.at_ms)}
                yield round(obs.at_ms), *encode_record("OffsetCommit", {"group": self.group, "topic": topic, "partition": partition}, value, 3)
