"""The invariants of a consumer group, on drawn histories of the reference and with bugs planted in it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.coordinator.machine.consumer.test_consumer_histories import BUGS
from tests.epoch_traces import EpochStory
from tests.harness.judging.consumer_traces import trace_of
from tests.traces import Story, findings

from groupproof.harness.judging.checkers.checker import findings_of
from groupproof.harness.judging.checkers.consumer.consumer_invariants import ConsumerGroupInvariants
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Api

SEEDS = range(8)
STEPS = 90
T0 = ("t", 0)


def _broken(trace: Trace) -> set[str]:
    return {finding.requirement for finding in findings_of(ConsumerGroupInvariants(), trace)}


@pytest.mark.parametrize("profile", ["kafka-4.0", "kafka-4.1", "kafka-4.2", "kafka-4.3", "kafka-4.4"])
@pytest.mark.slow
def test_the_reference_breaks_none(profile: str) -> None:
    traces = [trace_of(profile, seed, STEPS) for seed in SEEDS]

    assert [_broken(trace) for trace in traces] == [set()] * len(SEEDS)
    assert sum(obs.kind == "response" and obs.api == Api.CONSUMER_GROUP_HEARTBEAT.title for trace in traces for obs in trace) > 500


@pytest.mark.slow
@pytest.mark.parametrize(("bug", "requirement"), [
    ("gives what another owns", "CGI-10"),
    ("frees partitions with the order to revoke", "CGI-10"),
    ("lets an epoch go back", "CGI-03"),
])  # fmt: skip
def test_a_planted_bug_of_the_coordinator_is_seen_in_its_frames(bug: str, requirement: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, name, planted = BUGS[bug]
    monkeypatch.setattr(place, name, planted)

    assert requirement in set().union(*(_broken(trace_of("kafka-4.4", seed, STEPS)) for seed in range(40)))


def _beat(
    story: Story, member: str, epoch: int, *, gets: int, owns: tuple[Any, ...] | None = None, target: tuple[Any, ...] | None = None, error: int = 0
) -> None:
    body = {"topic_partitions": None if owns is None else ()}
    request = story.request(Api.CONSUMER_GROUP_HEARTBEAT, member, member=member, member_epoch=epoch, body=body, partitions=owns or ())
    answer: dict[str, Any] = {"assignment": None if target is None else {}}
    story.answer(request, error=error, member_epoch=None if error else gets, body=answer, partitions=target or ())


def test_a_member_that_was_removed_meanwhile_held_nothing_any_more() -> None:
    story = Story()
    _beat(story, "a", 0, gets=1, owns=(), target=(T0,))
    _beat(story, "b", 0, gets=2, owns=(), target=(T0,))
    _beat(story, "a", 1, gets=0, error=25)

    assert findings(ConsumerGroupInvariants, story) == []


def test_what_a_member_released_in_its_request_is_free_before_it_is_answered() -> None:
    story = Story()
    _beat(story, "a", 0, gets=1, owns=(), target=(T0,))
    _beat(story, "a", 1, gets=1, target=())
    released = story.request(Api.CONSUMER_GROUP_HEARTBEAT, "a", member="a", member_epoch=1, body={"topic_partitions": ()}, connection=2)
    _beat(story, "b", 0, gets=2, owns=(), target=(T0,))
    story.answer(released, member_epoch=2, body={"assignment": None})
    _beat(story, "a", 2, gets=2)

    assert findings(ConsumerGroupInvariants, story) == []


def test_two_owners_are_reported_when_the_first_is_answered_as_a_member_again() -> None:
    story = Story()
    _beat(story, "a", 0, gets=1, owns=(), target=(T0,))
    _beat(story, "b", 0, gets=1, owns=(), target=(T0,))
    assert findings(ConsumerGroupInvariants, story) == []
    _beat(story, "a", 1, gets=1)

    (finding,) = findings(ConsumerGroupInvariants, story)
    assert (finding.requirement, finding.seq) == ("CGI-10", 3)


def _group(epoch: int = 2, target: int = 2, state: str = "Stable", **members: tuple[int, tuple[int, ...], tuple[int, ...]]) -> dict[str, Any]:
    """Return a description; members are their epochs, what they have, and what they are to have."""

    def assignment(indexes: tuple[int, ...]) -> dict[str, Any]:
        return {"topic_partitions": [{"topic_id": "id", "topic_name": "t", "partitions": list(indexes)}] if indexes else []}

    described = [
        {"member_id": name, "member_epoch": own, "assignment": assignment(has), "target_assignment": assignment(due)}
        for name, (own, has, due) in members.items()
    ]
    return {"group_id": "g", "error_code": 0, "group_state": state, "group_epoch": epoch, "assignment_epoch": target, "members": described}


def _described(*groups: dict[str, Any]) -> list[str]:
    story = Story()
    for group in groups:
        story.answer(story.request(Api.CONSUMER_GROUP_DESCRIBE, "admin"), body={"groups": [group]})
    return [finding.requirement for finding in findings(ConsumerGroupInvariants, story)]


A, B = (2, (0,), (0,)), (2, (1,), (1,))


@pytest.mark.parametrize(("groups", "requirements"), [
    ([_group(a=A, b=B)], []),
    ([_group(target=3, a=(3, (0,), (0,)))], ["CGI-05"]),
    ([_group(state="Reconciling", a=A, b=(1, (), (0, 1)))], ["CGI-11"]),
    ([_group(a=A, b=(1, (1,), (1,)))], ["CGI-12"]),
    ([_group(a=A, b=(2, (), (1,)))], ["CGI-12"]),
    ([_group(state="Reconciling", a=A, b=(1, (), (1,)))], []),
    ([_group(epoch=4, a=A), _group(epoch=3, a=A)], ["CGI-04"]),
    ([_group(epoch=4, a=A), _group(epoch=3, b=B)], []),
    ([_group(epoch=4, a=A), {"group_id": "g", "error_code": 69}, _group(epoch=3, a=A)], []),
])  # fmt: skip
def test_a_description_is_true_to_itself(groups: list[dict[str, Any]], requirements: list[str]) -> None:
    assert _described(*groups) == requirements


def test_a_member_that_joins_again_by_its_id_may_be_in_a_group_that_was_created_again() -> None:
    story = EpochStory()
    story.hb(0, member="a", gets=4)
    story.answer(story.request(Api.CONSUMER_GROUP_DESCRIBE, "admin"), body={"groups": [_group(epoch=4, target=4, a=(4, (0,), (0,)))]})
    story.hb(-1, member="a")
    story.hb(0, member="a", gets=1)
    story.answer(story.request(Api.CONSUMER_GROUP_DESCRIBE, "admin"), body={"groups": [_group(epoch=1, target=1, a=(1, (0,), (0,)))]})

    assert findings(ConsumerGroupInvariants, story) == []
