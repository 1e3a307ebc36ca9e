"""What the answers that pass tell about groups: generation and leader, for the faults that ask for them. Pure and bounded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from groupproof.protocol.vocabulary import Api

__all__ = ["GROUPS_MAX", "Insight"]

GROUPS_MAX: Final = 10_000
"""Of so many groups the leader is kept in mind; the longest known is forgotten first."""


class Insight:
    """The last generation of each group, as far as an answer has told it."""

    def __init__(self) -> None:
        self._groups: dict[str, tuple[int, str]] = {}

    def follow(self, api: Api, group: str | None, body: Mapping[str, Any]) -> None:
        """Note what an answer about `group` says."""
        if api is not Api.JOIN_GROUP or group is None or body.get("error_code"):
            return
        self._groups.pop(group, None)
        self._groups[group] = (body["generation_id"], body["leader"])
        if len(self._groups) > GROUPS_MAX:
            del self._groups[next(iter(self._groups))]

    def generation(self, group: str | None) -> int | None:
        return self._groups[group][0] if group in self._groups else None

    def role(self, group: str | None, member: str | None) -> str | None:
        """Return leader or follower; None where no generation was seen, or no member is named."""
        if group not in self._groups or not member:
            return None
        return "leader" if self._groups[group][1] == member else "follower"
