"""A variant of the member: a name, a policy, and why it is legal or what it breaks. Also the error for an unknown name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from groupproof.clients.member.policy import Policy

__all__ = ["UnknownVariant", "Variant", "way"]


class UnknownVariant(Exception):
    """No variant has this name. `str()` suggests the nearest ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One deviation from the reference.

    `breaks` are requirement ids, empty for a legal variant. `says` is a sentence about it. `source` names released clients that do so.
    `settings` are fields of `subscribe` that the deviation needs to show (an instance id, an assignor).
    """

    name: str
    says: str
    policy: Policy
    breaks: tuple[str, ...] = ()
    source: str = ""
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def is_legal(self) -> bool:
        return not self.breaks


def way(name: str, says: str, source: str, *, settings: dict[str, Any] | None = None, **policy: Any) -> Variant:
    """Return a legal variant with these policy choices. `source` names the released clients that have them."""
    return Variant(name=name, says=says, policy=Policy(**policy), source=source, settings=settings or {})
