"""A frame is read by the dialect whose members alone send its request."""

from __future__ import annotations

from tests.harness.toy_dialect.lease_dialect import LEASE, LeaseKind
from tests.harness.toy_dialect.lease_functions import LEASE_FUNCTIONS

from groupproof.harness.judging.checkers.tracking.classic_reader import CLASSIC_READER
from groupproof.harness.judging.checkers.tracking.consumer_reader import CONSUMER_READER
from groupproof.harness.judging.checkers.tracking.frame_reader import FrameReader
from groupproof.harness.judging.checkers.tracking.reader_registry import READERS, epoch_apis, readers_by_api, steady_apis
from groupproof.harness.model.dialect_parts import registered


def test_the_classic_requests_are_read_by_the_classic_reader_and_shared_ones_by_nobody_alone() -> None:
    classic = dict.fromkeys(("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup"), CLASSIC_READER)
    assert dict(readers_by_api()) == {**classic, "ConsumerGroupHeartbeat": CONSUMER_READER}
    assert READERS.all() == (CLASSIC_READER, CONSUMER_READER)


def test_the_heartbeat_with_an_epoch_and_the_one_with_a_generation_may_be_steady_and_so_may_a_commit_of_either() -> None:
    assert steady_apis().keys() == {"Heartbeat", "OffsetCommit", "ConsumerGroupHeartbeat"}
    assert steady_apis()["OffsetCommit"] == CLASSIC_READER.steady["OffsetCommit"] | CONSUMER_READER.steady["OffsetCommit"]
    assert epoch_apis() == {"ConsumerGroupHeartbeat"}


def test_a_dialect_brings_its_reader_for_as_long_as_it_is_registered() -> None:
    mine = FrameReader(
        dialect=LEASE,
        apis=frozenset({LeaseKind.LEASE.value}),
        membership=frozenset({LeaseKind.LEASE.value}),
        naming=frozenset({LeaseKind.LEASE.value}),
        is_join=lambda obs: False,
        is_leave=lambda obs: False,
        asked=lambda *_: None,
        answered=lambda *_: None,
    )
    with registered(LEASE_FUNCTIONS, mine):
        assert readers_by_api()["ShareGroupHeartbeat"] is mine
        assert readers_by_api()["JoinGroup"] is CLASSIC_READER
    assert "ShareGroupHeartbeat" not in readers_by_api()
