"""How each client parted from a group, in either dialect."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.epoch_traces import EpochStory
from tests.harness.toy_dialect.lease_functions import LEASE_FUNCTIONS
from tests.harness.toy_dialect.lease_judging import LEASE_READER
from tests.traces import ID, Story

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


def _closed(story: Story, connection: int = 1, by: str = "client") -> Story:
    story.see("event", who="link", connection=connection, body={"name": "closed", "by": by})
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
        asked = story.request(Api.SHARE_GROUP_HEARTBEAT, member="id-m0", member_epoch=named)
        story.answer(asked, member_epoch=max(named, 1))

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


@pytest.mark.parametrize("by", ["upstream", "tap", "broker"])
def test_a_member_whose_connection_others_closed_has_not_gone(by: str) -> None:
    assert _followed(_closed(Story().member(), by=by)).clean_close()[0] is Goodbye.NONE


def test_a_client_that_was_never_let_in_owes_nothing() -> None:
    story = Story()
    story.join(error=30, gets="")

    departures = _followed(_closed(story))
    assert (departures.has_members, departures.clean_close()[0]) == (True, Goodbye.NONE)


@pytest.mark.parametrize("error", [15, 16, 22, 25, 30, 82])
def test_an_answer_that_ends_the_membership_or_loses_the_coordinator_ends_the_debt(error: int) -> None:
    story = Story().member()
    story.beat(error=error)

    assert _followed(_closed(story)).clean_close()[0] is Goodbye.NONE


@pytest.mark.parametrize("error", [14, 27])
def test_after_another_answer_it_owes_a_leave(error: int) -> None:
    story = Story().member()
    story.beat(error=error)

    assert _followed(_closed(story)).clean_close()[0] is Goodbye.UNCLEAN


def test_a_member_that_was_let_in_again_owes_a_leave_again() -> None:
    story = Story().member()
    story.beat(error=25)
    story.member(member="m0-2")

    assert _followed(_closed(story)).clean_close()[0] is Goodbye.UNCLEAN


def test_an_answer_to_an_older_membership_ends_no_newer_one() -> None:
    story = Story().member()
    late = story.request(Api.HEARTBEAT, member=ID, generation=1)
    story.member(member="m0-2")
    story.answer(late, error=25)

    assert _followed(_closed(story)).clean_close()[0] is Goodbye.UNCLEAN


@pytest.mark.parametrize(("error", "goodbye"), [(110, Goodbye.NONE), (81, Goodbye.NONE), (14, Goodbye.UNCLEAN), (29, Goodbye.UNCLEAN)])
def test_a_fatal_answer_ends_the_membership_of_kip_848_as_in_a_case(error: int, goodbye: Goodbye) -> None:
    """Decision 32."""
    story = EpochStory().settled()
    story.hb(1, error=error)

    assert _followed(_closed(story)).clean_close()[0] is goodbye


def test_a_refused_commit_ends_no_membership_of_kip_848() -> None:
    story = EpochStory().settled()
    story.commit(("t", 0, 1), error=25)

    assert _followed(_closed(story)).clean_close()[0] is Goodbye.UNCLEAN


def test_a_fenced_member_whose_new_join_is_refused_owes_nothing() -> None:
    story = EpochStory().settled()
    story.hb(1, error=110)
    story.hb(0, error=81)

    assert _followed(_closed(story)).clean_close()[0] is Goodbye.NONE


def test_a_heartbeat_that_crosses_the_leave_changes_nothing() -> None:
    story = Story().member()
    story.leave()
    story.beat(error=25)

    assert _followed(_closed(story)).clean_close()[0] is Goodbye.CLEAN


def test_a_member_that_speaks_on_another_connection_has_not_gone() -> None:
    story = Story().member()
    story.request(Api.HEARTBEAT, connection=2)

    assert _followed(_closed(story, connection=1)).clean_close()[0] is Goodbye.NONE
    assert _followed(_closed(story, connection=2)).clean_close()[0] is Goodbye.UNCLEAN


def test_a_connection_whose_number_comes_again_can_close_again() -> None:
    story = _closed(Story().member())
    story.request(Api.HEARTBEAT)
    assert _followed(story).clean_close()[0] is Goodbye.NONE

    assert _followed(_closed(story)).clean_close()[0] is Goodbye.UNCLEAN
