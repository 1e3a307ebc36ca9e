"""What a variant is: a name, a policy, and why it is legal or what it breaks; and the error of a name that none has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from groupproof.clients.member.policy import Policy

__all__ = ["UnknownVariant", "Variant", "way"]


class UnknownVariant(Exception):
    """There is no variant of this name; `str()` gives the nearest ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One deviation from the reference.

    `breaks` are requirement ids, empty for a legal variant; `says` is a sentence about it, `source` the released clients that do so.
    `settings` are fields of `subscribe` without which the deviation cannot show (an instance id, an assignor).
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
    """Return a legal variant by the choices of its policy; `source` are the released clients that go this way."""
    return Variant(name=name, says=says, policy=Policy(**policy), source=source, settings=settings or {})
