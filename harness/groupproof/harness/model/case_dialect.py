"""The dialect of a case, which its id names (`area/dialect/name`): made from the object, read back by its name. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.dialect import Dialect
from groupproof.protocol.rules.dialect_registry import dialects

__all__ = ["CLASSIC_CAPABILITY", "case_id", "dialect_asked", "dialect_of_apis", "dialect_of_case"]

CLASSIC_CAPABILITY: Final = CLASSIC.name
"""What a client declares that speaks the classic dialect."""


def case_id(area: str, dialect: Dialect, name: str) -> str:
    """Return the id of a case."""
    return f"{area}/{dialect.name}/{name}"


def dialect_of_case(id: str) -> str:
    """Return the name of the dialect that a case's id names, "" where it names none: then it is no case's."""
    parts = id.split("/")
    return parts[1] if len(parts) == 3 else ""


def dialect_asked(fields: Mapping[str, Any]) -> str:
    """Return the name of the dialect that the fields of a `subscribe` ask for: Kafka's name for it wins where both are given."""
    return str(fields.get("group_protocol") or fields.get("protocol") or CLASSIC.name)


def dialect_of_apis(apis: Iterable[str | None]) -> Dialect:
    """Return the dialect that members speak who send these requests: the first that has one of them, else the classic one, which everybody speaks."""
    asked = set(apis)
    return next((dialect for dialect in dialects() if any(request.value in asked for request in dialect.requests)), CLASSIC)
