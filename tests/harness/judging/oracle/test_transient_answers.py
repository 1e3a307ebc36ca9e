from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.harness.judging.oracle.recording import SETTINGS, Recording, bodied, changed

from groupproof.coordinator.machine.coordinator import StoredGroups, Transition
from groupproof.coordinator.machine.offsets import CommittedOffset
from groupproof.coordinator.machine.storage import StoredGroup, StoredOffsets
from groupproof.harness.judging.oracle.answer_diff import Difference
from groupproof.harness.judging.oracle.predictions import findings_of
from groupproof.harness.judging.oracle.transient_answers import (
    may_be_unseen,
    shows_empty_consumer_group,
    shows_no_group,
    shows_offsets,
    shows_state_before,
)
from groupproof.protocol.rules.deltas import CoordinatorKind
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Api, GroupState
from groupproof.protocol.wire.admin_messages import ListGroupsRequest, OffsetDeletePartition, OffsetDeleteRequest, OffsetDeleteTopic
from groupproof.protocol.wire.consumer_messages import ConsumerGroupHeartbeatRequest
from groupproof.protocol.wire.messages import DeleteGroupsRequest, FetchGroup, FetchTopic, GroupRequest, HeartbeatRequest, OffsetFetchRequest

WRITTEN = StoredGroups(groups=(StoredGroup(group_id="g", generation=1, protocol_type=None, protocol_name=None, leader=None, since_ms=0),))
COMMITTED = StoredGroups(
    offsets=(StoredOffsets(group_id="g", committed=((("t", 0), CommittedOffset(offset=1, leader_epoch=-1, metadata="", at_ms=0)),)),)
)
FORGOTTEN = StoredGroups(offsets=(StoredOffsets(group_id="g", committed=()),))


def test_a_group_is_not_there_when_it_is_dead_or_not_listed() -> None:
    assert shows_no_group(Api.DESCRIBE_GROUPS, {"groups": [{"group_state": "Dead"}]})
    assert not shows_no_group(Api.DESCRIBE_GROUPS, {"groups": [{"group_state": "Empty"}]})
    assert shows_no_group(Api.LIST_GROUPS, {"groups": []})
    assert not shows_no_group(Api.LIST_GROUPS, {"groups": [{"group_id": "g"}]})
    assert not shows_no_group(Api.LIST_GROUPS, {"groups": [], "error_code": 15})
    assert not shows_no_group(Api.HEARTBEAT, {"error_code": 25})


def test_a_group_of_which_nothing_is_written_may_be_unseen_by_the_coordinator_in_java() -> None:
    assert may_be_unseen("g", StoredGroups(), CoordinatorKind.JAVA)
    assert may_be_unseen("other", WRITTEN, CoordinatorKind.JAVA)
    assert not may_be_unseen("g", StoredGroups(), CoordinatorKind.SCALA)


def test_a_group_that_is_written_is_seen() -> None:
    assert not may_be_unseen("g", WRITTEN, CoordinatorKind.JAVA)
    assert not may_be_unseen("g", COMMITTED, CoordinatorKind.JAVA)


def test_a_group_that_moves_may_show_where_it_was_and_nothing_else() -> None:
    moved = Transition(group_id="g", generation=1, before=GroupState.PREPARING_REBALANCE, after=GroupState.COMPLETING_REBALANCE, rule="x", reason="")
    state = Difference(path="groups.group_state", field="group_state", expected="CompletingRebalance", observed="PreparingRebalance")

    assert shows_state_before([state], moved)
    assert not shows_state_before([replace(state, observed="Stable")], moved)
    assert not shows_state_before([state, replace(state, field="protocol_type")], moved)
    assert not shows_state_before([], replace(moved, before=None))


