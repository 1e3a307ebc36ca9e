"""The shim contract of groupproof, version 1, for Kafka clients in Python. It needs only the standard library, not groupproof.

A shim implements a `PollingMember`, a `PushMember` or an `AsyncMember`, and calls `serve`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groupproof_shim.lines import Lines, Partition, Ranges, ranges_of
from groupproof_shim.member import PollingMember, PushMember
from groupproof_shim.problems import ERROR_NAMES, CommandFailed, Problem, Unimplemented, is_of_a_closed_socket, name_of_code, problem_of, upper_snake
from groupproof_shim.process import cannot_run_here, serve
from groupproof_shim.settings import Subscribe

if TYPE_CHECKING:
    from groupproof_shim.asynchronous import AsyncMember

__all__ = [
    "ERROR_NAMES", "AsyncMember", "CommandFailed", "Lines", "Partition", "PollingMember", "Problem", "PushMember", "Ranges", "Subscribe", "Unimplemented",
    "cannot_run_here", "is_of_a_closed_socket", "name_of_code", "problem_of", "ranges_of", "serve", "upper_snake",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import `AsyncMember` on demand: importing asyncio takes as long as the rest of this package."""
    if name != "AsyncMember":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from groupproof_shim.asynchronous import AsyncMember

    return AsyncMember
