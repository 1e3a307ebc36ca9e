"""The reference cluster: several brokers in one process, each with a coordinator machine of its own, over any streams and any trio clock."""

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
    """Brokers 0, 1, …; offsets partition p is first coordinated, and partition p of every topic led, by node p modulo `brokers`.

    `settings` are Kafka's broker settings under their own names; `topics` maps names to partition counts, each partition filled with
    `records`; `variant` deviates from the reference. `stored` are groups that it begins with, and their topics. Must be made inside trio. Raises `UnknownProfile` and `UnknownSetting`.
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
        self._topics = Topics(records, on_change=self._tell_topics)
        for recorded in () if stored is None else stored.topics():
            self._topics.restore(recorded)
        for name, partitions in (topics or {}).items():
            there = self._topics.named(name)
            self._topics.grow(name, max(partitions, 0 if there is None else len(there.partitions)))
        if stored is not None:
            self._coordinators.load_records(stored, self._topics.image())
        self._world = ClusterMetadata(
            nodes=[BrokerNode(node_id) for node_id in range(brokers)], topics=self._topics, owners=self._coordinators.owners,
            epochs=self._coordinators.epochs, owner_of=self._owner_of(variant, brokers), versions=advertised(profile) | dict(variant.versions),
            fields={**profile_named(profile).fields, **variant.fields},
        )  # fmt: skip
        appended, answered = Signal(), accepted(profile) | dict(variant.answered)
        self._brokers = [
            Broker(
                node_id, world=self._world, coordinators=self._coordinators, interception=self.interception, recorder=recorder,
                appended=appended, accepted=answered, frame_bytes_max=frame_bytes_max, line=variant.line,
            )
            for node_id in range(brokers)
        ]  # fmt: skip

    def _tell_topics(self) -> None:
        """Let every coordinator know the topics that there are: some assign partitions themselves (KIP-848)."""
        self._coordinators.change_topics(self._topics.image())

    def _owner_of(self, variant: Variant, nodes: int) -> Callable[[str], int]:
        """Return the coordinator that clients learn for a group."""
        owner_of, bent = self._coordinators.owner_of, variant.owner
        return owner_of if bent is None else lambda group: bent(group, owner_of(group), nodes)

    @property
    def nodes(self) -> tuple[int, ...]:
        """Return the node ids."""
        return tuple(node.node_id for node in self._world.nodes)

    def advertise(self, node_id: int, host: str, port: int) -> None:
        """Tell clients from now on that `node_id` is at this address."""
        node = self._world.nodes[node_id]
        node.host, node.port = host, port

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep the coordinators' timers until cancelled."""
        task_status.started()
        await self._coordinators.run()

    async def serve_connection(self, node_id: int, stream: trio.abc.Stream, peer: str) -> None:
        """Serve one client on `stream` until either side ends it; lets no exception out but the caller's cancellation.

        `peer` is the client's address as `host:port`.
        """
        if not self.is_up(node_id):
            await trio.aclose_forcefully(stream)
            return
        await Connection(self._brokers[node_id], next(self._numbers), stream, peer).serve()

    # What a plan does to the cluster

    def arm(self, fault: Fault) -> None:
        """Raise `ValueError` for a name already armed."""
        self.interception.arm(fault)

    def release(self, name: str) -> None:
        """Let go what the fault holds; raise `KeyError` for one that is not armed."""
        self.interception.release(name)

    def heal(self, name: str) -> None:
        """Disarm the fault and let go what it holds; one that is not armed is no error."""
        self.interception.heal(name)

    def move(self, move: Move, group: str | None = None) -> None:
        """Move the coordinator of `group`, or of every group there can be: with `to` None, each to the node after its own.

        Raises `ValueError` where there is no such node, or nothing to move because it is there already.
        """
        partitions = range(self._coordinators.partitions) if group is None else [partition_of(group, self._coordinators.partitions)]
        refusals = [why for partition in partitions if (why := self._coordinators.move(partition, move))]
        if len(refusals) == len(partitions):
            raise ValueError(f"the coordinator cannot be moved: {refusals[0]}")
        self.recorder.record(
            "event", group=group, body={"name": "moved", "to": move.to, "partitions": len(partitions) - len(refusals), "parked": move.parked, "state": move.state}
        )  # fmt: skip

    def grow(self, topic: str, partitions: int) -> None:
        """Give `topic` that many partitions, creating it when it is new; raise `ValueError` where it has more."""
        self._topics.grow(topic, partitions)

    def delete_topic(self, topic: str) -> None:
        """Delete `topic`; one that is made again has another id. Raise `ValueError` where it is not there."""
        self._topics.delete(topic)

    def configure_group(self, group: str, configs: Mapping[str, str]) -> ErrorCode:
        """Give a group settings of its own; return the error by which they are refused (IncrementalAlterConfigs of resource type 32)."""
        return self._coordinators.configure_group(group, configs)

    def deny(self, denials: Iterable[Denial]) -> None:
        """Deny this to clients from their next request on, and nothing else any more."""
        authorizer = Authorizer(frozenset(denials))
        for broker in self._brokers:
            broker.obey(authorizer)
        self._coordinators.let_describe(authorizer.may_describe if authorizer.denials else None)

    def append(self, topic: str, records: int) -> None:
        """Append so many records to each partition of `topic`; raise `ValueError` for one that is not there. A Fetch that waits sees them when its time is over."""
        self._topics.append(topic, records)

    # What befalls the brokers' machines

    def is_up(self, node_id: int) -> bool:
        """Tell whether the broker listens, as all do that were not killed."""
        return self._world.nodes[node_id].is_up

    async def turned(self, node_id: int) -> None:
        """Return when the broker has been broken or mended."""
        await self._brokers[node_id].machine.changed()

    def pause(self, node_id: int) -> None:
        """Let the broker take up nothing, answer nothing and fire no timer until it is mended; its connections stay."""
        self._brokers[node_id].machine.pause()
        self._coordinators.pause(node_id)

    def kill(self, node_id: int) -> None:
        """End the broker without a word: its connections break, and its groups go to the next one, or where it is the last wait for its return."""
        self._world.nodes[node_id].is_up = False
        broker = self._brokers[node_id]
        broker.machine.kill()
        for peer in tuple(broker.peers):
            peer.end("the broker was killed", by="fault")
        self._coordinators.lose(node_id)

    def slow_disk(self, node_id: int) -> None:
        """Let each append to the broker's log take `WRITE_S` until it is mended."""
        self._brokers[node_id].machine.slow_down()

    def refuse_appends(self, error: ErrorCode) -> None:
        """Let the log of every broker refuse the coordinators' records, or (NONE) take them again (SYNC-11)."""
        self._coordinators.refuse_appends(error)

    def mend(self, node_id: int) -> None:
        """Undo all of that; what a killed broker led alone comes back from its log, what went to another stays there."""
        self._world.nodes[node_id].is_up = True
        self._coordinators.load(node_id)
        self._coordinators.resume(node_id)
        self._brokers[node_id].machine.mend()

    def coordinator_node(self, group: str) -> int:
        """Return the node that coordinates `group`."""
        return self._coordinators.owner_of(group)

    def view(self, group: str) -> GroupView | None:
        """Return the group as its coordinator knows it, or None."""
        return self._coordinators.view(group)