def returned(*, gap_ms: int) -> Trace:
    """Return how an instance returns twice, of which the first is fenced."""
    recording = Recording()
    recording.stable("a", instance="i")
    recording.join("b", instance="i", member_id="", settles=False)
    recording.wait(gap_ms)
    recording.join("c", instance="i", member_id="")
    recording.wait(10)
    fenced: dict[str, Any] = {"error_code": 82, "generation_id": -1, "protocol_name": None, "leader": "", "members": []}
    return changed(recording.end(), "JoinGroup b", bodied(**fenced))


def test_an_instance_that_returned_may_be_fenced_by_the_next_before_the_group_is_written_from_4_0_on() -> None:
    at_once, later = returned(gap_ms=1), returned(gap_ms=5)

    assert findings_of(at_once, profile="kafka-4.1", settings=SETTINGS) == []
    assert findings_of(later, profile="kafka-4.1", settings=SETTINGS) != []
    (found,) = findings_of(at_once, profile="kafka-3.9", settings=SETTINGS)
    assert found.observed.startswith("JoinGroup of b (generation 1, Stable): 82 FENCED_INSTANCE_ID. As kafka-4.4 does")


DELETED = DeleteGroupsRequest(groups_names=("g",))
EMPTIED = OffsetDeleteRequest(group_id="g", topics=(OffsetDeleteTopic(name="t", partitions=(OffsetDeletePartition(partition_index=0),)),))


def deleted(by: GroupRequest = DELETED, *, gap_ms: int) -> Trace:
    """Return how a group is deleted while a member of it beats, which is answered as by a Dead group."""
    recording = Recording("kafka-2.8")
    recording.join("a", version=5)
    recording.wait(10)
    recording.ask("b", by, version=0, settles=False)
    recording.wait(gap_ms)
    recording.ask("a", HeartbeatRequest(group_id="g", generation_id=1, member_id="a"), settles=False)
    recording.wait(10)
    return changed(recording.end(), "Heartbeat a", bodied(error_code=15))


def test_a_request_while_the_group_is_deleted_may_find_it_dead_before_4_0() -> None:
    at_once, later = deleted(gap_ms=0), deleted(gap_ms=5)

    assert findings_of(at_once, profile="kafka-2.8", settings=SETTINGS) == []
    assert findings_of(later, profile="kafka-2.8", settings=SETTINGS) != []
    assert findings_of(at_once, profile="kafka-4.1", settings=SETTINGS) != []
    assert findings_of(at_once, profile="kafka-1.1", settings=SETTINGS) != []


def test_a_request_while_the_last_offsets_are_deleted_may_find_the_group_dead() -> None:
    assert findings_of(deleted(EMPTIED, gap_ms=0), profile="kafka-2.8", settings=SETTINGS) == []
    assert findings_of(deleted(EMPTIED, gap_ms=5), profile="kafka-2.8", settings=SETTINGS) != []


EMPTY_GROUP = {"group_id": "g", "protocol_type": "consumer", "group_state": "Empty", "group_type": "consumer"}


def _joined_when_empty(member_id: str, *, gap_ms: int) -> Recording:
    """Return how a JoinGroup comes to an Empty consumer group."""
    recording = Recording("kafka-4.2")
    for epoch in (0, -1):
        recording.ask("a", _beats("a", epoch), version=1)
        recording.wait(10)
    recording.join("b", member_id=member_id)
    recording.wait(gap_ms)
    return recording


def forgotten(member_id: str = "nobody", gap_ms: int = 10, **fields: Any) -> Trace:
    """Return how a JoinGroup comes to an Empty consumer group, and how the group is listed after it."""
    recording = _joined_when_empty(member_id, gap_ms=gap_ms)
    recording.ask("z", ListGroupsRequest(), version=5)
    recording.wait(10)
    return changed(recording.end(), "ListGroups z", bodied(groups=({**EMPTY_GROUP, **fields},)))


def _beats(member_id: str, epoch: int) -> Any:
    return ConsumerGroupHeartbeatRequest(
        group_id="g", member_id=member_id, member_epoch=epoch, rebalance_timeout_ms=9_000, subscribed_topic_names=("t",), topic_partitions=()
    )


