"""The values of Kafka's settings in one form: Kafka accepts policies in any case, and lists with or without blanks. Pure."""

from __future__ import annotations

from typing import Any

__all__ = ["as_text", "listed"]


def listed(value: Any) -> tuple[str, ...]:
    """Return the items of a setting that is a list."""
    return tuple(item.strip() for item in str(value).split(",") if item.strip())


def as_text(value: Any) -> str:
    """Return a value as it is compared with others: `True`, "true" and 1 are one value."""
    text = ",".join(listed(str(value).lower()))
    return {"true": "1", "false": "0"}.get(text, text)
