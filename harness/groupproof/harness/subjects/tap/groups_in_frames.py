"""The state of groups by the passing frames: generation, leader and state, for the faults that select by them. Pure and bounded.

The state is that of the responses, so it is a little later than the coordinator's own. A group of KIP-848's protocol reconciles from a response
with an assignment to one without. Its generation is the epoch in its last response.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState

__all__ = ["GROUPS_MAX", "GroupsInFrames"]

GROUPS_MAX: Final = 10_000
"""The maximum number of groups. The oldest is dropped first."""

_PREPARING = GroupState.PREPARING_REBALANCE.value
_BEARS: Final = frozenset({Api.HEARTBEAT, Api.SYNC_GROUP, Api.OFFSET_COMMIT})


@dataclass(slots=True)
class _GroupView:
    state: str
    generation: int | None = None
    leader: str | None = None


class GroupsInFrames:
    """The last generation of each group, and its state, as far as frames show them."""

    def __init__(self) -> None:
        self._groups: dict[str, _GroupView] = {}

    def asked(self, api: Api, group: str | None) -> None:
        """Record that a member sent a request about `group`. A join begins a rebalance."""
        if api is Api.JOIN_GROUP and group is not None:
            self._view_of(group).state = _PREPARING

    def follow(self, api: Api, group: str | None, body: Mapping[str, Any]) -> None:
        """Record a response about `group`."""
        if group is None:
            return
        error = body.get("error_code")
        if api is Api.JOIN_GROUP and not error:
            view = self._groups[group] = self._groups.pop(group, _GroupView(_PREPARING))
            view.generation, view.leader, view.state = body["generation_id"], body["leader"], GroupState.COMPLETING_REBALANCE.value
            self._forget()
        elif api is Api.CONSUMER_GROUP_HEARTBEAT and not error and body["member_epoch"] > 0:
            group_view = self._groups[group] = self._groups.pop(group, _GroupView(_PREPARING))
            group_view.generation, group_view.leader = body["member_epoch"], None
            group_view.state = (ConsumerState.STABLE if body["assignment"] is None else ConsumerState.RECONCILING).value
            self._forget()
        elif group not in self._groups:
            return
        elif error == ErrorCode.REBALANCE_IN_PROGRESS and api in _BEARS:
            self._groups[group].state = _PREPARING
        elif api is Api.SYNC_GROUP and not error:
            self._groups[group].state = GroupState.STABLE.value

    def generation(self, group: str | None) -> int | None:
        return self._groups[group].generation if group in self._groups else None

    def state(self, group: str | None) -> str | None:
        """Return the last known state of the group, or None."""
        return self._groups[group].state if group in self._groups else None

    def role(self, group: str | None, member: str | None) -> str | None:
        """Return leader or follower. Return None where no generation is known, or no member is named."""
        if group not in self._groups or self._groups[group].leader is None or not member:
            return None
        return "leader" if self._groups[group].leader == member else "follower"

    def _view_of(self, group: str) -> _GroupView:
        view = self._groups.setdefault(group, _GroupView(_PREPARING))
        self._forget()
        return view

    def _forget(self) -> None:
        if len(self._groups) > GROUPS_MAX:
            del self._groups[next(iter(self._groups))]
