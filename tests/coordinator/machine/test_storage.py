"""What is stored of a group, and what is restored of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.members import Member
from groupproof.coordinator.machine.offsets import CommittedOffset, Offsets
from groupproof.coordinator.machine.storage import PartitionState, StoredGroups, partition_of
from groupproof.protocol.vocabulary import GroupState
from groupproof.protocol.wire.messages import CommitPartition, JoinProtocol


def _group() -> Group:
    group = Group(group_id="g", state=GroupState.COMPLETING_REBALANCE, generation=4, protocol_type="consumer", protocol_name="sticky", since_ms=9)
    protocols = (JoinProtocol(name="range", metadata=b"r"), JoinProtocol(name="sticky", metadata=b"s"))
    for member_id, instance in (("a", None), ("b", "i")):
        group.members.add(
            Member(
                member_id=member_id,
                group_instance_id=instance,
                client_id="c",
                client_host="h",
                session_timeout_ms=1,
                rebalance_timeout_ms=2,
                protocol_type="consumer",
                protocols=protocols,
                is_new=True,
            )
        )
    group.members.leader = "b"
    return group


@pytest.mark.requirement("EMIG-03")
def test_a_group_with_members_is_restored_stable_with_the_chosen_protocol_alone() -> None:
    restored = Group.restored(_group().stored({"a": b"x"}))

    assert (restored.state, restored.generation, restored.protocol_name, restored.members.leader) == (GroupState.STABLE, 4, "sticky", "b")
    assert [(member.member_id, member.assignment, member.is_new) for member in restored.members] == [("a", b"x", False), ("b", b"", False)]
    assert restored.members.by_id["a"].protocols == (JoinProtocol(name="sticky", metadata=b"s"),)
    assert restored.members.instances == {"i": "b"}
    assert restored.subscriptions == (b"s", b"s")


@pytest.mark.requirement("EMIG-03")
def test_a_group_without_members_is_restored_empty() -> None:
    restored = Group.restored(Group(group_id="g", generation=2, protocol_type="consumer", since_ms=5).stored({}))

    assert (restored.state, restored.generation, restored.members.leader, restored.since_ms) == (GroupState.EMPTY, 2, None, 5)


@pytest.mark.requirement("EMIG-03")
def test_offsets_that_the_log_refused_leave_no_group_to_load() -> None:
    state = PartitionState()
    state.offsets["g"] = Offsets()

    assert state.snapshot().offsets == ()


def test_a_transaction_of_which_every_offset_was_deleted_stays_open_over_a_move() -> None:
    state = PartitionState()
    state.offsets["g"] = Offsets()
    state.offsets["g"].commit_pending(7, "t", CommitPartition(partition_index=0, committed_offset=3), 0)
    state.offsets["g"].delete("t", 0)

    again = PartitionState.of(state.snapshot()).offsets["g"]
    assert (again.pending, again.by_partition, again.records) == ({7: {}}, {}, 0)


def test_a_snapshot_does_not_follow_later_changes() -> None:
    state = PartitionState()
    state.offsets["g"] = Offsets({("t", 0): CommittedOffset(offset=1, leader_epoch=-1, metadata="", at_ms=0)})
    state.groups["g"] = _group().stored({})
    state.offsets["g"].commit_pending(7, "t", CommitPartition(partition_index=1, committed_offset=3), 0)
    snapshot = state.snapshot()
    state.forget("g")

    assert (state.groups, state.offsets) == ({}, {})
    assert snapshot != StoredGroups()
    again = PartitionState.of(snapshot)
    assert again.snapshot() == snapshot
    assert again.offsets["g"].by_partition["t", 0].offset == 1
    assert again.offsets["g"].pending[7]["t", 1].offset == 3
    assert again.offsets["g"].records == 1


@pytest.mark.requirement("FIND-02")
@given(st.text(), st.integers(1, 100))
def test_every_group_has_a_partition_and_always_the_same(group_id: str, partitions: int) -> None:
    assert 0 <= partition_of(group_id, partitions) == partition_of(group_id, partitions) < partitions


@pytest.mark.requirement("FIND-02")
def test_characters_beyond_16_bits_count_as_java_counts_them() -> None:
    assert partition_of("\N{GRINNING FACE}", 2**31) == 1_772_899 == 31 * 0xD83D + 0xDE00


@pytest.mark.requirement("FIND-02", "TIMER-04")
@pytest.mark.parametrize(("group", "partition"), [("g", 3), ("test-group", 12), ("my-group", 12), ("polygenelubricants", 0), ("\udcff", 25)])
def test_a_groups_partition_is_java_s_hash_without_its_sign(group: str, partition: int) -> None:
    assert partition_of(group, 50) == partition
