"""What a tap cannot judge, and why: it observes only a part, and blames nobody for the rest."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["UnjudgedSide"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnjudgedSide:
    """A group of which one side, its "members" or its "coordinator", is not judged."""

    group: str
    side: str
    why: str

    def __str__(self) -> str:
        return f"the {self.side} of group {self.group!r} {'are' if self.side == 'members' else 'is'} not judged: {self.why}"
