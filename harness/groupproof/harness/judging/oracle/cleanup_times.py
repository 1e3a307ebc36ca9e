"""When the periodic cleanup of a broker can have come (COMMIT-24, COMMIT-25, CGM-34): its phase is the broker's own, its interval a setting. Pure.

The cleanup expires offsets, and lets Empty groups die that have none. A walk makes sure of those that must have come, and tries whether one more did
wherever that would leave a mark. Where the interval is long one hardly comes into a case: what only that explains is seen once, and proves nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from groupproof.protocol.vocabulary import GroupState

if TYPE_CHECKING:
    from groupproof.coordinator.machine.coordinator import Settings
    from groupproof.coordinator.machine.machine_outputs import GroupProgress
    from groupproof.harness.judging.oracle.tolerance import Tolerance

__all__ = ["last_sure_ms", "leaves_a_mark", "without_cleanup"]

_NEVER_MS: Final = 2**53


def without_cleanup(settings: Settings) -> Settings:
    """Return the settings of a machine that cleans up when it is told to alone."""
    return replace(settings, offsets_retention_check_interval_ms=_NEVER_MS)


def last_sure_ms(ready_ms: float, settings: Settings, tolerance: Tolerance) -> int:
    """Return until when what was to be cleaned up is so by `ready_ms`: a whole interval lies between."""
    interval_ms = settings.offsets_retention_check_interval_ms
    return int(ready_ms - interval_ms - tolerance.allowance_ms(interval_ms))


def leaves_a_mark(group: GroupProgress | None, lasted_ms: float, settings: Settings, tolerance: Tolerance) -> bool:
    """Tell whether a cleanup is reckoned with that would change a group whose history lasted so long: it is Empty, or has offsets that may be too old."""
    if group is None or settings.offsets_retention_check_interval_ms > tolerance.cleanup_ms:
        return False
    return group.state.value == GroupState.EMPTY.value or lasted_ms >= settings.offsets_retention_ms
