"""Resolves the arguments of tests: APIs by Kafka's names, errors by name or code (with the nearest names for a wrong one), places in a trace."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from groupproof.harness.model.selection import nearest
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api, ErrorCode, api_named

__all__ = ["HasPlace", "Since", "api_meant", "error_meant", "place_meant"]


@runtime_checkable
class HasPlace(Protocol):
    """Something with a place in the trace, such as a fault that has taken effect."""

    @property
    def place(self) -> int:
        """Return the number of observations up to it, including it; raise `ValueError` if it has not happened."""


Since = int | Observation | HasPlace
"""A place in the trace: a number such as `len(groupproof_trace)`, the last observation before it, or a fault that has taken effect."""


def place_meant(since: Since) -> int:
    """Return the place as a number; raise `TypeError` for another type."""
    if isinstance(since, Observation):
        return since.seq + 1
    if isinstance(since, HasPlace):
        return since.place
    if isinstance(since, int):
        return since
    raise TypeError(
        f"since= takes a place in the trace: a number such as len(groupproof_trace), an observation, or a fault that has taken effect; not {since!r}"
    )


def api_meant(name: str) -> str:
    """Return the API's name; raise `ValueError` for one that the kit does not decode."""
    try:
        return api_named(name).title
    except KeyError:
        raise ValueError(f"no API is called {name!r}{nearest(name, [api.title for api in Api])}") from None


def error_meant(error: str | int) -> int:
    """Return the error's code; raise `ValueError` for an unknown name. Any number is allowed, because a broker may send unknown ones."""
    if isinstance(error, int):
        return int(error)
    try:
        return ErrorCode[error].value
    except KeyError:
        raise ValueError(f"no error is called {error!r}{nearest(error, [code.name for code in ErrorCode])}") from None
