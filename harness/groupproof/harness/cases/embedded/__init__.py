"""The cases for programs that embed their own protocol in the classic group, by kind of subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from groupproof.harness.cases.embedded import connect_leader, connect_member, connect_worker, streams_leader, streams_reactions, streams_thread
from groupproof.harness.model.case import Case

__all__ = ["EMBEDDED_CASES"]

EMBEDDED_CASES: Final[Mapping[str, tuple[Case, ...]]] = {
    "connect": (*connect_worker.CASES, *connect_leader.CASES, *connect_member.CASES),
    "streams": (*streams_thread.CASES, *streams_leader.CASES, *streams_reactions.CASES),
}
"""Every case of each kind, in the order of reports; a kind is the capability that its shims declare."""
