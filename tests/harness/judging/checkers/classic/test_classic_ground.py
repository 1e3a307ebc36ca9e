"""Which answers a member, an administrator or a tool without the tap can explain in a classic group."""

from __future__ import annotations

from typing import Any

import pytest
from tests.traces import ID, Story

from groupproof.harness.judging.checkers.classic.classic_ground import may_be_of_unobserved_member
from groupproof.harness.judging.checkers.dialect_checkers import UnexpectedAnswer
from groupproof.harness.judging.oracle.answer_diff import Difference
from groupproof.protocol.vocabulary import Api


def explained(api: Api, *fields: tuple[str, Any, Any], member: str = ID, instance: str | None = None, **more: Any) -> bool:
    request = Story().request(api, member=member, generation=1, instance=instance)
    differences = [Difference(path=field, field=field, expected=expected, observed=observed) for field, expected, observed in fields]
    return may_be_of_unobserved_member(UnexpectedAnswer(request=request, code=more.pop("code", 0), differences=differences, **more))


@pytest.mark.parametrize("api", [Api.HEARTBEAT, Api.SYNC_GROUP, Api.OFFSET_COMMIT])
@pytest.mark.parametrize("code", [22, 25, 27])
def test_a_member_is_removed_or_outdated_by_others(api: Api, code: int) -> None:
    assert explained(api, ("error_code", 0, code))


@pytest.mark.parametrize("expected", [25, 16])
@pytest.mark.parametrize("observed", [0, 22])
def test_nobody_makes_a_member_of_a_stranger_or_another_code_of_a_refusal(expected: int, observed: int) -> None:
    assert not explained(Api.HEARTBEAT, ("error_code", expected, observed))


def test_nobody_ends_a_rebalance_that_members_behind_the_tap_have_not_joined() -> None:
    assert not explained(Api.HEARTBEAT, ("error_code", 27, 0))
    assert not explained(Api.OFFSET_COMMIT, ("error_code", 22, 0))


def test_a_static_member_is_fenced_and_no_other() -> None:
    assert explained(Api.HEARTBEAT, ("error_code", 0, 82), instance="i")
    assert not explained(Api.HEARTBEAT, ("error_code", 0, 82))


def test_a_join_is_refused_for_others_but_a_first_one_names_nobody() -> None:
    assert explained(Api.JOIN_GROUP, ("error_code", 0, 25), ("generation_id", 1, -1))
    assert explained(Api.JOIN_GROUP, ("error_code", 79, 81), member="")
    assert not explained(Api.JOIN_GROUP, ("error_code", 79, 25), member="")
    assert not explained(Api.JOIN_GROUP, ("error_code", 0, 27))


def test_a_generation_is_newer_by_others_and_never_older() -> None:
    assert explained(Api.JOIN_GROUP, ("generation_id", 2, 4))
    assert not explained(Api.JOIN_GROUP, ("generation_id", 2, 1))
    assert not explained(Api.JOIN_GROUP, ("protocol_name", "range", "sticky"))


def test_a_leader_may_come_from_elsewhere_but_no_member_of_the_trace_leads_instead_of_another() -> None:
    assert explained(Api.JOIN_GROUP, ("leader", ID, "a-stranger"), ids=(ID,))
    assert not explained(Api.JOIN_GROUP, ("leader", ID, "b"), ids=(ID, "b"))
    assert not explained(Api.JOIN_GROUP, ("leader", ID, ""), ids=(ID,))


def test_offsets_and_descriptions_are_changed_by_others() -> None:
    assert explained(Api.OFFSET_FETCH, ("committed_offset", 20, 0), ("metadata", "", "tool"))
    assert explained(Api.OFFSET_FETCH, ("error_code", 0, 88))
    assert not explained(Api.OFFSET_FETCH, ("error_code", 0, 25))
    assert explained(Api.DESCRIBE_GROUPS, ("group_state", "Empty", "Stable"))
    assert not explained(Api.DESCRIBE_GROUPS, ("group_state", "Empty", "Stable"), ("client_id", "a", "b"))
    assert not explained(Api.SYNC_GROUP, ("assignment", b"a", b"b"))


def test_a_parked_request_is_answered_early_when_the_group_need_not_wait_any_longer() -> None:
    assert explained(Api.JOIN_GROUP, is_early=True, waits_for_others=True)
    assert not explained(Api.JOIN_GROUP, is_early=True)
    assert explained(Api.JOIN_GROUP, is_early=True, code=25)
    assert explained(Api.SYNC_GROUP, is_early=True, code=27)
    assert not explained(Api.SYNC_GROUP, is_early=True)
