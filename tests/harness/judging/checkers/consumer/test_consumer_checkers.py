from __future__ import annotations

from tests.traces import Story

from groupproof.harness.judging.checkers.checker_registry import checkers_named, checkers_spoken
from groupproof.harness.judging.checkers.consumer.consumer_checkers import CONSUMER_CHECKERS
from groupproof.harness.judging.checkers.consumer.consumer_invariants import ConsumerGroupInvariants
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.vocabulary import Api


def test_the_checkers_are_those_of_whoever_beats_with_epochs() -> None:
    story = Story()
    story.exchange(Api.CONSUMER_GROUP_HEARTBEAT, member="m", member_epoch=0)

    assert checkers_named(CONSUMER.name) is CONSUMER_CHECKERS
    assert [part for part, _ in checkers_spoken(story.trace)] == [CONSUMER_CHECKERS]


def test_each_requirement_is_of_the_catalogue() -> None:
    assert all(by_id(name) for name in (*CONSUMER_CHECKERS.member_requirements, *CONSUMER_CHECKERS.invariant_requirements))


def test_the_coordinator_is_held_to_what_is_true_whoever_is_in_the_group() -> None:
    assert [make().__class__ for make in CONSUMER_CHECKERS.holds_of_coordinators] == [ConsumerGroupInvariants]
    assert "the tap does not know the cluster's topics" in CONSUMER_CHECKERS.unmet(Story().trace, {})