def test_an_empty_consumer_group_that_a_refused_join_forgot_is_shown_still() -> None:
    """`classicGroupJoinToClassicGroup` takes the group from memory, and returns none of the records that would delete it."""
    assert findings_of(forgotten(), profile="kafka-4.2", settings=SETTINGS) == []


@pytest.mark.parametrize("unsaid", [("group_state", "group_type"), ("group_type",)])
def test_an_older_list_that_says_neither_state_nor_type_shows_it_still(unsaid: tuple[str, ...]) -> None:
    assert findings_of(forgotten("nobody", 10, **dict.fromkeys(unsaid, "")), profile="kafka-4.2", settings=SETTINGS) == []


def test_it_is_shown_as_it_was_and_only_where_the_join_was_refused() -> None:
    assert findings_of(forgotten(group_state="Stable"), profile="kafka-4.2", settings=SETTINGS) != []
    assert findings_of(forgotten(group_type="classic"), profile="kafka-4.2", settings=SETTINGS) != []


def test_an_empty_consumer_group_is_listed_until_the_classic_one_in_its_place_is_written() -> None:
    """The JoinGroup that makes it is answered 79 before its records are committed, as of which ListGroups reads."""
    assert findings_of(forgotten(member_id=""), profile="kafka-4.2", settings=SETTINGS) == []
    assert findings_of(forgotten(member_id="", gap_ms=600), profile="kafka-4.2", settings=SETTINGS) != []
    assert findings_of(forgotten(member_id="", group_state="Stable"), profile="kafka-4.2", settings=SETTINGS) != []


@pytest.mark.parametrize(("gap_ms", "are_blamed"), [(2, False), (600, True)])
def test_a_member_that_fetches_as_a_member_until_then_is_unknown_to_it(gap_ms: int, are_blamed: bool) -> None:
    recording = _joined_when_empty("", gap_ms=gap_ms)
    fetched = FetchGroup(group_id="g", member_id="a", member_epoch=0, topics=(FetchTopic(name="t", partition_indexes=(0,)),))
    recording.ask("z", OffsetFetchRequest(groups=(fetched,)), version=9)
    recording.wait(10)
    trace = changed(recording.end(), "OffsetFetch z", bodied(groups=({"group_id": "g", "topics": (), "error_code": 25},)))

    assert bool(findings_of(trace, profile="kafka-4.2", settings=SETTINGS)) is are_blamed


def test_what_looks_like_an_empty_consumer_group_is_one_group_or_a_member_that_it_does_not_have() -> None:
    assert shows_empty_consumer_group(Api.LIST_GROUPS, {"groups": [EMPTY_GROUP]})
    assert shows_empty_consumer_group(Api.CONSUMER_GROUP_DESCRIBE, {"groups": [{"group_state": "Empty"}]})
    assert shows_empty_consumer_group(Api.OFFSET_FETCH, {"groups": [{"group_id": "g", "error_code": 25}]})
    assert not shows_empty_consumer_group(Api.OFFSET_FETCH, {"groups": [{"group_id": "g", "error_code": 69}]})
    assert not shows_empty_consumer_group(Api.LIST_GROUPS, {"groups": []})
    assert not shows_empty_consumer_group(Api.DESCRIBE_GROUPS, {"groups": [EMPTY_GROUP]})


def test_what_is_fetched_are_the_offsets_that_are_stored() -> None:
    def fetched(offset: int) -> dict[str, Any]:
        return {"groups": [{"topics": [{"name": "t", "partitions": [{"partition_index": 0, "committed_offset": offset}]}]}]}

    assert shows_offsets(Api.OFFSET_FETCH, fetched(1), "g", COMMITTED)
    assert not shows_offsets(Api.OFFSET_FETCH, fetched(2), "g", COMMITTED)
    assert not shows_offsets(Api.OFFSET_FETCH, fetched(1), "other", COMMITTED)
    assert not shows_offsets(Api.OFFSET_FETCH, {"groups": [{"topics": []}]}, "g", COMMITTED)
