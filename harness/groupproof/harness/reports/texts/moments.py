"""An instant in words: as a calendar time if the trace knows when it began, else from its beginning."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["moment"]


def moment(ms: float, epoch_ms: int | None) -> str:
    """Return the time `ms` after the trace's beginning, which is `epoch_ms` after 1970 or unknown."""
    if epoch_ms is None:
        return f"{ms / 1000:.3f} s"
    return datetime.fromtimestamp((epoch_ms + ms) / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
