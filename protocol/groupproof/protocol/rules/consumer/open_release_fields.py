"""The open fields of the dialect's releases: the behaviour with each value is a requirement of level INFO, in every release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["OPEN_RELEASE_FIELDS"]

OPEN_RELEASE_FIELDS: Final[Mapping[str, str]] = {
    "first_group_epoch": "CGM-05", "assignment_waits": "CGR-28", "empty_group_waits": "CGR-32", "assignor_change_bumps": "CGX-06",
    "own_pending_is_free": "CGR-19", "describes_pending": "CGD-09", "configs_are_raised": "CGD-39",
}  # fmt: skip
"""The requirement about the newest value, or about the oldest one."""
