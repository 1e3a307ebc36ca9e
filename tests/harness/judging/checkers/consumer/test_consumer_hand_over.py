"""Acknowledgements and callbacks: a partition that an application still has is not given up."""

from __future__ import annotations

import pytest
from tests.epoch_traces import BOTH, EpochStory
from tests.traces import findings

from groupproof.harness.judging.checkers.consumer.consumer_hand_over import CallbacksEndBeforeAcknowledgements

T0, T1 = BOTH
LONG_AFTER_MS = 60_000


def _ordered() -> EpochStory:
    """Tell how a member that has both partitions is to give the second one up."""
    story = EpochStory()
    story.kit("command", "m0", command="subscribe")
    story.settled()
    story.hb(1, gives=(T0,))
    return story


def _blamed(story: EpochStory) -> list[str]:
    story.at(LONG_AFTER_MS).hb(1)
    return [finding.observed for finding in findings(CallbacksEndBeforeAcknowledgements, story)]


@pytest.mark.requirement("CGT-06")
def test_a_member_that_calls_back_first_and_then_acknowledges_is_not_blamed() -> None:
    story = _ordered()
    story.partitions("revoked", T1)
    story.tell("callback_done")
    story.hb(1, gets=2, owns=(T0,))

    assert _blamed(story) == []


@pytest.mark.requirement("CGT-06")
def test_a_member_that_acknowledges_while_the_application_is_in_its_callback_is_blamed() -> None:
    story = _ordered()
    story.at(10_000).partitions("revoked", T1)
    story.hb(1, gets=2, owns=(T0,))
    story.at(12_000).tell("callback_done")

    assert _blamed(story) == ["The acknowledgement came before the callback had ended."]


def test_a_member_that_calls_back_after_its_acknowledgement_is_blamed() -> None:
    story = _ordered()
    story.at(10_000).hb(1, gets=2, owns=(T0,))
    story.at(13_000).partitions("revoked", T1)
    story.tell("callback_done")

    assert _blamed(story) == ["The acknowledgement came before the callback had ended."]


def test_a_member_that_is_killed_and_started_again_has_nothing_to_give_up() -> None:
    story = _ordered()
    story.at(10_000).kit("kill", "m0")
    story.kit("command", "m0", command="subscribe")
    story.at(12_000).hb(0, gets=2, gives=(), member="another")
    story.at(13_000).hb(2, owns=(), member="another")
    story.at(18_000).hb(2, gives=BOTH, member="another")
    story.partitions("assigned", *BOTH)
    story.tell("callback_done")

    assert _blamed(story) == []


def test_a_line_that_is_a_little_late_proves_nothing() -> None:
    story = _ordered()
    story.hb(1, gets=2, owns=(T0,))
    story.partitions("revoked", T1)
    story.tell("callback_done")

    assert _blamed(story) == []


def test_a_member_that_never_calls_back_is_blamed() -> None:
    story = _ordered()
    story.hb(1, gets=2, owns=(T0,))

    assert _blamed(story) == ["The application was never told that partitions go."]


@pytest.mark.parametrize("how", ["closed", "joins anew", "leaves", "says nothing", "is not driven"])
def test_what_is_no_acknowledgement_is_not_judged(how: str) -> None:
    story = EpochStory() if how == "is not driven" else _ordered()
    if how == "is not driven":
        story.settled()
        story.hb(1, owns=(T0,))
    elif how == "joins anew":
        story.hb(0, gets=2, gives=BOTH)
    elif how == "leaves":
        story.hb(-1, gets=-1, owns=())
    elif how == "says nothing":
        story.hb(1)
    else:
        story.hb(1, owns=(T0,))
        story.tell("shutdown_complete")

    assert _blamed(story) == []


def test_a_member_that_has_not_listed_its_partitions_yet_gives_none_up() -> None:
    """krafka's heartbeat is on its way, with an empty list, while its application is told of the first assignment."""
    story = EpochStory()
    story.kit("command", "m0", command="subscribe")
    story.hb(0, gets=1, gives=BOTH)
    story.partitions("assigned", *BOTH)
    story.hb(1, owns=())
    story.tell("callback_done")
    story.hb(1, owns=BOTH)

    assert not _blamed(story)


@pytest.mark.parametrize(("capabilities", "count"), [(["consumer"], 0), (["consumer", "on-revoked"], 1), ([], 1)])
def test_a_member_that_has_no_callback_is_not_blamed_for_calling_none(capabilities: list[str], count: int) -> None:
    story = EpochStory()
    story.kit("hello", "m0", capabilities=capabilities)
    story.kit("command", "m0", command="subscribe")
    story.settled()
    story.hb(1, gives=(T0,))
    story.hb(1, gets=2, owns=(T0,))

    assert len(_blamed(story)) == count
