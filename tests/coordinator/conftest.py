"""A scene: scripted members in front of one coordinator in virtual time, and the witness of the requirement that a test is marked with."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Generic, TypeVar

import pytest

from groupproof.coordinator.machine.coordinator import AppliedRow, Arrival, Coordinator, GroupView, Output, Reply, Settings, Transition
from groupproof.protocol.rules import ClassicEvent, profiles, rows
from groupproof.protocol.rules.cells import State
from groupproof.protocol.rules.classic.admin_table import ADMIN
from groupproof.protocol.rules.classic.offsets_table import OFFSETS
from groupproof.protocol.rules.requirements import requirements
from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.messages import (
    CommitPartition,
    CommitTopic,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FetchGroup,
    FetchTopic,
    GroupRequest,
    GroupResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinProtocol,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeaveMember,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeletePartition,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteTopic,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from groupproof.protocol.wire.subscription import Subscription, encode_subscription

Response = TypeVar("Response", bound=GroupResponse)

SUBSCRIBED = encode_subscription(Subscription(topics=("t",)))


class Asked(Generic[Response]):
    """One request and, when it has come, its answer."""

    def __init__(self, scene: Scene, token: int, kind: type[Response]) -> None:
        self._scene = scene
        self._kind = kind
        self.token = token

    @property
    def is_parked(self) -> bool:
        return self.token not in self._scene.replies

    @property
    def answer(self) -> Response:
        message = self._scene.replies[self.token]
        assert isinstance(message, self._kind)
        return message

    @property
    def error(self) -> ErrorCode:
        return ErrorCode(getattr(self.answer, "error_code", 0))


class Scene:
    """Scripted members; what they send is a method each, and `after` lets time pass. Every group is `g` unless said."""

    def __init__(self, profile: str = "kafka-4.1", **settings: int) -> None:
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.profile = profile
        self.coordinator = Coordinator(profile=profile, settings=Settings.of(named, profile), random=random.Random(7))
        self.coordinator.transaction_error = ErrorCode.NONE  # every transaction is under way
        self.now_ms = 0
        self.replies: dict[int, GroupResponse] = {}
        self.transitions: list[Transition] = []
        self.applied: list[AppliedRow] = []
        self._tokens = itertools.count(1)

    # time

    def after(self, ms: int) -> Scene:
        """Let `ms` pass, timers going off at their instants, that of the last millisecond included."""
        self.now_ms += ms
        self.take(self.coordinator.advance(self.now_ms))
        return self

    # requests

    def join(
        self,
        member_id: str = "",
        *,
        instance: str | None = None,
        version: int = 3,
        protocols: Iterable[str] = ("range",),
        metadata: bytes = SUBSCRIBED,
        protocol_type: str = "consumer",
        session_ms: int = 10_000,
        rebalance_ms: int = 300_000,
        group: str = "g",
        client: str = "c",
        reason: str | None = None,
    ) -> Asked[JoinGroupResponse]:
        offered = tuple(JoinProtocol(name=name, metadata=metadata) for name in protocols)
        message = JoinGroupRequest(
            group_id=group, session_timeout_ms=session_ms, rebalance_timeout_ms=rebalance_ms, member_id=member_id, group_instance_id=instance,
            protocol_type=protocol_type, protocols=offered, reason=reason,
        )  # fmt: skip
        return self.send(message, version, JoinGroupResponse, client)

    def sync(
        self, member_id: str, generation: int = 1, assigned: Mapping[str, bytes] | None = None, *, instance: str | None = None,
        version: int = 4, protocol_type: str | None = None, protocol_name: str | None = None, group: str = "g",
    ) -> Asked[SyncGroupResponse]:  # fmt: skip
        assignments = tuple(SyncAssignment(member_id=key, assignment=data) for key, data in (assigned or {}).items())
        message = SyncGroupRequest(
            group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance, protocol_type=protocol_type,
            protocol_name=protocol_name, assignments=assignments,
        )  # fmt: skip
        return self.send(message, version, SyncGroupResponse)

    def heartbeat(self, member_id: str, generation: int = 1, *, instance: str | None = None, version: int = 4, group: str = "g") -> ErrorCode:
        message = HeartbeatRequest(group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance)
        return self.send(message, version, HeartbeatResponse).error

    def leave(self, *member_ids: str, instances: Iterable[str] = (), version: int = 5, group: str = "g") -> Asked[LeaveGroupResponse]:
        named = [LeaveMember(member_id=member_id) for member_id in member_ids] + [LeaveMember(group_instance_id=instance) for instance in instances]
        return self.send(LeaveGroupRequest(group_id=group, members=tuple(named)), version, LeaveGroupResponse)

    def commit(
        self, member_id: str = "", generation: int = -1, *, instance: str | None = None, offset: int = 5, metadata: str | None = "",
        partitions: Iterable[int] = (0,), version: int = 8, group: str = "g",
    ) -> list[ErrorCode]:  # fmt: skip
        """Return the error code of each partition."""
        offsets = tuple(CommitPartition(partition_index=partition, committed_offset=offset, committed_metadata=metadata) for partition in partitions)
        message = OffsetCommitRequest(
            group_id=group, generation_id=generation, member_id=member_id, group_instance_id=instance,
            topics=(CommitTopic(name="t", partitions=offsets),),
        )  # fmt: skip
        answer = self.send(message, version, OffsetCommitResponse).answer
        return [ErrorCode(partition.error_code) for topic in answer.topics for partition in topic.partitions]

    def txn_commit(
        self, member_id: str = "", generation: int = -1, *, producer: int = 1, instance: str | None = None, offset: int = 5,
        metadata: str | None = "", partitions: Iterable[int] = (0,), version: int = 5, group: str = "g",
    ) -> list[ErrorCode]:  # fmt: skip
        """Commit within the producer's transaction; return the error code of each partition."""
        offsets = tuple(CommitPartition(partition_index=partition, committed_offset=offset, committed_metadata=metadata) for partition in partitions)
        message = TxnOffsetCommitRequest(
            transactional_id="tx", group_id=group, producer_id=producer, generation_id=generation, member_id=member_id, group_instance_id=instance,
            topics=(CommitTopic(name="t", partitions=offsets),),
        )  # fmt: skip
        answer = self.send(message, version, TxnOffsetCommitResponse).answer
        return [ErrorCode(partition.error_code) for topic in answer.topics for partition in topic.partitions]

    def end(self, producer: int = 1, *, commit: bool = True, partition: int = 3) -> Scene:
        """Let the producer's transaction end; group `g` is in partition 3."""
        self.take(self.coordinator.end_transaction(producer, [partition], self.now_ms, is_committed=commit))
        return self

    def describe(self, *groups: str, version: int = 6) -> list[DescribedGroup]:
        return list(self.send(DescribeGroupsRequest(groups=groups or ("g",)), version, DescribeGroupsResponse).answer.groups)

    def list_groups(self, *, states: Iterable[str] = (), types: Iterable[str] = (), version: int = 5) -> Asked[ListGroupsResponse]:
        return self.send(ListGroupsRequest(states_filter=tuple(states), types_filter=tuple(types)), version, ListGroupsResponse)

    def delete(self, *groups: str, version: int = 2) -> dict[str, ErrorCode]:
        answer = self.send(DeleteGroupsRequest(groups_names=groups or ("g",)), version, DeleteGroupsResponse).answer
        return {result.group_id: ErrorCode(result.error_code) for result in answer.results}

    def delete_offsets(self, *partitions: int, topic: str = "t", group: str = "g") -> Asked[OffsetDeleteResponse]:
        named = OffsetDeleteTopic(name=topic, partitions=tuple(OffsetDeletePartition(partition_index=partition) for partition in partitions))
        return self.send(OffsetDeleteRequest(group_id=group, topics=(named,)), 0, OffsetDeleteResponse)

    def fetch(self, *partitions: int, group: str = "g", version: int = 8, stable: bool = False) -> Asked[OffsetFetchResponse]:
        """Ask for the partitions given; for everything committed when none is."""
        topics = (FetchTopic(name="t", partition_indexes=partitions),) if partitions else None
        return self.send(OffsetFetchRequest(groups=(FetchGroup(group_id=group, topics=topics),), require_stable=stable), version, OffsetFetchResponse)

    def committed(self, partition: int = 0, group: str = "g") -> int:
        """Return the committed offset, -1 where there is none."""
        (fetched,) = self.fetch(partition, group=group).answer.groups
        return fetched.topics[0].partitions[0].committed_offset

    def send(self, message: GroupRequest, version: int, kind: type[Response], client: str = "c") -> Asked[Response]:
        token = next(self._tokens)
        arrival = Arrival(token=token, api_version=version, client_id=client, client_host="/127.0.0.1")
        self.take(self.coordinator.handle(message, arrival, self.now_ms))
        return Asked(self, token, kind)

    def take(self, outputs: Iterable[Output]) -> None:
        """Take in what the coordinator put out; an answer given twice fails (INV-08)."""
        for output in outputs:
            if isinstance(output, Reply):
                assert isinstance(output.token, int)
                assert output.token not in self.replies, f"request {output.token} was answered twice (INV-08)"
                self.replies[output.token] = output.message
            elif isinstance(output, Transition):
                self.transitions.append(output)
            else:
                self.applied.append(output)

    # courses of several requests

    def given_id(self, *, session_ms: int = 10_000, group: str = "g") -> str:
        """Return a member id that is handed out and pending (KIP-394)."""
        asked = self.join(version=4, session_ms=session_ms, group=group)
        assert asked.error is ErrorCode.MEMBER_ID_REQUIRED
        return asked.answer.member_id

    def joined(self, members: int = 1, *, instances: Iterable[str] = (), **join: Any) -> list[str]:
        """Let `members` dynamic and the named static members form a group, up to CompletingRebalance; return their ids, the leader first."""
        asked = [self.join(**join) for _ in range(members)] + [self.join(instance=instance, **join) for instance in instances]
        self.after(self.coordinator.settings.group_initial_rebalance_delay_ms * 2)
        assert self.state() is GroupState.COMPLETING_REBALANCE
        return [request.answer.member_id for request in asked]

    def stable(self, members: int = 1, *, instances: Iterable[str] = (), **join: Any) -> list[str]:
        """Let a group form and become Stable, each member assigned its own id as bytes; return the ids, the leader first."""
        ids = self.joined(members, instances=instances, **join)
        assigned = {id: id.encode() for id in ids}
        for name in reversed(ids):  # the leader last, so that the others' are parked
            self.sync(name, self.generation(), assigned if name == ids[0] else None)
        assert self.state() is GroupState.STABLE
        return ids

    # what is seen

    def view(self, group: str = "g") -> GroupView:
        view = self.coordinator.view(group)
        assert view is not None, f"there is no group {group}"
        return view

    def state(self, group: str = "g") -> State:
        view = self.coordinator.view(group)
        return None if view is None else view.state

    def generation(self) -> int:
        return self.view().generation

    def members(self) -> list[str]:
        return [member.member_id for member in self.view().members]

    def rules(self) -> list[str]:
        return [applied.rule for applied in self.applied]

    def path(self) -> list[StrEnum]:
        """Return the states that the group came into, in order."""
        return [transition.after for transition in self.transitions]


