"""The coordinator cases, by area: scripts whose every answer the oracle foretells."""

from __future__ import annotations

from typing import Final

from groupproof.harness.case import Case
from groupproof.harness.scripts import (
    admin,
    begun,
    channel,
    deadline,
    delay,
    fencing,
    find,
    heartbeat,
    identity,
    join,
    leave,
    many,
    move,
    offsets,
    pending,
    phase,
    protocol,
    rejoin,
    size,
    static,
    sync,
)

__all__ = ["CASES"]

CASES: Final[tuple[Case, ...]] = (
    *find.CASES,
    *join.CASES,
    *rejoin.CASES,
    *pending.CASES,
    *delay.CASES,
    *phase.CASES,
    *begun.CASES,
    *protocol.CASES,
    *sync.CASES,
    *deadline.CASES,
    *heartbeat.CASES,
    *leave.CASES,
    *static.CASES,
    *fencing.CASES,
    *identity.CASES,
    *size.CASES,
    *offsets.CASES,
    *admin.CASES,
    *move.CASES,
    *channel.CASES,
    *many.CASES,
)
"""Every coordinator case, in the order in which reports list them."""
