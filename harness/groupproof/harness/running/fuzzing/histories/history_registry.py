"""Which histories are drawn for a profile: those of the dialects that it speaks. A dialect's part is registered here."""

from __future__ import annotations

from typing import Final

from groupproof.harness.model.dialect_parts import PartRegistry
from groupproof.harness.running.fuzzing.histories.dialect_histories import DialectHistories
from groupproof.harness.running.fuzzing.histories.malformed import malformed_request
from groupproof.harness.running.fuzzing.histories.moves import MOVES
from groupproof.protocol.rules import profile
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC

__all__ = ["HISTORIES", "histories_on"]

CLASSIC_HISTORIES: Final = DialectHistories(dialect=CLASSIC, moves=MOVES, wild=malformed_request)
HISTORIES: Final = PartRegistry(DialectHistories, CLASSIC_HISTORIES)


def histories_on(profile_name: str) -> tuple[DialectHistories, ...]:
    """Return the parts of the profile's dialects; of a relative that speaks none of them, the classic part, whose requests it has."""
    spoken = profile(profile_name).dialects
    return tuple(part for part in HISTORIES.all() if part.dialect in spoken) or (CLASSIC_HISTORIES,)
