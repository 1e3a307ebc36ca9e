"""One broker of a cluster: processes one decoded request and returns its answer.

Group requests go to the node's coordinator machine, where they may park. A Fetch may wait for records. Everything else is answered at once. Bytes and
faults are the connection's task.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

import trio

from groupproof.coordinator.broker.broker_host import BrokerHost
from groupproof.coordinator.broker.config_requests import alter_configs, describe_configs
from groupproof.coordinator.broker.kept_answers import KeptAnswer, KeptAnswers, written_answer
from groupproof.coordinator.broker.metadata import (
    api_versions,
    describe_cluster,
    describe_topic_partitions,
    find_coordinator,
    metadata,
    unsupported_api_versions,
)
from groupproof.coordinator.broker.record_requests import (
    create_topics,
    fetch,
    in_the_format_of,
    init_producer_id,
    list_offsets,
    offset_for_leader_epoch,
    produce,
)
from groupproof.coordinator.broker.rights.authorizer import Authorizer
from groupproof.coordinator.broker.rights.concealed_answers import concealed
from groupproof.coordinator.broker.rights.permitted_requests import Asker, PermittedRequest, permitted_part
from groupproof.coordinator.broker.topic_ids import BY_ID_SINCE, named_request
from groupproof.coordinator.broker.unknown_partitions import OFFSET_REQUESTS, existing_part, refused_wholly, with_unknown
from groupproof.coordinator.machine.machine_outputs import Arrival
from groupproof.coordinator.machine.variant import ConnectionVariant
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.message_codec import body_of
from groupproof.protocol.wire.message_conversion import GROUP_APIS, request_of
from groupproof.protocol.wire.messages import FindCoordinatorRequest, LeaveGroupRequest, LeaveMember

if TYPE_CHECKING:
    from groupproof.coordinator.broker.group_coordinators import Coordinators, Ticket
    from groupproof.coordinator.broker.interception import Interception
    from groupproof.coordinator.broker.metadata import ClusterMetadata
    from groupproof.coordinator.machine.incoming_request import IncomingRequest
    from groupproof.protocol.trace import Recorder
    from groupproof.protocol.wire.messages import GroupRequest, GroupResponse

__all__ = ["AT_ONCE", "Broker", "Peer", "Signal"]

Body = dict[str, Any]


class Signal:
    """Wakes every task that waits for it."""

    def __init__(self) -> None:
        self._event = trio.Event()

    def tell(self) -> None:
        self._event.set()
        self._event = trio.Event()

    async def wait(self) -> None:
        await self._event.wait()


class Peer(Protocol):
    """The part of a connection that a broker uses."""

    number: int
    shown_host: str  # as Kafka writes it: with a slash in front

    def end(self, reason: str, by: str = ...) -> None: ...

    def waits(self, reason: str) -> AbstractContextManager[None]:
        """Mark that the current request waits for `reason`."""
        ...


class Broker:
    """One node. It shares coordinators, metadata and faults with the other nodes."""

    def __init__(
        self,
        node_id: int,
        *,
        metadata: ClusterMetadata,
        coordinators: Coordinators,
        interception: Interception,
        recorder: Recorder,
        appended: Signal,
        accepted: Mapping[Api, tuple[int, int]],
        frame_bytes_max: int,
        line: ConnectionVariant | None = None,
    ) -> None:
        self.broker_host = BrokerHost()
        self.line = line or ConnectionVariant()
        self.is_as_kafka = self.line == ConnectionVariant()
        self.obey(Authorizer())
        self.peers: set[Peer] = set()
        self.turn = trio.Lock() if self.line.locks else None
        self.node_id = node_id
        self.metadata = metadata
        self.coordinators = coordinators
        self.interception = interception
        self.recorder = recorder
        self.frame_bytes_max = frame_bytes_max
        self._appended = appended
        self.accepted = accepted
        """The versions of each API that the profile's release answers: first and last."""
        self._serials = itertools.count()
        self._kept = KeptAnswers(metadata)

    def obey(self, authorizer: Authorizer) -> None:
        """Apply the client rights from the next request on. A request that already waits stays allowed."""
        self.authorizer = authorizer
        self.takes_all = self.is_as_kafka and not authorizer.denials

    async def process(self, arrived: IncomingRequest, peer: Peer, *, processed_twice: Callable[[], None] | None = None) -> Body | None:
        """Process the request and return its answer, None where none is due (Produce with acks 0).

        With `processed_twice` the request is processed twice, before that callback is called. The second answer is dropped.
        """
        api = arrived.wire.api
        if arrived.wire.version >= BY_ID_SINCE.get(api, sys.maxsize):
            return await self._coordinate_by_id(arrived, peer, processed_twice)
        if api in GROUP_APIS and api is not Api.FIND_COORDINATOR:
            return await self._coordinate(arrived.wire.message, arrived, peer, processed_twice)
        self.recorder.record("processed", **arrived.columns)
        if api is Api.FETCH:
            fetched = await self._fetch(arrived.wire.body, peer)
            return in_the_format_of(arrived.wire.version, fetched, arrived.wire.body)
        answer = self._answer(arrived)
        if processed_twice is not None:
            self.recorder.record("processed", **arrived.columns)
            self._answer(arrived)
            processed_twice()
        return answer

    def _answer(self, arrived: IncomingRequest) -> Body | None:
        api, body = arrived.wire.api, arrived.wire.body
        if arrived.is_refused:
            return unsupported_api_versions(self.metadata)
        answer = _ANSWERS[api](self, body, arrived.wire.version)
        if self.authorizer.denials:
            answer = concealed(api, arrived.wire.version, asked=body, answer=answer, rights=self.authorizer.rights(arrived.wire.client_id or ""))
        if api is not Api.PRODUCE:
            return answer
        self._appended.tell()
        return None if body.get("acks") == 0 else answer

    # Groups

    @property
    def is_undisturbed(self) -> bool:
        """Return whether requests pass unchanged: no fault is armed, no variant or denial applies, and the broker host is undisturbed."""
        return self.interception.is_idle and self.takes_all and self.broker_host.is_whole

    def process_at_once(self, arrived: IncomingRequest, peer: Peer) -> GroupResponse | KeptAnswer | Ticket | None:
        """Process a request that needs no task: one of `AT_ONCE`, or one with a kept or looked-up answer.

        Return its answer, or the ticket for it; None where a fault, a variant or a denial may apply.
        """
        wire = arrived.wire
        may_be_faulted = not self.interception.is_idle and self.interception.heeds(wire.api.title)
        if may_be_faulted or not (self.takes_all and self.broker_host.is_whole):
            return None
        if wire.api not in AT_ONCE:
            if (kept := self._kept.answer(arrived)) is None and (wire.api not in _LOOKED_UP or arrived.is_refused):
                return None
            if self.recorder.is_heard:
                self.recorder.record("processed", **arrived.columns)
            return kept or written_answer(self.metadata, arrived, _ANSWERS[wire.api](self, wire.body, wire.version))
        return self.coordinators.ask(self.node_id, wire.message, self.arrival(arrived, peer), arrived.columns, self.when_dropped(arrived, peer))

    def repeat(self, message: GroupRequest, arrival: Arrival) -> GroupResponse | None:
        """Answer a heartbeat that only extends its session, like `process_at_once`.

        Return None, without a change, where it may do more, or where the run is recorded.
        """
        if self.recorder.is_heard or not self.is_undisturbed:
            return None
        return self.coordinators.repeat(self.node_id, message, arrival)

    def process_again(self, arrived: IncomingRequest, arrival: Arrival, on_dropped: Callable[[], None]) -> GroupResponse | Ticket | None:
        """Process a request that only waits or has a repeated answer.

        Return None, without a change, where it may do more, or where the run is recorded.
        """
        if self.recorder.is_heard or not self.is_undisturbed:
            return None
        return self.coordinators.ask_again(self.node_id, arrived.wire.message, arrival, on_dropped)

    async def answer_to(self, ticket: Ticket, peer: Peer) -> GroupResponse:
        """Return the answer to the ticket's request; wait where it is parked."""
        try:
            if ticket.answer is not None:
                return ticket.answer
            with peer.waits("coordinator"):
                return await ticket.wait()
        finally:
            self.coordinators.abandon(ticket)

    async def _coordinate_by_id(self, arrived: IncomingRequest, peer: Peer, twice: Callable[[], None] | None) -> Body:
        """Ask the coordinator by topic names about topics that the request names by ids."""
        body = arrived.wire.body
        is_denied = arrived.wire.api is Api.OFFSET_COMMIT and not self._asker(arrived).may_read_group(body["group_id"])
        unknown = ErrorCode.GROUP_AUTHORIZATION_FAILED if is_denied else ErrorCode.UNKNOWN_TOPIC_ID
        named = named_request(arrived.wire.api, body, self.metadata.topics, unknown=unknown)
        return named.answered(await self._coordinate(request_of(arrived.wire.api, named.body), arrived, peer, twice))

    def _asker(self, arrived: IncomingRequest) -> Asker:
        wire = arrived.wire
        return Asker(rights=self.authorizer.rights(wire.client_id or ""), version=wire.version, settings=self.coordinators.settings)

    async def _coordinate(self, message: GroupRequest, arrived: IncomingRequest, peer: Peer, twice: Callable[[], None] | None) -> Body:
        """Ask the coordinator for the part of the request that the client is allowed."""
        part = permitted_part(message, self._asker(arrived)) if self.authorizer.denials else None
        if part is None:
            return body_of(await self._coordinated(message, arrived, peer, twice))
        if isinstance(part, PermittedRequest):
            return body_of(part.answered(await self._coordinated(part.message, arrived, peer, twice)))
        self.recorder.record("processed", **arrived.columns)
        if twice is not None:
            self.recorder.record("processed", **arrived.columns)
            twice()
        return body_of(part)

    async def _coordinated(self, message: GroupRequest, arrived: IncomingRequest, peer: Peer, twice: Callable[[], None] | None) -> GroupResponse:
        """Ask the coordinator about the partitions that exist."""
        if not isinstance(message, OFFSET_REQUESTS):
            return await self._ask(message, arrived, peer, twice)
        fields = self.metadata.fields
        existing = existing_part(message, self.metadata.topics, by_partition=bool(fields["commits_check_partitions"]))
        refused = refused_wholly(message, existing)
        if refused is not None:
            self.recorder.record("processed", **arrived.columns)
            return refused
        answer = await self._ask(existing, arrived, peer, twice)
        repeats_topics = bool(fields["deletions_repeat_topics"])
        if existing is message and not repeats_topics:
            return answer
        return with_unknown(message, answer, existing=existing, repeats_topics=repeats_topics)

    async def _ask(self, message: GroupRequest, arrived: IncomingRequest, peer: Peer, twice: Callable[[], None] | None) -> GroupResponse:
        """Ask the coordinator machine; wait while it has the request parked."""
        ticket = self._submit(message, arrived, peer)
        if twice is not None:
            self._submit(message, arrived, peer, ticket)
            twice()
        return await self.answer_to(ticket, peer)

    def _submit(self, message: GroupRequest, arrived: IncomingRequest, peer: Peer, ticket: Ticket | None = None) -> Ticket:
        """Pass the request to the node's machine; return the ticket of its answer."""
        ticket = ticket or self.coordinators.ticket(self.when_dropped(arrived, peer))
        self.coordinators.submit(self.node_id, message, self.arrival(arrived, peer), arrived.columns, ticket)
        return ticket

    def arrival(self, arrived: IncomingRequest, peer: Peer) -> Arrival:
        """Return the origin of the request, with a token of its own."""
        wire = arrived.wire
        return Arrival((peer.number, next(self._serials)), wire.version, wire.client_id or "", peer.shown_host)

    @staticmethod
    def when_dropped(arrived: IncomingRequest, peer: Peer) -> Callable[[], None]:
        """Return the function that ends the connection of a request that a move drops."""
        return lambda: peer.end(f"the coordinator moved and dropped the parked {arrived.wire.api.title}")

    def remove_members(self, members: Iterable[tuple[str, str]]) -> None:
        """Make members, given with their groups, leave without a request of theirs, as a variant does."""
        for group, member in members:
            request = LeaveGroupRequest(group_id=group, members=(LeaveMember(member_id=member),))
            arrival = Arrival(token=object(), api_version=3, client_id="", client_host="")
            self.coordinators.submit(self.node_id, request, arrival, {"node": self.node_id, "group": group}, self.coordinators.ticket(lambda: None))

    # Records

    async def _fetch(self, body: Mapping[str, Any], peer: Peer) -> Body:
        """Answer when min_bytes are available or max_wait_ms is over, as Kafka's DelayedFetch."""
        fetched = fetch(self.metadata, self.node_id, body)
        if not fetched.may_wait or body["max_wait_ms"] <= 0:
            return fetched.body
        with peer.waits("records"), trio.move_on_after(body["max_wait_ms"] / 1000):
            while fetched.may_wait:
                await self._appended.wait()
                fetched = fetch(self.metadata, self.node_id, body)
        return fetched.body


