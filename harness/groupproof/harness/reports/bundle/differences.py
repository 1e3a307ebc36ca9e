"""The differences between a certificate and what its traces give when they are judged again, one line each. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

__all__ = ["by_id", "differences"]

_SHOWN_CHARS_MAX: Final = 160
_NAMED_MAX: Final = 5

_MISSING: Final = object()


def differences(stated: Any, due: Any, at: str = "") -> Iterator[str]:
    """Yield a line for each place in which JSON values differ: the stated value, and the computed one."""
    if stated is due:
        return
    if isinstance(stated, Mapping) and isinstance(due, Mapping):
        for name in sorted({*stated, *due}, key=str):
            yield from differences(stated.get(name, _MISSING), due.get(name, _MISSING), f"{at}.{name}" if at else str(name))
    elif _is_ids(stated) and _is_ids(due):
        yield from _of_ids(stated, due, at)
    elif not _is_same(stated, due):
        yield _line(stated, due, at)


def _line(stated: Any, due: Any, at: str) -> str:
    if due is _MISSING:
        return f"{at} has no place there"
    if stated is _MISSING:
        return f"{at} is missing; it comes to {_shorten(due)}"
    return f"{at} is {_shorten(stated)}; it comes to {_shorten(due)}"


def _is_same(stated: Any, due: Any) -> bool:
    """Return whether two JSON values are equal. Unlike in Python, true is not 1."""
    if stated is _MISSING or due is _MISSING:
        return stated is due
    return json.dumps(stated, sort_keys=True) == json.dumps(due, sort_keys=True)


def _is_ids(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(item, str) for item in value)


def _of_ids(stated: Sequence[str], due: Sequence[str], at: str) -> Iterator[str]:
    if lacking := [name for name in due if name not in set(stated)]:
        yield f"{at} lacks {_named(lacking)}"
    if added := [name for name in stated if name not in set(due)]:
        yield f"{at} has {_named(added)}, which it does not come to"
    if set(stated) == set(due) and list(stated) != list(due):
        yield f"{at} is in another order, or names something twice"


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _NAMED_MAX} more" if len(ids) > _NAMED_MAX else ""
    return f"{', '.join(ids[:_NAMED_MAX])}{more}"


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARS_MAX else f"{text[:_SHOWN_CHARS_MAX]}…"


def by_id(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return the report with its cases by id, so that a missing case is named and shifts no other."""
    return {**report, "cases": {case["id"]: {name: value for name, value in case.items() if name != "id"} for case in report["cases"]}}
