"""The reference cluster: several brokers in one process, each with its own coordinator machine, over any streams and any trio clock."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import trio

from groupproof.coordinator.broker.advertised_versions import accepted, advertised
from groupproof.coordinator.broker.broker import Broker, Signal
from groupproof.coordinator.broker.client_connection import Connection
from groupproof.coordinator.broker.group_coordinators import Coordinators
from groupproof.coordinator.broker.interception import Interception
from groupproof.coordinator.broker.metadata import BrokerNode, ClusterMetadata
from groupproof.coordinator.broker.rights.authorizer import Authorizer, Denial
from groupproof.coordinator.broker.topics import Topics
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.machine_outputs import GroupView
from groupproof.coordinator.machine.storage import partition_of
from groupproof.coordinator.machine.topic_records import TopicRecords
from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.protocol.faults import Fault, Move
from groupproof.protocol.rules import profile as profile_named
from groupproof.protocol.trace import Recorder
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.message_codec import FRAME_BYTES_MAX

__all__ = ["Cluster"]

_REQUEST_BYTES = "socket.request.max.bytes"


class Cluster:
    """Brokers 0, 1, …. Node p modulo `brokers` first coordinates offsets partition p, and leads partition p of every topic.

    `settings` are Kafka's broker settings under their own names. `topics` maps names to partition counts; each partition has `records` records.
    `variant` deviates from the reference. `stored` are the initial groups, with their topics. Must be made inside trio. Raises `UnknownProfile` and
    `UnknownSetting`.
    """

    def __init__(
        self,
        *,
        profile: str = "kafka-4.1",
        settings: Mapping[str, Any] | None = None,
        brokers: int = 2,
        topics: Mapping[str, int] | None = None,
        records: int = 0,
        seed: int = 0,
        recorder: Recorder,
        variant: Variant = REFERENCE,
        stored: TopicRecords | None = None,
    ) -> None:
        named = {**(settings or {}), **variant.settings}
        frame_bytes_max = int(named.pop(_REQUEST_BYTES, FRAME_BYTES_MAX))
        self.recorder = recorder
        self.interception = Interception(recorder)
        self._numbers = itertools.count(1)
        self._coordinators = Coordinators(
            profile=profile, settings=Settings.of(named, profile), nodes=brokers, seed=seed, recorder=recorder, variant=variant
        )  # fmt: skip
        self._topics = Topics(records, on_change=self._notify_topics_changed)
        for recorded in () if stored is None else stored.topics():
            self._topics.restore(recorded)
        for name, partitions in (topics or {}).items():
            there = self._topics.named(name)
            self._topics.grow(name, max(partitions, 0 if there is None else len(there.partitions)))
        if stored is not None:
            self._coordinators.load_records(stored, self._topics.image())
        self._metadata = ClusterMetadata(
            nodes=[BrokerNode(node_id) for node_id in range(brokers)], topics=self._topics, owners=self._coordinators.owners,
            epochs=self._coordinators.epochs, owner_of=self._owner_of(variant, brokers), versions=advertised(profile) | dict(variant.versions),
            fields={**profile_named(profile).fields, **variant.fields},
        )  # fmt: skip
        appended, answered = Signal(), accepted(profile) | dict(variant.answered)
        self._brokers = [
            Broker(
                node_id, metadata=self._metadata, coordinators=self._coordinators, interception=self.interception, recorder=recorder,
                appended=appended, accepted=answered, frame_bytes_max=frame_bytes_max, line=variant.line,
            )
            for node_id in range(brokers)
        ]  # fmt: skip

    def _notify_topics_changed(self) -> None:
        """Send the existing topics to every coordinator: KIP-848's coordinators assign partitions themselves."""
        self._coordinators.change_topics(self._topics.image())

    def _owner_of(self, variant: Variant, nodes: int) -> Callable[[str], int]:
        """Return the function that returns a group's coordinator as clients learn it."""
        owner_of, altered_owner = self._coordinators.owner_of, variant.owner
        return owner_of if altered_owner is None else lambda group: altered_owner(group, owner_of(group), nodes)

    @property
    def nodes(self) -> tuple[int, ...]:
        """Return the node ids."""
        return tuple(node.node_id for node in self._metadata.nodes)

    def advertise(self, node_id: int, host: str, port: int) -> None:
        """Set the address that clients get for `node_id`."""
        node = self._metadata.nodes[node_id]
        node.host, node.port = host, port

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Run the coordinators' timers until cancelled."""
        task_status.started()
        await self._coordinators.run()

    async def serve_connection(self, node_id: int, stream: trio.abc.Stream, peer: str) -> None:
        """Serve one client on `stream` until either side ends it. It raises only the caller's cancellation.

        `peer` is the client's address as `host:port`.
        """
        if not self.is_up(node_id):
            await trio.aclose_forcefully(stream)
            return
        await Connection(self._brokers[node_id], next(self._numbers), stream, peer).serve()

    # Steps of a plan on the cluster

    def arm(self, fault: Fault) -> None:
        """Arm a fault; raise `ValueError` for a name that is already armed."""
        self.interception.arm(fault)

    def release(self, name: str) -> None:
        """Release the frames that the fault holds; raise `KeyError` where it is not armed."""
        self.interception.release(name)

    def heal(self, name: str) -> None:
        """Disarm the fault and release the frames that it holds. A fault that is not armed is ignored."""
        self.interception.heal(name)

    def move(self, move: Move, group: str | None = None) -> None:
        """Move the coordinator of `group`, or of every possible group. With `to` None, each moves to the node after its own.

        Raises `ValueError` where there is no such node, or where every coordinator is there already.
        """
        partitions = range(self._coordinators.partitions) if group is None else [partition_of(group, self._coordinators.partitions)]
        refusals = [why for partition in partitions if (why := self._coordinators.move(partition, move))]
        if len(refusals) == len(partitions):
            raise ValueError(f"the coordinator cannot be moved: {refusals[0]}")
        self.recorder.record(
            "event", group=group, body={"name": "moved", "to": move.to, "partitions": len(partitions) - len(refusals), "parked": move.parked, "state": move.state}
        )  # fmt: skip

    def grow(self, topic: str, partitions: int) -> None:
        """Grow `topic` to that many partitions, or create it; raise `ValueError` where it has more."""
        self._topics.grow(topic, partitions)

    def delete_topic(self, topic: str) -> None:
        """Delete `topic`; raise `ValueError` where it does not exist. If it is created again, it has another id."""
        self._topics.delete(topic)

    def configure_group(self, group: str, configs: Mapping[str, str]) -> ErrorCode:
        """Set a group's own settings; return the error code of a refusal (IncrementalAlterConfigs of resource type 32)."""
        return self._coordinators.configure_group(group, configs)

    def deny(self, denials: Iterable[Denial]) -> None:
        """Replace all denials of client rights. They apply from the clients' next requests."""
        authorizer = Authorizer(frozenset(denials))
        for broker in self._brokers:
            broker.obey(authorizer)
        self._coordinators.let_describe(authorizer.may_describe if authorizer.denials else None)

    def append(self, topic: str, records: int) -> None:
        """Append `records` records to each partition of `topic`; raise `ValueError` where it does not exist.

        A waiting Fetch gets them when its wait ends.
        """
        self._topics.append(topic, records)

    # Faults of the broker hosts

    def is_up(self, node_id: int) -> bool:
        """Return whether the broker is live: it was not killed."""
        return self._metadata.nodes[node_id].is_up

    async def turned(self, node_id: int) -> None:
        """Return at the next failure or repair of the broker."""
        await self._brokers[node_id].broker_host.changed()

    def pause(self, node_id: int) -> None:
        """Freeze the broker until it is mended: it processes nothing, sends nothing and fires no timer. Its connections stay open."""
        self._brokers[node_id].broker_host.pause()
        self._coordinators.pause(node_id)

    def kill(self, node_id: int) -> None:
        """Kill the broker: its connections break. Its groups move to the next live broker, or wait for its return where there is none."""
        self._metadata.nodes[node_id].is_up = False
        broker = self._brokers[node_id]
        broker.broker_host.kill()
        for peer in tuple(broker.peers):
            peer.end("the broker was killed", by="fault")
        self._coordinators.lose(node_id)

    def slow_disk(self, node_id: int) -> None:
        """Delay each append to the broker's log by `WRITE_S` until it is mended."""
        self._brokers[node_id].broker_host.slow_down()

    def refuse_appends(self, error: ErrorCode) -> None:
        """Make the log of every broker refuse the coordinators' records with `error`, or accept them again (NONE) (SYNC-11)."""
        self._coordinators.refuse_appends(error)

    def mend(self, node_id: int) -> None:
        """Repair the broker. Groups that no other broker took over come back from the log; the others stay where they moved."""
        self._metadata.nodes[node_id].is_up = True
        self._coordinators.load(node_id)
        self._coordinators.resume(node_id)
        self._brokers[node_id].broker_host.mend()

    def coordinator_node(self, group: str) -> int:
        """Return the node that coordinates `group`."""
        return self._coordinators.owner_of(group)

    def view(self, group: str) -> GroupView | None:
        """Return the coordinator's view of the group, None where there is none."""
        return self._coordinators.view(group)
