"""The dialect in a case id (`area/dialect/name`): written from the dialect, and read back by its name. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.dialect import Dialect
from groupproof.protocol.rules.dialect_registry import dialects

__all__ = ["CLASSIC_CAPABILITY", "case_id", "dialect_asked", "dialect_of_apis", "dialect_of_case"]

CLASSIC_CAPABILITY: Final = CLASSIC.name
"""The capability of a client that speaks the classic dialect."""


def case_id(area: str, dialect: Dialect, name: str) -> str:
    """Return the id of a case."""
    return f"{area}/{dialect.name}/{name}"


def dialect_of_case(id: str) -> str:
    """Return the name of the dialect in a case's id. Return "" where the id names none, so that it is no case id."""
    parts = id.split("/")
    return parts[1] if len(parts) == 3 else ""


def dialect_asked(fields: Mapping[str, Any]) -> str:
    """Return the name of the dialect that the fields of a `subscribe` ask for. Kafka's `group_protocol` wins where both are set."""
    return str(fields.get("group_protocol") or fields.get("protocol") or CLASSIC.name)


def dialect_of_apis(apis: Iterable[str | None]) -> Dialect:
    """Return the dialect of members that send these requests: the first dialect with one of them, else the classic one, which every member speaks."""
    asked = set(apis)
    return next((dialect for dialect in dialects() if any(request.value in asked for request in dialect.requests)), CLASSIC)
