from __future__ import annotations

from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.rules.consumer.classic_requests import CLASSIC_REQUESTS, LIVE
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState
from groupproof.protocol.vocabulary import ErrorCode


def test_classic_members_have_no_place_in_a_consumer_group() -> None:
    for kind in (ClassicEvent.SYNC_GROUP, ClassicEvent.HEARTBEAT):
        assert {row.answer for state in LIVE for row in CLASSIC_REQUESTS[kind][state]} == {ErrorCode.UNKNOWN_MEMBER_ID}


def test_a_stranger_is_refused_before_the_version_is_looked_at() -> None:
    names = [row.name for row in CLASSIC_REQUESTS[ClassicEvent.OFFSET_COMMIT][ConsumerState.STABLE]]

    assert names.index("stranger") < names.index("old-version") < names.index("epoch-newer")


def test_a_group_with_members_is_not_deleted() -> None:
    assert {CLASSIC_REQUESTS[ClassicEvent.DELETE_GROUPS][state][0].answer for state in LIVE} == {ErrorCode.NON_EMPTY_GROUP}
    assert CLASSIC_REQUESTS[ClassicEvent.DELETE_GROUPS][ConsumerState.EMPTY][0].then is ConsumerState.DEAD
