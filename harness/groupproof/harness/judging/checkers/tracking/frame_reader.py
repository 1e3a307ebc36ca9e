"""Reads the frames of a dialect as memberships: the part that a dialect registers for the group tracker. Pure."""

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
    """Reads frames: `asked` and `answered` write what a client's frame says into the ledger.

    `apis` are the titles of the requests that only members of this dialect send. A client that sends one speaks the dialect from then on, and the
    reader also gets its frames that all dialects share (commits). `membership` are the requests that name a member. `naming` are those whose
    answers give a member its id. `is_join`, `is_leave` and `brings_id` test a request; `brings_id` returns whether the client chose the id itself.
    With `is_incremental` a callback names only the partitions that are new or gone.

    `steady` are the requests that change nothing of a member when they are answered without an error. Each has the fields of its body that may
    still change something. `by_epoch` are those that name a member epoch, not a generation, and whose answers may assign. `is_steady` returns
    whether in the member's state they change only what `absorb` writes for many at once.
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
