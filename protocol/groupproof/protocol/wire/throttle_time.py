"""The throttle time in an answer: for how long the broker asks its client for silence, and for how long a client is silent (KIP-219). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["QUOTA_MS", "obeyed_ms", "throttle_ms"]

QUOTA_MS: Final = 11_000
"""The whole window of a quota (ms): 11 samples of 1 s (quota.num, quota.window.size.seconds). A request quota asks for one window at most."""


def throttle_ms(body: Mapping[str, Any]) -> float:
    """Return for how long an answer throttles its client, in milliseconds. Some brokers send a negative number, which counts as 0."""
    return max(0.0, float(body.get("throttle_time_ms") or 0))


def obeyed_ms(body: Mapping[str, Any]) -> float:
    """Return for how long the kit is silent after an answer, in milliseconds: 0 for a time beyond any quota.

    No broker mutes a connection for so long, so a wait would only lengthen the run and hide how late the broker is. The answer is judged instead.
    """
    asked_ms = throttle_ms(body)
    return asked_ms if asked_ms <= QUOTA_MS else 0.0
