"""A worker of Kafka Connect: its metadata in JoinGroup, and its handling of assignments (Kafka: WorkerCoordinator, DistributedHerder).

It runs no connector. Its metadata lists the connectors and tasks that it would run, so the frames show them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from groupproof.clients.member.connect_leader import ConnectLeader, jobs_of
from groupproof.clients.member.connect_settings import WorkerSettings
from groupproof.clients.member.member_core import Core
from groupproof.protocol.vocabulary import TopicPartition
from groupproof.protocol.wire.embedded.connect_protocol import (
    CONNECT_PROTOCOLS,
    PROTOCOL_TYPE,
    ConnectAssignment,
    WorkerState,
    decode_connect_assignment,
    decode_worker_state,
    encode_connect_assignment,
    encode_worker_state,
)
from groupproof.protocol.wire.messages import JoinGroupResponse, JoinProtocol

__all__ = ["ConnectWorker"]

_VERSION_MAX: Final = len(CONNECT_PROTOCOLS) - 1


class ConnectWorker:
    """One worker. `is_cut_off` while it cannot read the configuration as far as its leader. Until it can, it has no place in the group."""

    protocol_type: Final = PROTOCOL_TYPE
    assigned: Final = frozenset[TopicPartition]()

    def __init__(self, core: Core, settings: WorkerSettings) -> None:
        self._core, self._settings = core, settings
        self._connectors = core.topics
        self._offset = settings.config_offset
        self._leader = ConnectLeader(core.policy, settings.rebalance_max_delay_ms)
        self._members: dict[str, WorkerState] = {}
        self._held: ConnectAssignment | None = None
        self._rejoin_ms: int | None = None
        self.is_cut_off = False

    @property
    def names(self) -> tuple[str, ...]:
        """The offered protocols, the preferred one first."""
        offered = tuple(reversed(CONNECT_PROTOCOLS[: self._settings.version + 1]))
        if self._core.policy.connect == "offers-one-protocol":
            return offered[:1]
        return tuple(reversed(CONNECT_PROTOCOLS)) if self._core.policy.connect == "offers-every-protocol" else offered

    def protocols(self) -> tuple[JoinProtocol, ...]:
        """Return the protocols for JoinGroup. A change of the connectors raises the configuration offset."""
        if self._connectors != self._core.topics:
            self._connectors = self._core.topics
            self._offset += self._core.policy.connect != "keeps-its-offset"
        self._rejoin_ms = None
        return tuple(JoinProtocol(name=name, metadata=encode_worker_state(self._state(CONNECT_PROTOCOLS.index(name)))) for name in self.names)

    def joined(self, response: JoinGroupResponse) -> None:
        """Store the members, if this worker is the leader. Raise `ConnectError`."""
        is_leader = response.leader == response.member_id
        self._members = {member.member_id: decode_worker_state(member.metadata) for member in response.members} if is_leader else {}

    def assignments(self, now_ms: int) -> list[tuple[str, bytes]]:
        """Return each member's assignment for the leader's SyncGroup, or nothing for a follower's."""
        core = self._core
        if not self._members:
            return []
        version = self._settings.version if core.policy.connect == "assigns-in-its-own-version" else self._agreed
        configured = jobs_of(self._connectors, self._settings.tasks_max)
        made = self._leader.assign(core.member_id, self._members, configured, offset=self._offset, version=version, now_ms=now_ms)
        return [(name, encode_connect_assignment(assignment)) for name, assignment in sorted(made.items())]

    def accept(self, blob: bytes, now_ms: int) -> str | None:
        """Apply an assignment. Return the reason to join again at once, or None. Raise `ConnectError`."""
        policy = self._core.policy
        came = decode_connect_assignment(blob)
        if came.version > _VERSION_MAX and policy.connect == "later-versions-unread":
            came = replace(came, assigned=())
        self._held = replace(came, assigned=tuple(sorted(self._jobs_after(came))), revoked=())
        self._rejoin_ms = now_ms + came.delay_ms if came.delay_ms > 0 and policy.connect != "forgets-the-delay" else None
        if policy.connect == "cuts-the-delay" and self._rejoin_ms is not None:
            self._rejoin_ms = now_ms + came.delay_ms // 4
        self._catch_up(came.offset)
        if came.error and policy.connect != "takes-an-error-for-done":
            return f"the leader answered with error {came.error}"
        is_followed_up = came.revoked and self._agreed > 0 and policy.connect != "never-follows-up"
        return "connectors or tasks were revoked" if is_followed_up else None

    def due(self, now_ms: int) -> bool:
        """Return whether the delay of the last assignment has passed."""
        return self._rejoin_ms is not None and now_ms >= self._rejoin_ms

    def next_ms(self) -> int | None:
        return self._rejoin_ms

    @property
    def _agreed(self) -> int:
        return CONNECT_PROTOCOLS.index(self._core.protocol or CONNECT_PROTOCOLS[0])

    def _state(self, version: int) -> WorkerState:
        held = None if self._held is None or version == 0 else replace(self._held, version=version)
        if self._core.policy.connect == "forgets-its-jobs":
            held = None
        if self._core.policy.connect == "says-one-version":
            version = self._settings.version
        return WorkerState(url=self._settings.url, offset=self._offset, assignment=held, version=version)

    def _jobs_after(self, came: ConnectAssignment) -> set[TopicPartition]:
        if self._agreed == 0 or self._held is None:
            return set(came.assigned)
        if self._core.policy.connect == "keeps-what-was-revoked":
            return {*self._held.assigned, *came.assigned}
        return (set(self._held.assigned) - set(came.revoked)) | set(came.assigned)

    def _catch_up(self, offset: int) -> None:
        """Read the configuration up to the leader's offset. A worker that cannot is cut off."""
        if offset <= self._offset or self._core.policy.connect == "never-reads-on":
            return
        end = self._settings.config_end
        self._offset = offset if end is None else max(self._offset, min(offset, end))
        self.is_cut_off = self._offset < offset and self._core.policy.connect != "stays-behind"
