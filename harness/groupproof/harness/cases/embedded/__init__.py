"""The cases for programs that bring a protocol of their own into the classic group, by the kind of subject that they are for."""

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
"""Every case for each kind, in the order in which reports list them; a kind is the capability that its shims declare."""
