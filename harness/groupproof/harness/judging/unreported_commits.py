"""Commits whose result a client never reports. A run goes on until the last refused commit could have been sent again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from groupproof.harness.judging.checkers.frame_facts import error_of
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["UNREPORTED_MS", "unreported"]

UNREPORTED_MS: Final = 3_000
"""How long (ms) a client may take to send a commit again, where it reports no result. Its call returns before the commit is done."""


def unreported(trace: Iterable[Observation]) -> list[str]:
    """Return the clients whose last commit has an unknown outcome, is not accepted so far, and gave the application no error."""
    unknown: dict[str, bool] = {}
    accepted: dict[str, bool] = {}  # of the newest OffsetCommit
    for obs in trace:
        if obs.client is None:
            continue
        if obs.api == Api.OFFSET_COMMIT.title and obs.kind in {"request", "response"}:
            accepted[obs.client] = obs.kind == "response" and error_of(obs) == 0
        elif obs.who == "shim" and obs.body.get("name") == "offsets_committed":
            unknown[obs.client] = obs.body.get("outcome") == "unknown"
        elif obs.who == "shim" and obs.body.get("name") == "error":
            unknown[obs.client] = False
    return [client for client, is_unknown in unknown.items() if is_unknown and not accepted.get(client, False)]
