from __future__ import annotations

import pytest

from groupproof.harness.subjects.tap import groups_in_frames as insight_module
from groupproof.harness.subjects.tap.groups_in_frames import Insight
from groupproof.protocol.vocabulary import Api


def test_a_join_answer_tells_generation_and_leader() -> None:
    insight = Insight()
    insight.follow(Api.JOIN_GROUP, "g", {"error_code": 0, "generation_id": 3, "leader": "a"})

    assert insight.generation("g") == 3
    assert [insight.role("g", member) for member in ("a", "b", "", None)] == ["leader", "follower", None, None]


@pytest.mark.parametrize(
    ("api", "group", "body"),
    [
        (Api.JOIN_GROUP, "g", {"error_code": 79, "generation_id": -1, "leader": ""}),
        (Api.HEARTBEAT, "g", {"error_code": 0}),
        (Api.JOIN_GROUP, None, {"error_code": 0, "generation_id": 1, "leader": "a"}),
    ],
)
def test_other_answers_tell_nothing(api: Api, group: str | None, body: dict[str, object]) -> None:
    insight = Insight()
    insight.follow(api, group, body)

    assert insight.generation("g") is None
    assert insight.role("g", "a") is None


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(insight_module, "GROUPS_MAX", 2)
    insight = Insight()
    for group in ("g1", "g2", "g1", "g3"):
        insight.follow(Api.JOIN_GROUP, group, {"error_code": 0, "generation_id": 1, "leader": "a"})

    assert [insight.generation(group) for group in ("g1", "g2", "g3")] == [1, None, 1]


def test_the_state_is_what_the_members_were_told_last() -> None:
    insight = Insight()
    told: list[str | None] = [insight.state("g")]
    insight.asked(Api.HEARTBEAT, "g")
    told.append(insight.state("g"))
    insight.asked(Api.JOIN_GROUP, "g")
    told.append(insight.state("g"))
    for api, body in (
        (Api.JOIN_GROUP, {"error_code": 0, "generation_id": 1, "leader": "a"}),
        (Api.SYNC_GROUP, {"error_code": 27}),
        (Api.SYNC_GROUP, {"error_code": 0}),
        (Api.HEARTBEAT, {"error_code": 0}),
        (Api.OFFSET_COMMIT, {"error_code": 27}),
    ):
        insight.follow(api, "g", body)
        told.append(insight.state("g"))

    between, done = "PreparingRebalance", "Stable"
    assert told == [None, None, between, "CompletingRebalance", between, done, done, between]
    assert insight.generation("g") == 1


def test_who_only_joins_has_no_role_yet() -> None:
    insight = Insight()
    insight.asked(Api.JOIN_GROUP, "g")

    assert insight.role("g", "a") is None
