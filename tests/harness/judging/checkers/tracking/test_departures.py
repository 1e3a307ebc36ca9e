"""How each client parted from a group, in either dialect."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.harness.toy_dialect.lease_functions import LEASE_FUNCTIONS
from tests.harness.toy_dialect.lease_judging import LEASE_READER
from tests.traces import Story

from groupproof.harness.judging.checkers.tracking.departures import Departures
from groupproof.harness.model.dialect_parts import registered
from groupproof.harness.model.verdicts import Goodbye
from groupproof.protocol.vocabulary import Api


@pytest.fixture(autouse=True)
def lease() -> Iterator[None]:
    with registered(LEASE_FUNCTIONS, LEASE_READER):
        yield


def _followed(story: Story) -> Departures:
    departures = Departures()
    for obs in story.trace:
        departures.follow(obs)
    return departures


def _closed(story: Story, connection: int = 1) -> Story:
    story.see("event", who="link", connection=connection, body={"name": "closed"})
    return story


@pytest.mark.requirement("CLIENT-73")
@pytest.mark.parametrize(("leaves", "goodbye"), [(True, Goodbye.CLEAN), (False, Goodbye.UNCLEAN)])
def test_a_classic_member_leaves_by_a_request_of_its_own(leaves: bool, goodbye: Goodbye) -> None:
    story = Story().member()
    if leaves:
        story.request(Api.LEAVE_GROUP)

    assert _followed(_closed(story)).clean_close()[0] is goodbye


@pytest.mark.parametrize(("epoch", "goodbye"), [(-1, Goodbye.CLEAN), (1, Goodbye.UNCLEAN)])
def test_a_member_with_an_epoch_leaves_by_a_heartbeat(epoch: int, goodbye: Goodbye) -> None:
    story = Story()
    for named in (0, epoch):
        story.request(Api.SHARE_GROUP_HEARTBEAT, member="id-m0", member_epoch=named)

    departures = _followed(_closed(story))
    assert (departures.has_members, departures.requests, departures.clean_close()[0]) == (True, 2, goodbye)


def test_a_member_that_only_commits_has_not_joined() -> None:
    story = Story()
    story.request(Api.OFFSET_COMMIT)

    assert not _followed(_closed(story)).has_members
    assert _followed(story).clean_close() == (Goodbye.NONE, "")


def test_a_thread_of_kafka_streams_may_stay() -> None:
    story = Story()
    story.join("m0", protocol="stream")

    assert _followed(_closed(story)).clean_close()[0] is Goodbye.NONE
