from __future__ import annotations

from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.rules.consumer.classic_requests import CLASSIC_REQUESTS, LIVE
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState
from groupproof.protocol.vocabulary import ErrorCode


def test_an_empty_consumer_group_has_no_classic_member() -> None:
    for kind in (ClassicEvent.SYNC_GROUP, ClassicEvent.HEARTBEAT):
        assert [row.answer for row in CLASSIC_REQUESTS[kind][ConsumerState.EMPTY]] == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_the_member_is_checked_before_the_epoch_and_the_epoch_before_the_rebalance() -> None:
    for kind, last in ((ClassicEvent.SYNC_GROUP, "joins-first"), (ClassicEvent.HEARTBEAT, "joins-again")):
        names = [row.name for row in CLASSIC_REQUESTS[kind][ConsumerState.STABLE]]
        assert [names.index(name) for name in ("instance-unknown", "instance-fenced", "no-classic-member", "other-epoch")] == [0, 1, 2, 3]
        assert names.index("other-epoch") < names.index(last)


def test_the_policy_is_looked_at_first_in_a_join_and_the_subscription_last() -> None:
    names = [row.name for row in CLASSIC_REQUESTS[ClassicEvent.JOIN_GROUP][ConsumerState.STABLE]]

    assert names[:4] == ["classic-off", "group-full", "protocols-unfit", "member-id-needed"]
    assert names[-2:] == ["unreadable", "joins"]


def test_a_stranger_is_refused_before_the_version_is_looked_at() -> None:
    names = [row.name for row in CLASSIC_REQUESTS[ClassicEvent.OFFSET_COMMIT][ConsumerState.STABLE]]

    assert names.index("stranger") < names.index("old-version") < names.index("epoch-newer")


def test_a_group_with_members_is_not_deleted() -> None:
    assert {CLASSIC_REQUESTS[ClassicEvent.DELETE_GROUPS][state][0].answer for state in LIVE} == {ErrorCode.NON_EMPTY_GROUP}
    assert CLASSIC_REQUESTS[ClassicEvent.DELETE_GROUPS][ConsumerState.EMPTY][0].then is ConsumerState.DEAD