_LOOKED_UP = frozenset({Api.FIND_COORDINATOR, Api.LIST_OFFSETS})
"""The APIs that the broker answers from its own metadata, without a wait."""

AT_ONCE = frozenset({Api.JOIN_GROUP, Api.SYNC_GROUP, Api.HEARTBEAT, Api.LEAVE_GROUP, Api.CONSUMER_GROUP_HEARTBEAT})
"""The APIs that only the coordinator machine answers, so that only a parked request waits."""


def _find_coordinator(broker: Broker, body: Body, version: int) -> Body:
    message = FindCoordinatorRequest(coordinator_keys=tuple(body["coordinator_keys"]), key_type=body.get("key_type", 0))
    return body_of(find_coordinator(broker.metadata, message))


_ANSWERS: dict[Api, Callable[[Broker, Body, int], Body]] = {
    Api.API_VERSIONS: lambda broker, body, version: api_versions(broker.metadata, body, version),
    Api.METADATA: lambda broker, body, version: metadata(broker.metadata, body, version),
    Api.DESCRIBE_CLUSTER: lambda broker, body, version: describe_cluster(broker.metadata, body),
    Api.DESCRIBE_TOPIC_PARTITIONS: lambda broker, body, version: describe_topic_partitions(broker.metadata, body),
    Api.FIND_COORDINATOR: _find_coordinator,
    Api.LIST_OFFSETS: lambda broker, body, version: list_offsets(broker.metadata, broker.node_id, body),
    Api.OFFSET_FOR_LEADER_EPOCH: lambda broker, body, version: offset_for_leader_epoch(broker.metadata, broker.node_id, body),
    Api.PRODUCE: lambda broker, body, version: produce(broker.metadata, broker.node_id, body),
    Api.INIT_PRODUCER_ID: lambda broker, body, version: init_producer_id(broker.metadata, body),
    Api.INCREMENTAL_ALTER_CONFIGS: lambda broker, body, version: alter_configs(broker.coordinators, body),
    Api.DESCRIBE_CONFIGS: lambda broker, body, version: describe_configs(broker.coordinators, body),
    Api.CREATE_TOPICS: lambda broker, body, version: create_topics(broker.metadata, body),
}
