from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.epoch_traces import EpochStory

from groupproof.harness.judging.checkers.consumer.consumer_ground import may_be_of_unobserved_member, unmet
from groupproof.harness.judging.checkers.dialect_checkers import UnexpectedAnswer
from groupproof.harness.judging.oracle.answer_diff import Difference

MET: Mapping[str, Any] = {
    "topics": {"t": ["id-of-t", 2]}, "brokers": [[0, "h", 9092]], "group_settings": {"settings": {}},
    "settings": {"group.consumer.session.timeout.ms": "45000", "group.consumer.heartbeat.interval.ms": "5000", "group.consumer.assignors": "uniform,range"},
}  # fmt: skip

UNMET: dict[str, Mapping[str, Any]] = {
    "": {},
    "the tap does not know the cluster's topics": {"topics": None},
    "came or grew meanwhile: t": {"topic_changes": ["u", "t"]},
    "topics that the tap knows nothing of: t": {"topics": {"u": ["id-of-u", 2]}},
    "does not report group.consumer.assignors": {"settings": {name: value for name, value in MET["settings"].items() if "assignors" not in name}},
    "assignors of their own: mine": {"settings": {**MET["settings"], "group.consumer.assignors": "uniform, mine"}},
    "whether it has settings of its own: nobody asked": {"group_settings": None},
    "whether it has settings of its own: refused": {"group_settings": {"settings": None, "untold": "refused"}},
    "it had settings of its own: consumer.session.timeout.ms": {"group_settings": {"settings": {"consumer.session.timeout.ms": "9"}}},
}


@pytest.mark.parametrize("why", UNMET)
def test_what_is_not_known_of_the_brokers_is_the_reason(why: str) -> None:
    reason = unmet(EpochStory().settled().trace, {**MET, **UNMET[why]})

    assert reason.endswith(why)
    assert bool(reason) == bool(why)


def test_a_topic_that_nobody_subscribes_to_changes_nothing_unless_a_pattern_may_match_it() -> None:
    story = EpochStory().settled()
    assert unmet(story.trace, {**MET, "topic_changes": ["u"]}) == ""

    story.hb(1, body={"subscribed_topic_regex": "u.*"})
    assert unmet(story.trace, {**MET, "topic_changes": ["u"]}).endswith("meanwhile: u")


def test_where_the_kit_made_the_brokers_their_settings_are_known() -> None:
    assert unmet(EpochStory().settled().trace, {"topics": MET["topics"], "settings": {}}) == ""


def difference(field: str, expected: Any, observed: Any) -> Difference:
    return Difference(path=field, field=field, expected=expected, observed=observed)


@pytest.mark.parametrize(
    ("differences", "is_theirs"),
    [
        ([], False),
        ([difference("member_epoch", 2, 3)], True),
        ([difference("partitions", [0, 1], [0])], True),
        ([difference("error_code", 0, 81)], True),
        ([difference("error_code", 110, 0)], False),
        ([difference("member_epoch", 2, 3), difference("heartbeat_interval_ms", 5000, 0)], False),
        ([difference("member_id", "a", "b")], False),
        ([difference("error_code", 0, 25), difference("heartbeat_interval_ms", 5000, 0)], True),
        ([difference("error_code", 0, 69)], True),
        ([difference("error_code", 0, 110)], False),
        ([difference("error_code", 25, 0)], False),
    ],
)
def test_a_member_that_nobody_saw_changes_epochs_and_assignments_alone(differences: list[Difference], *, is_theirs: bool) -> None:
    request = EpochStory().hb(1)

    assert may_be_of_unobserved_member(UnexpectedAnswer(request=request, code=None, differences=differences)) is is_theirs


def test_a_join_is_of_no_member_that_an_administrator_removed() -> None:
    answer = UnexpectedAnswer(request=EpochStory().hb(0), code=25, differences=[difference("error_code", 0, 25)])

    assert not may_be_of_unobserved_member(answer)
