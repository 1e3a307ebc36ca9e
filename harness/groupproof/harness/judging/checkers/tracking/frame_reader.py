"""How the frames of a dialect become memberships: the part that a dialect brings for the tracker of groups. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from groupproof.harness.model.dialect_parts import DialectPart

if TYPE_CHECKING:
    from groupproof.harness.judging.checkers.steady import Steady
    from groupproof.harness.judging.checkers.tracking.member_ledger import MemberLedger
    from groupproof.protocol.trace import Observation

__all__ = ["FrameReader"]


def _never(obs: Observation) -> bool:
    return False


def _keeps_nothing(ledger: MemberLedger, steady: Steady) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FrameReader(DialectPart):
    """Reads frames: `asked` and `answered` write into the ledger what a frame of a client says.

    `apis` are the titles of the requests that members of this dialect alone send: who sends one speaks it from then on, and the frames that members of
    any dialect send (commits) are read by it too. `membership` are the requests that name a member, `naming` those of them whose answers give the member
    its id. `is_join` and `is_leave` look at a request, `brings_id` too: it tells whether the client chose the id itself. With `is_incremental` a callback
    names the partitions that are new or gone, not all.

    `steady` are the requests that change nothing of a member's when they are answered without error, but for what `absorb` writes of many at once.
    """

    apis: frozenset[str]
    membership: frozenset[str]
    naming: frozenset[str]
    asked: Callable[[MemberLedger, Observation, str], None]
    answered: Callable[[MemberLedger, Observation, str], None]
    is_join: Callable[[Observation], bool]
    is_leave: Callable[[Observation], bool]
    brings_id: Callable[[Observation], bool] = _never
    is_incremental: bool = False
    steady: frozenset[str] = frozenset()
    absorb: Callable[[MemberLedger, Steady], None] = _keeps_nothing
