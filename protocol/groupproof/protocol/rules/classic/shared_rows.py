"""Rows that more than one table of the classic dialect has: the newest release's, and the order of releases before it."""

from __future__ import annotations

from typing import Final

from groupproof.protocol.rules.classic.classic_terms import Guard, Row
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["UNNAMED"]

UNNAMED: Final = Row(
    "protocol-unnamed",
    Guard.PROTOCOL_UNNAMED,
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    "SYNC-51",
    note="KIP-559, in KafkaApis; measured on 4.1.0: also to a stranger",
)
