"""Regular expressions of subscriptions, by RE2 as in Kafka (KIP-848 has RE2/J): without look-around and back references, in linear time. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import re2

__all__ = ["is_valid", "matching"]

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


@lru_cache(maxsize=1024)
def _compiled(regex: str) -> Any:
    """Return the expression, None for one that RE2 refuses."""
    try:
        return re2.compile(regex, _OPTIONS)
    except re2.error:
        return None


def is_valid(regex: str) -> bool:
    """Tell whether RE2 takes the expression (CGH-22, CGH-23)."""
    return _compiled(regex) is not None


def matching(regex: str, names: Iterable[str]) -> frozenset[str]:
    """Return the names that the expression matches from end to end (CGX-18)."""
    compiled = _compiled(regex)
    assert compiled is not None, f"{regex!r} was refused when it came"
    return frozenset(name for name in names if compiled.fullmatch(name))
