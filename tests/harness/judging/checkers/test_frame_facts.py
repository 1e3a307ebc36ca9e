"""What one frame says by itself."""

from __future__ import annotations

import pytest
from tests.traces import Story

from groupproof.harness.judging.checkers import frame_facts
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api


def test_an_answer_that_gives_only_an_id_has_no_generation() -> None:
    story = Story()
    asked = story.request(Api.JOIN_GROUP, "m0", member="")
    needed = story.answer(asked, error=79, body={"member_id": "m0-1"})
    joined = story.answer(asked, body={"member_id": "m0-1", "generation_id": 4, "leader": "m0-1", "protocol_name": "range"})

    assert frame_facts.gives(needed)
    assert frame_facts.membership_grant(needed).generation == -1
    assert not frame_facts.membership_grant(needed).is_leader
    assert frame_facts.membership_grant(joined).generation == 4
    assert frame_facts.membership_grant(joined).is_leader


@pytest.mark.parametrize("code", [14, 15, 16, 25, 27])
def test_a_refused_join_gives_nothing(code: int) -> None:
    story = Story()
    asked = story.request(Api.JOIN_GROUP, "m0", member="")

    assert not frame_facts.gives(story.answer(asked, error=code, body={"member_id": "m0-1"}))


def test_a_member_that_asked_just_before_an_answer_was_recorded_may_have_known_it() -> None:
    story = Story()
    early = story.request(Api.HEARTBEAT, "m0")
    asked = story.request(Api.JOIN_GROUP, "m0", member="")
    soon = story.answer(asked, body={"member_id": "m0-1"})
    story.at(early.at_ms + frame_facts.SLACK_MS + 1_000)
    late = story.answer(asked, body={"member_id": "m0-1"})

    assert frame_facts.knew(soon, early)
    assert not frame_facts.knew(late, early)


def test_bytes_that_do_not_parse_assign_and_subscribe_to_nothing() -> None:
    story = Story()
    sync = story.request(Api.SYNC_GROUP, "m0", body={"assignments": [{"member_id": "m0-1", "assignment": b"\xff"}]})
    join = story.request(Api.JOIN_GROUP, "m0", body={"protocols": [{"name": "range", "metadata": b"\xff"}]})
    answer = story.answer(join, body={"members": [{"member_id": "m0-1", "metadata": b"\xff"}]})

    assert frame_facts.assignments_of(sync) == {"m0-1": ()}
    assert frame_facts.subscription_of(join) is None
    assert frame_facts.members_of(answer) == {"m0-1"}, "who is listed is a member, whether its subscription can be read or not"
    assert frame_facts.subscriptions_of(answer) == {}


def test_a_leave_names_its_members_in_either_version() -> None:
    story = Story()
    old = story.request(Api.LEAVE_GROUP, "m0", member="m0-1")
    new = story.request(Api.LEAVE_GROUP, "m0", body={"members": [{"member_id": "a"}, {"member_id": "", "group_instance_id": "i"}]})

    assert frame_facts.left_by(old) == ["m0-1"]
    assert frame_facts.left_by(new) == ["a"]
    assert frame_facts.instance_of(new) is None


@pytest.mark.parametrize(
    ("before", "detail", "is_anew"), [(None, "created", True), (None, "upgraded", False), (None, "downgraded", False), ("Stable", "x", False)]
)
def test_a_group_that_turns_from_one_kind_into_the_other_is_the_same_group(before: str | None, detail: str, *, is_anew: bool) -> None:
    transition = Observation(seq=0, at_ns=0, kind="transition", state_before=before, state_after="Stable", detail=detail)

    assert frame_facts.is_begun_anew(transition) is is_anew


@pytest.mark.parametrize(("capabilities", "lacks"), [(("consumer", "on-revoked"), False), (("consumer",), True), ((), False)])
def test_a_program_that_declares_no_callback_has_none(capabilities: tuple[str, ...], lacks: bool) -> None:
    assert frame_facts.has_no_callbacks(capabilities) is lacks
