"""How the frames of a dialect become memberships: the part that a dialect brings for the tracker of groups. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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


def _is_always(ledger: MemberLedger, steady: Steady) -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FrameReader(DialectPart):
    """Reads frames: `asked` and `answered` write into the ledger what a frame of a client says.

    `apis` are the titles of the requests that members of this dialect alone send: who sends one speaks it from then on, and the frames that members of
    any dialect send (commits) are read by it too. `membership` are the requests that name a member, `naming` those of them whose answers give the member
    its id. `is_join` and `is_leave` look at a request, `brings_id` too: it tells whether the client chose the id itself. With `is_incremental` a callback
    names the partitions that are new or gone, not all.

    `steady` are the requests that change nothing of a member's when they are answered without error, each with the fields of its body by which it may change
    something all the same; `by_epoch` are those of them that name a member epoch, not a generation, and whose answers may assign. `is_steady` tells whether a member
    stands so that they change nothing but what `absorb` writes of many at once.
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
    steady: Mapping[str, frozenset[str]] = field(default_factory=dict)
    by_epoch: frozenset[str] = frozenset()
    is_steady: Callable[[MemberLedger, Steady], bool] = _is_always
    absorb: Callable[[MemberLedger, Steady], None] = _keeps_nothing
