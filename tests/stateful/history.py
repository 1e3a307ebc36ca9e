"""Who may do what in a duel: each act is a plain method with small numbers for its choices, so that anything can draw it and shrink it."""

from __future__ import annotations

from typing import Final

from tests.stateful.duel import Duel

from groupproof.coordinator.machine.coordinator import GroupView
from groupproof.protocol.vocabulary import ErrorCode, GroupState
from groupproof.protocol.wire.admin_messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    ListGroupsRequest,
    OffsetDeletePartition,
    OffsetDeleteRequest,
    OffsetDeleteTopic,
)
from groupproof.protocol.wire.messages import (
    CommitPartition,
    CommitTopic,
    FetchGroup,
    FetchTopic,
    GroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinProtocol,
    LeaveGroupRequest,
    LeaveMember,
    OffsetCommitRequest,
    OffsetFetchRequest,
    SyncAssignment,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)
from groupproof.protocol.wire.subscription import Subscription, encode_subscription

__all__ = ["DISKS", "INSTANCES", "NAMINGS", "OFFERS", "REBALANCES_MS", "SESSIONS_MS", "STRANGER", "WAITS_MS", "History"]

ONE: Final = encode_subscription(Subscription(topics=("t",)))
OTHER: Final = encode_subscription(Subscription(topics=("u",)))
OFFERS: Final = (
    (("range", ONE),), (("range", OTHER),), (("range", ONE), ("sticky", ONE)), (("sticky", ONE), ("range", ONE)), (("custom", ONE),), (),
)  # fmt: skip
INSTANCES: Final = (None, "a", "b")
SESSIONS_MS: Final = (30_000, 6_000, 10_000, 5_999)
REBALANCES_MS: Final = (10_000, 60_000, 2_000, 600_000, -1)
WAITS_MS: Final = (1_000, 0, 1, 500, 2_999, 3_000, 6_000, 10_000, 30_000, 300_000)
DISKS: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.MESSAGE_TOO_LARGE)
NAMINGS: Final = ((3, None, None), (5, "tck", "own"), (5, None, None), (5, "connect", "own"), (5, "tck", "unheard-of"))
"""The version of a SyncGroup, and the protocol type and name that it tells (KIP-559)."""

FILTERS: Final = (
    ((), ()),
    (("Stable", "Empty"), ()),
    (("PreparingRebalance", "CompletingRebalance"), ()),
    (("Unheard",), ()),
    ((), ("Classic",)),
    ((), ("consumer",)),
)
"""States and types that ListGroups is asked for."""

STRANGER: Final = "stranger"
COMPANY: Final = 3
"""With how many members a group has company enough: larger ones show nothing new, and take their time."""


