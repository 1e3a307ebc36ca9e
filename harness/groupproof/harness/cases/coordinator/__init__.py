"""The coordinator cases, by area: scripts whose every answer the oracle predicts."""

from __future__ import annotations

from typing import Final

from groupproof.harness.cases.coordinator import (
    admin,
    channel,
    consumer,
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
    rebalance_start,
    rejoin,
    size,
    static,
    sync,
)
from groupproof.harness.model.case import Case

__all__ = ["CASES"]

CASES: Final[tuple[Case, ...]] = (
    *find.CASES,
    *join.CASES,
    *rejoin.CASES,
    *pending.CASES,
    *delay.CASES,
    *phase.CASES,
    *rebalance_start.CASES,
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
    *consumer.CASES,
)
"""Every coordinator case, in the order in which reports list them."""