_CATALOGUE = frozenset(requirement.id for requirement in requirements())
_CHECKS = (ClassicEvent.JOIN_CHECK, ClassicEvent.ABSENCE_CHECK)  # of these the coordinator tells only what had an effect
_IN_TABLE = frozenset(
    row.requirement for profile in profiles() for kind, _, row in rows(profile)
    if kind not in {*ADMIN, *OFFSETS} and (kind not in _CHECKS or row.effects)  # admin rows cite sentences that others answer for too
)  # fmt: skip


@pytest.fixture
def scene_of(request: pytest.FixtureRequest) -> Iterator[Callable[..., Scene]]:
    """Make scenes, and insist at the end that the rows which the test is marked with were applied in one of them."""
    scenes: list[Scene] = []

    def make(profile: str = "kafka-4.1", **settings: int) -> Scene:
        scenes.append(Scene(profile, **settings))
        return scenes[-1]

    yield make
    marked = {argument for mark in request.node.iter_markers("requirement") for argument in mark.args}
    assert marked <= _CATALOGUE, f"not in the catalogue: {sorted(marked - _CATALOGUE)}"
    requirements = {applied.requirement for scene in scenes for applied in scene.applied}
    assert marked & _IN_TABLE <= requirements, f"never applied: {sorted((marked & _IN_TABLE) - requirements)}; met {sorted(requirements)}"


@pytest.fixture
def scene(scene_of: Callable[..., Scene]) -> Scene:
    return scene_of()