class History:
    """Acts in a duel, on group `g` unless said; `protocol_type` is what its members say to be."""

    def __init__(self, duel: Duel, protocol_type: str = "tck") -> None:
        self.duel = duel
        self.protocol_type = protocol_type
        self.ids = ["", STRANGER]

    # Who is meant

    def view(self, group: str = "g") -> GroupView | None:
        return self.duel.model.view(group)

    def ids_in_group(self, group: str = "g") -> list[str]:
        """Return the ids of members and pending ones, in the order of their coming."""
        view = self.view(group)
        return [] if view is None else [*(member.member_id for member in view.members), *view.pending]

    def one(self, who: int) -> str:
        """Return a present id, or beyond those any that ever was."""
        present = self.ids_in_group()
        self.ids += [name for name in present if name not in self.ids]
        return present[who] if who < len(present) else self.ids[who % len(self.ids)]

    def instance_of(self, member_id: str, how: int) -> str | None:
        """Return the member's own instance (0, 1), none (2), or another (3 and more)."""
        view = self.view()
        if self.duel.model.release < (2, 3) or (self.duel.model.release < (3, 0) and view is not None and member_id in view.pending):
            return None  # until 2.8 a pending id that names an instance fails the whole request, as an exception does
        own = {member_view.member_id: member_view.group_instance_id for member_view in (() if view is None else view.members)}.get(member_id)
        return own if how < 2 else INSTANCES[how - 2] if how < 5 else "unheard-of"

    def generation(self, off: int = 0) -> int:
        view = self.view()
        return (0 if view is None else view.generation) + off

    # What they do

    def join(
        self, member_id: str = "", *, instance: str | None = None, version: int = 9, offer: int = 0, session: int = 0, rebalance: int = 0,
        protocol_type: str | None = None, group: str = "g",
    ) -> None:  # fmt: skip
        protocol_type = self.protocol_type if protocol_type is None else protocol_type
        protocols = tuple(JoinProtocol(name=name, metadata=metadata) for name, metadata in OFFERS[offer])
        message = JoinGroupRequest(
            group_id=group, member_id=member_id, group_instance_id=instance, protocol_type=protocol_type, protocols=protocols,
            session_timeout_ms=SESSIONS_MS[session], rebalance_timeout_ms=REBALANCES_MS[rebalance],
        )  # fmt: skip
        self.duel.ask(message, version)

    def sync(self, member_id: str, *, off: int = 0, instance: str | None = None, left_out: int = 0, naming: int = 0) -> None:
        """Sync with an assignment for everyone (which of a follower is ignored) but the first `left_out`, and for a stranger.

        The protocol is named as `NAMINGS` has it, with the group's own for "own".
        """
        named = [*self.ids_in_group()[left_out:], STRANGER]
        version, protocol_type, protocol_name = NAMINGS[naming]
        protocol_type = self.protocol_type if protocol_type == "tck" else protocol_type
        view = self.view()
        own = None if view is None else view.protocol_name
        assignments = tuple(SyncAssignment(member_id=name, assignment=f"{name} by {member_id}".encode()) for name in named)
        message = SyncGroupRequest(
            group_id="g", generation_id=self.generation(off), member_id=member_id, group_instance_id=instance,
            protocol_type=protocol_type, protocol_name=own if protocol_name == "own" else protocol_name, assignments=assignments,
        )  # fmt: skip
        self.duel.ask(message, version)

    def heartbeat(self, member_id: str, *, off: int = 0, instance: str | None = None) -> None:
        message = HeartbeatRequest(group_id="g", generation_id=self.generation(off), member_id=member_id, group_instance_id=instance)
        self.duel.ask(message, 4)

    def leave(self, *entries: tuple[str, str | None]) -> None:
        members = tuple(LeaveMember(member_id=member_id, group_instance_id=instance) for member_id, instance in entries)
        self.duel.ask(LeaveGroupRequest(group_id="g", members=members), 5)

    def commit(
        self,
        member_id: str,
        *,
        off: int | None = 0,
        instance: str | None = None,
        version: int = 8,
        offset: int = 1,
        long: bool = False,
        group: str = "g",
    ) -> None:
        """Commit as a member, or with `off` None as one who manages no group."""
        message = OffsetCommitRequest(
            group_id=group, generation_id=-1 if off is None else self.generation(off), member_id=member_id, group_instance_id=instance,
            topics=_commits(offset, long=long),
        )  # fmt: skip
        self.duel.ask(message, version)

    def commit_in_transaction(self, member_id: str, producer: int, *, off: int | None = 0, instance: str | None = None, long: bool = False) -> None:
        """Commit what counts when the producer's transaction does, as a member or with `off` None as nobody."""
        named = off is not None and self.generation(off) >= 0 and self.duel.model.release >= (2, 5)
        message = TxnOffsetCommitRequest(
            transactional_id=f"transaction-{producer}", group_id="g", producer_id=producer, topics=_commits(10 * producer, long=long),
            generation_id=self.generation(off or 0) if named else -1, member_id=member_id if named else "", group_instance_id=instance if named else None,
        )  # fmt: skip
        self.duel.ask(message, 3)

    def fetch(self, *, everything: bool = False, stable: bool = False) -> None:
        topics = None if everything else (FetchTopic(name="t", partition_indexes=(0, 1, 2)), FetchTopic(name="u", partition_indexes=(0,)))
        groups = tuple(FetchGroup(group_id=name, topics=topics) for name in ("g", "h"))
        self.duel.ask(OffsetFetchRequest(groups=groups, require_stable=stable), 8)

    def describe(self, version: int = 5) -> None:
        self.duel.ask(DescribeGroupsRequest(groups=("g", "h", "nowhere")), version)

    def listing(self, which: int) -> None:
        states, types = FILTERS[which % len(FILTERS)]
        release = self.duel.model.release
        states, types = states if release >= (2, 6) else (), types if release >= (3, 8) else ()
        self.duel.ask(ListGroupsRequest(states_filter=states, types_filter=types), 5)

    def delete_offsets(self, which: int) -> None:
        """Delete the offsets of one topic, of the other, of both, or of one that the group has none of."""
        chosen = ((("t", 2),), (("u", 1),), (("t", 2), ("u", 1)), (("v", 1),))[which % 4]
        topics = tuple(
            OffsetDeleteTopic(name=name, partitions=tuple(OffsetDeletePartition(partition_index=number) for number in range(many)))
            for name, many in chosen
        )
        self.duel.ask(OffsetDeleteRequest(group_id=("g", "g", "g", "h", "nowhere")[which % 5], topics=topics), 0)

    def delete(self) -> None:
        self.duel.ask(DeleteGroupsRequest(groups_names=("g", "nowhere")), 2)

    def ask_about(self, group: str, api: int) -> None:
        """Send a request of each API about a group that is not this coordinator's, or that nobody can have."""
        topics = (CommitTopic(name="t", partitions=(CommitPartition(partition_index=0, committed_offset=1),)),)
        requests: tuple[GroupRequest, ...] = (
            JoinGroupRequest(group_id=group, session_timeout_ms=SESSIONS_MS[3 * (api % 2)], member_id=STRANGER, protocol_type="tck"),
            SyncGroupRequest(group_id=group, generation_id=1, member_id=STRANGER),
            HeartbeatRequest(group_id=group, generation_id=1, member_id=STRANGER),
            LeaveGroupRequest(group_id=group, members=(LeaveMember(member_id=STRANGER),)),
            OffsetCommitRequest(group_id=group, topics=topics, generation_id=1),
            OffsetFetchRequest(groups=(FetchGroup(group_id=group),)),
            DeleteGroupsRequest(groups_names=(group,)),
            DescribeGroupsRequest(groups=(group,)),
            TxnOffsetCommitRequest(transactional_id="t", group_id=group, producer_id=1, topics=topics),
            *((OffsetDeleteRequest(group_id=group),) if self.duel.model.release >= (2, 4) else ()),
        )
        which = api % len(requests)
        self.duel.ask(requests[which], (5, 3, 3, 3, 7, 8, 2, 5, api % 4, 0)[which])

    def gather(self, *, newcomers: int = 0, rebalance: int = 0) -> None:
        """Let newcomers and all members join, and wait for the end of the join phase, so that histories often see what comes behind it."""
        for _ in range(min(newcomers, COMPANY - len(self.ids_in_group()))):
            self.join(version=3, rebalance=rebalance)
        for member_id in self.ids_in_group():
            self.join(member_id, instance=self.instance_of(member_id, 0), version=5, rebalance=rebalance)
        self.duel.wait(3_000)

    def sync_all(self, *, but: int = 0) -> None:
        """Let all members sync but the last few."""
        view = self.view()
        for member in () if view is None or view.state is GroupState.EMPTY else view.members[: len(view.members) - but]:
            self.sync(member.member_id)


def _commits(offset: int, *, long: bool) -> tuple[CommitTopic, ...]:
    """Return commits of three partitions, of which one may have metadata that is too long."""
    of_t = tuple(
        CommitPartition(partition_index=number, committed_offset=offset, committed_metadata="mm" if long and number else "m") for number in (0, 1)
    )
    return (CommitTopic(name="t", partitions=of_t), CommitTopic(name="u", partitions=(CommitPartition(partition_index=0, committed_offset=offset),)))
