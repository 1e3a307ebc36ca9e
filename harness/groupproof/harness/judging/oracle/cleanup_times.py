"""When the periodic cleanup of a broker can have run (COMMIT-24, COMMIT-25, CGM-34): its phase is unknown, its interval is a setting. Pure.

The cleanup expires offsets and deletes Empty groups without offsets. A replay runs each cleanup that must have happened. It also tries one more
wherever that would change the group. With a long interval a cleanup hardly ever falls into a case: a divergence that only a cleanup explains proves
nothing when it is observed once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from groupproof.protocol.vocabulary import GroupState

if TYPE_CHECKING:
    from enum import StrEnum

    from groupproof.coordinator.machine.coordinator import Settings
    from groupproof.harness.judging.oracle.tolerance import Tolerance

__all__ = ["last_sure_ms", "leaves_a_mark", "without_cleanup"]

_NEVER_MS: Final = 2**53


def without_cleanup(settings: Settings) -> Settings:
    """Return settings with which the machine cleans up only on request."""
    return replace(settings, offsets_retention_check_interval_ms=_NEVER_MS)


def last_sure_ms(ready_ms: float, settings: Settings, tolerance: Tolerance) -> int:
    """Return the latest time by which a cleanup has certainly run before `ready_ms`: one whole interval and its allowance before it."""
    interval_ms = settings.offsets_retention_check_interval_ms
    return int(ready_ms - interval_ms - tolerance.allowance_ms(interval_ms))


def leaves_a_mark(state: StrEnum | None, lasted_ms: float, settings: Settings, tolerance: Tolerance) -> bool:
    """Return whether a cleanup is possible and would change a group of that `state` (None: no group) whose history lasted `lasted_ms`: it is Empty, or its offsets may be too old."""
    if state is None or settings.offsets_retention_check_interval_ms > tolerance.cleanup_ms:
        return False
    return state.value == GroupState.EMPTY.value or lasted_ms >= settings.offsets_retention_ms
