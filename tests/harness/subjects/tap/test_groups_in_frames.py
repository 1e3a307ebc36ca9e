from __future__ import annotations

import pytest
from tests.harness.running.virtual import played

from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.checkers.tracking.group_tracker import GroupTracker
from groupproof.harness.model.case import Case
from groupproof.harness.subjects.tap import groups_in_frames
from groupproof.harness.subjects.tap.groups_in_frames import GroupsInFrames
from groupproof.protocol.vocabulary import Api, api_named

SOME = {"rebalance/classic/topic-grows", "cooperative/classic/hand-over", "static/classic/fenced-heartbeat", "move/classic/idle-state-lost"}


def test_a_join_answer_tells_generation_and_leader() -> None:
    tracker = GroupsInFrames()
    tracker.follow(Api.JOIN_GROUP, "g", {"error_code": 0, "generation_id": 3, "leader": "a"})

    assert tracker.generation("g") == 3
    assert [tracker.role("g", member) for member in ("a", "b", "", None)] == ["leader", "follower", None, None]


@pytest.mark.parametrize(
    ("api", "group", "body"),
    [
        (Api.JOIN_GROUP, "g", {"error_code": 79, "generation_id": -1, "leader": ""}),
        (Api.HEARTBEAT, "g", {"error_code": 0}),
        (Api.JOIN_GROUP, None, {"error_code": 0, "generation_id": 1, "leader": "a"}),
    ],
)
def test_other_answers_tell_nothing(api: Api, group: str | None, body: dict[str, object]) -> None:
    tracker = GroupsInFrames()
    tracker.follow(api, group, body)

    assert tracker.generation("g") is None
    assert tracker.role("g", "a") is None


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups_in_frames, "GROUPS_MAX", 2)
    tracker = GroupsInFrames()
    for group in ("g1", "g2", "g1", "g3"):
        tracker.follow(Api.JOIN_GROUP, group, {"error_code": 0, "generation_id": 1, "leader": "a"})

    assert [tracker.generation(group) for group in ("g1", "g2", "g3")] == [1, None, 1]


def test_the_state_is_the_last_one_in_the_members_answers() -> None:
    tracker = GroupsInFrames()
    lines: list[str | None] = [tracker.state("g")]
    tracker.asked(Api.HEARTBEAT, "g")
    lines.append(tracker.state("g"))
    tracker.asked(Api.JOIN_GROUP, "g")
    lines.append(tracker.state("g"))
    for api, body in (
        (Api.JOIN_GROUP, {"error_code": 0, "generation_id": 1, "leader": "a"}),
        (Api.SYNC_GROUP, {"error_code": 27}),
        (Api.SYNC_GROUP, {"error_code": 0}),
        (Api.HEARTBEAT, {"error_code": 0}),
        (Api.OFFSET_COMMIT, {"error_code": 27}),
    ):
        tracker.follow(api, "g", body)
        lines.append(tracker.state("g"))

    between, done = "PreparingRebalance", "Stable"
    assert lines == [None, None, between, "CompletingRebalance", between, done, done, between]
    assert tracker.generation("g") == 1


def test_a_member_that_only_joins_has_no_role_yet() -> None:
    tracker = GroupsInFrames()
    tracker.asked(Api.JOIN_GROUP, "g")

    assert tracker.role("g", "a") is None


@pytest.mark.parametrize("case", [case for case in CASES if case.id in SOME], ids=lambda case: case.id)
def test_frames_tell_the_tap_what_they_tell_the_tracker_of_the_checkers(case: Case) -> None:
    tap, tracker, generations = GroupsInFrames(), GroupTracker(), set[int]()
    for obs in played(case).trace:
        tracker.follow(obs)
        if obs.kind == "request" and obs.api is not None:
            tap.asked(api_named(obs.api), obs.group)
        if obs.kind == "response" and obs.api is not None:
            tap.follow(api_named(obs.api), obs.group, {**obs.body, "error_code": obs.error})
        if obs.kind != "response" or obs.api != Api.JOIN_GROUP.title or obs.error:
            continue
        generations.add(tracker.generation)
        mine = tracker.members[obs.client or ""]
        assert tap.generation(obs.group) == tracker.generation == mine.generation
        assert tap.role(obs.group, obs.member) == ("leader" if mine.is_leader else "follower")

    assert generations


def test_a_group_with_epochs_reconciles_from_an_assignment_on() -> None:
    groups = GroupsInFrames()
    groups.follow(Api.CONSUMER_GROUP_HEARTBEAT, "g", {"error_code": 0, "member_epoch": 3, "assignment": {"topic_partitions": ()}})
    assert (groups.generation("g"), groups.state("g"), groups.role("g", "a")) == (3, "Reconciling", None)

    groups.follow(Api.CONSUMER_GROUP_HEARTBEAT, "g", {"error_code": 0, "member_epoch": 3, "assignment": None})
    groups.follow(Api.CONSUMER_GROUP_HEARTBEAT, "g", {"error_code": 110, "member_epoch": 0, "assignment": None})
    groups.follow(Api.CONSUMER_GROUP_HEARTBEAT, "g", {"error_code": 0, "member_epoch": -1, "assignment": None})
    assert (groups.generation("g"), groups.state("g")) == (3, "Stable")
