"""Planted bugs by name: each a small deviation in data, the requirement it breaks, and the released client that had it, where one did."""

from __future__ import annotations

from typing import Final

from groupproof.clients.misbehaviours_of_choices import CHOICES
from groupproof.clients.misbehaviours_of_reactions import REACTIONS
from groupproof.clients.variant import Variant

__all__ = ["MISBEHAVIOURS"]

MISBEHAVIOURS: Final[tuple[Variant, ...]] = (*REACTIONS, *CHOICES)
