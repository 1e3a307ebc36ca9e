"""Groups that come to rest, and those that do not: drawn histories of the reference, the same with bugs planted in it, and the smallest traces of each rule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from tests.epoch_traces import EpochStory
from tests.harness.judging.consumer_traces import trace_of
from tests.traces import findings

from groupproof.coordinator.machine.consumer.reconciliation import Reconciler
from groupproof.harness.judging.checkers.checker import findings_of
from groupproof.harness.judging.checkers.consumer.consumer_convergence import ROUNDS_MIN, GroupsComeToRest
from groupproof.protocol.trace import Trace
from groupproof.protocol.vocabulary import Api, ErrorCode, TopicPartition

A, B = "a", "b"
T0, T1 = ("t", 0), ("t", 1)
_step = Reconciler.step


def _found(trace: Trace) -> list[str]:
    return [finding.requirement for finding in findings_of(GroupsComeToRest(), trace)]


@pytest.mark.requirement("CGI-13")
@pytest.mark.parametrize("profile", ["kafka-4.0", "kafka-4.1", "kafka-4.2", "kafka-4.3", "kafka-4.4"])
def test_groups_of_the_reference_come_to_rest(profile: str) -> None:
    assert [_found(trace_of(profile, seed, 150)) for seed in range(4)] == [[]] * 4


def _two(story: EpochStory, *, epochs: tuple[int, int], rounds: int = ROUNDS_MIN, owns: Iterable[TopicPartition] | None = None) -> EpochStory:
    """Let two members of one group beat so often, each answered with its epoch."""
    for _ in range(rounds):
        for client, epoch in zip((A, B), epochs, strict=True):
            story.hb(epoch, client, member=client, owns=owns)
    return story


def _joined() -> EpochStory:
    """Tell how `a` has everything, and how `b` comes and `a` is to give one partition up."""
    story = EpochStory()
    story.settled(A, member=A)
    story.hb(0, B, member=B, gets=2, gives=())
    story.hb(1, A, member=A, gives=(T0,))
    return story


@pytest.mark.requirement("CGI-13")
def test_a_member_that_obeyed_and_is_never_moved_on_is_found_once() -> None:
    story = _joined()
    story.hb(1, A, member=A, owns=(T0,))
    story.hb(2, B, member=B, owns=())
    _two(story, epochs=(1, 2), rounds=2 * ROUNDS_MIN)

    (finding,) = findings(GroupsComeToRest, story)
    assert (finding.requirement, finding.detail) == ("CGI-13", "a")


def test_a_member_that_has_not_revoked_delays_the_others() -> None:
    story = _joined()
    story.hb(2, B, member=B, owns=())
    _two(story, epochs=(1, 2), rounds=2 * ROUNDS_MIN)

    assert findings(GroupsComeToRest, story) == []


@pytest.mark.parametrize("disturbance", ["newcomer", "refusal", "subscription", "newer epoch", "fault", "classic", "topics"])
def test_whatever_happens_to_a_group_begins_a_new_count(disturbance: str) -> None:
    story = _joined()
    story.hb(1, A, member=A, owns=(T0,))
    story.hb(2, B, member=B, owns=())
    _two(story, epochs=(1, 2), rounds=ROUNDS_MIN - 2)
    _disturb(story, disturbance)
    _two(story, epochs=(1, 3 if disturbance == "newer epoch" else 2), rounds=ROUNDS_MIN - 2)

    assert findings(GroupsComeToRest, story) == []


def _disturb(story: EpochStory, how: str) -> None:
    if how == "newcomer":
        story.hb(0, "c", member="c", gets=2, gives=())
    elif how == "refusal":
        story.hb(1, "c", member="c", error=ErrorCode.UNKNOWN_MEMBER_ID)
    elif how == "subscription":
        story.hb(2, B, member=B, body={"subscribed_topic_names": ["t", "u"]})
    elif how == "newer epoch":
        story.hb(2, B, member=B, gets=3)
    elif how == "fault":
        story.fault("lost", "triggered")
    elif how == "classic":
        story.exchange(Api.JOIN_GROUP, "k")
    else:
        story.see("event", who="kit", body={"name": "topics", "topics": {"t": 3}})


@pytest.mark.parametrize(("stays", "count"), [(False, 0), (True, 1)])
def test_a_group_that_is_created_again_counts_its_epochs_from_one(stays: bool, count: int) -> None:
    story = EpochStory()
    story.hb(0, A, member=A, gets=50)
    story.hb(50 if stays else -1, A, member=A)
    story.hb(0, B, member=B, gets=1)
    _two(story, epochs=(50, 1)) if stays else [story.hb(1, B, member=B) for _ in range(ROUNDS_MIN)]

    assert [finding.requirement for finding in findings(GroupsComeToRest, story)] == ["CGI-13"] * count


@pytest.mark.parametrize(("joins", "count"), [(False, 0), (True, 1)])
def test_what_a_member_is_to_give_up_is_not_known_where_it_was_there_before(joins: bool, count: int) -> None:
    story = EpochStory()
    if joins:
        story.hb(0, A, member=A, gets=1)
    story.hb(0, B, member=B, gets=2)
    _two(story, epochs=(1, 2), rounds=ROUNDS_MIN + 1)

    assert [finding.requirement for finding in findings(GroupsComeToRest, story)] == ["CGI-13"] * count


def _description(state: str, *members: str) -> dict[str, Any]:
    return {"groups": [{"error_code": 0, "group_state": state, "group_epoch": 2, "members": [{"member_id": name} for name in members]}]}


@pytest.mark.parametrize(("state", "members", "count"), [("Reconciling", (A, B), 1), ("Stable", (A, B), 0), ("Reconciling", (A, B, "silent"), 0)])
def test_a_group_is_not_described_as_reconciling_for_ever(state: str, members: tuple[str, ...], count: int) -> None:
    story = EpochStory()
    story.hb(0, A, member=A, gets=2)
    story.hb(0, B, member=B, gets=2)
    _two(story, epochs=(2, 2))
    story.answer(story.request(Api.CONSUMER_GROUP_DESCRIBE, "admin"), body=_description(state, *members))

    assert [finding.requirement for finding in findings(GroupsComeToRest, story)] == ["CGI-13"] * count


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [{"owned": None}, {"is_owned": lambda topic_id, index: True, "frees_own": False}],
    ids=["no acknowledgement counts", "nothing is ever free"],
)
def test_a_planted_bug_of_the_coordinator_is_seen_in_its_frames(change: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Reconciler, "step", lambda self, member: _step(self._replace(**change), member))

    assert "CGI-13" in {requirement for seed in range(12) for requirement in _found(trace_of("kafka-4.4", seed, 25))}


@pytest.mark.requirement("CGI-04")
def test_a_group_that_was_created_again_has_epochs_of_its_own() -> None:
    story = EpochStory()
    story.hb(0, A, member=A, gets=9)
    story.hb(0, A, member="another", gets=1)
    story.hb(0, B, member=B, gets=1)
    for _ in range(2 * ROUNDS_MIN):
        story.hb(1, A, member="another")
        story.hb(1, B, member=B)

    assert findings(GroupsComeToRest, story) == []
