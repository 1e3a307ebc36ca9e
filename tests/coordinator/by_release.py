"""Situations and what each release answers in them: the cells of "Error tables per API and state" as parameters of a test."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from groupproof.protocol.rules import api_versions, profiles
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState
from groupproof.protocol.wire.messages import LeaveGroupRequest, LeaveGroupResponse, LeaveMember

if TYPE_CHECKING:
    from tests.coordinator.conftest import Asked, Scene

__all__ = ["PARTITION", "Table", "answers", "completing", "dead", "leave", "newest", "outcome_text", "preparing", "situations", "stable"]

PARTITION = 3  # of group g
Table = Mapping[str, tuple[Callable[["Scene"], object], str]]
"""Situation → what is done, and the answers by release: `25 | 2.3 15` is 25 in the oldest profile and those after it, 15 from kafka-2.3 on.

`-` stands where the releases have no such thing.
"""


def situations(table: Table) -> pytest.MarkDecorator:
    """Return the parameters `act` and `expected` of a test of each situation: what is done, and the answers by profile."""
    return pytest.mark.parametrize(("act", "expected"), [pytest.param(act, _by_profile(item), id=name) for name, (act, item) in table.items()])


def answers(act: Callable[[Scene], object], scenes: Mapping[str, Scene]) -> dict[str, str]:
    """Return what each profile's scene comes to."""
    return {profile: outcome_text(act(scene)) for profile, scene in scenes.items()}


def _by_profile(text: str) -> dict[str, str]:
    first, *later = text.split(" | ")
    changes = {"kafka-" + since: answer for since, answer in (name.split(" ", 1) for name in later)}
    assert changes.keys() <= set(profiles()), f"{text}: of no profile"
    by_profile: dict[str, str] = {}
    answer = first
    for profile in profiles():
        answer = changes.get(profile, answer)
        by_profile[profile] = answer
    return {profile: answer for profile, answer in by_profile.items() if answer != "-"}


def outcome_text(outcome: object) -> str:
    """Return an outcome as the tables say it: an error code, `parked`, a state, or a word of the situation's own."""
    if isinstance(outcome, GroupState):
        return outcome.value
    if isinstance(outcome, ErrorCode):
        return str(int(outcome))
    if isinstance(outcome, str | int):
        return str(outcome)
    asked: Any = outcome
    return "parked" if asked.is_parked else str(int(asked.error))


def newest(scene: Scene, api: Api, most: int) -> int:
    """Return the newest version of an API that the scene's release has, and at most `most`."""
    return min(most, api_versions(scene.profile)[api][1])


def stable(scene: Scene, members: int = 2, **join: Any) -> list[str]:
    return scene.stable(members, version=2, **join)


def completing(scene: Scene, members: int = 2, **join: Any) -> list[str]:
    return scene.joined(members, version=2, **join)


def preparing(scene: Scene, members: int = 2, **join: Any) -> list[str]:
    """Let a Stable group's leader join again; the others are awaited."""
    ids = stable(scene, members, **join)
    scene.join(ids[0], version=2)
    return ids


def dead(scene: Scene) -> list[str]:
    ids = stable(scene)
    scene.take(scene.coordinator.retire("g", scene.now_ms))
    return ids


def leave(scene: Scene, member_id: str = "", instance: str | None = None, *more: LeaveMember, group: str = "g") -> Asked[LeaveGroupResponse]:
    entries = (LeaveMember(member_id=member_id, group_instance_id=instance), *more)
    return scene.send(LeaveGroupRequest(group_id=group, members=entries), newest(scene, Api.LEAVE_GROUP, 5), LeaveGroupResponse)
