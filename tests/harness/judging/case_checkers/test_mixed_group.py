from __future__ import annotations

import base64

import pytest
from tests.traces import ID, Story, verdict

from groupproof.harness.judging.case_checkers.mixed_group import assigns_nothing
from groupproof.harness.model.evidence import NotReached
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.vocabulary import Api, ErrorCode

JUDGE = assigns_nothing("m0", after="newcomer")


def joined(leader: str = "") -> Story:
    story = Story().mark("newcomer")
    story.join(member=ID, leader=leader)
    return story


def test_a_member_that_gets_no_leader_syncs_and_assigns_nothing() -> None:
    story = joined()
    story.sync(gets=[("t", 0)])

    assert verdict(JUDGE, story.end()) is Verdict.OK


def test_a_leader_that_assigns_although_it_should_not_treats_the_list_as_an_order() -> None:
    story = joined()
    story.sync(assigns={ID: [("t", 0)]})

    assert verdict(JUDGE, story.end()) is Verdict.FAILED


def test_a_member_that_waits_for_a_leader_waits_for_ever() -> None:
    story = joined()
    story.exchange(Api.HEARTBEAT, member=ID)

    assert verdict(JUDGE, story.end()) is Verdict.FAILED


def test_a_classic_group_is_none_of_both_protocols() -> None:
    with pytest.raises(NotReached):
        verdict(JUDGE, joined(leader=ID).end())


@pytest.mark.parametrize(("metadata", "expected"), [("AAEAAAABAAF0/////w==", Verdict.FAILED), ("AAAAAAABAAF0/////w==", None)])
def test_a_member_that_is_refused_for_a_subscription_that_ends_early_has_failed_by_it(metadata: str, expected: Verdict | None) -> None:
    """Version 1 has owned partitions, version 0 has none: that one is refused for another reason."""
    story = Story().mark("newcomer")
    story.join(member=ID, error=ErrorCode.UNKNOWN_SERVER_ERROR).body["protocols"][0]["metadata"] = base64.b64decode(metadata)

    if expected is None:
        with pytest.raises(NotReached, match="let into no group"):
            verdict(JUDGE, story.end())
    else:
        assert verdict(JUDGE, story.end()) is expected
