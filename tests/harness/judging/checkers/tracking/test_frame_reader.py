"""A reader writes what the frames of its dialect say; who reads a client's frames is told by the client's last request of a dialect's own."""

from __future__ import annotations

import pickle

from tests.harness.toy_dialect.lease_dialect import LEASE
from tests.harness.toy_dialect.lease_functions import LEASE_FUNCTIONS
from tests.traces import Story

from groupproof.harness.judging.checkers.tracking.frame_reader import FrameReader
from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker
from groupproof.harness.judging.checkers.tracking.member_ledger import MemberLedger
from groupproof.harness.model.dialect_parts import registered
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api


def test_a_frame_that_members_of_any_dialect_send_is_read_by_the_dialect_that_the_client_spoke_last() -> None:
    read: list[tuple[str, str | None, str]] = []

    def note(kind: str, obs: Observation, client: str) -> None:
        read.append((kind, obs.api, client))

    reader = FrameReader(
        dialect=LEASE, apis=frozenset({Api.SHARE_GROUP_HEARTBEAT.title}), membership=frozenset({Api.CONSUMER_GROUP_HEARTBEAT.title}), naming=frozenset({Api.CONSUMER_GROUP_HEARTBEAT.title}), is_join=lambda obs: False, is_leave=lambda obs: False, asked=lambda _, obs, client: note("asked", obs, client),
        answered=lambda _, obs, client: note("answered", obs, client),
    )  # fmt: skip
    story = Story()
    story.exchange(Api.OFFSET_COMMIT, "m1")
    story.exchange(Api.SHARE_GROUP_HEARTBEAT, "m1")
    story.exchange(Api.OFFSET_COMMIT, "m1")
    story.exchange(Api.OFFSET_COMMIT, "m0")
    story.exchange(Api.HEARTBEAT, "m1")
    with registered(LEASE_FUNCTIONS, reader):
        tracker = GroupTracker()
        for obs in story.trace:
            tracker.follow(obs)

    beat, commit = Api.SHARE_GROUP_HEARTBEAT.title, Api.OFFSET_COMMIT.title
    assert read == [(kind, api, "m1") for api in (beat, commit) for kind in ("asked", "answered")]


def test_a_tracker_can_be_pickled_after_a_client_changed_its_dialect() -> None:
    def end(ledger: MemberLedger, obs: Observation, client: str) -> None:
        ledger.end(client)

    reader = FrameReader(
        dialect=LEASE,
        apis=frozenset({Api.SHARE_GROUP_HEARTBEAT.title}),
        membership=frozenset({Api.SHARE_GROUP_HEARTBEAT.title}),
        naming=frozenset({Api.SHARE_GROUP_HEARTBEAT.title}),
        is_join=lambda obs: False,
        is_leave=lambda obs: False,
        asked=end,
        answered=end,
    )
    story = Story().member()
    story.exchange(Api.SHARE_GROUP_HEARTBEAT, "m0")
    with registered(LEASE_FUNCTIONS, reader):
        tracker = GroupTracker()
        for obs in story.trace:
            tracker.follow(obs)
        again = pickle.loads(pickle.dumps(tracker))
        assert again == tracker
        assert not again.is_member("m0")
