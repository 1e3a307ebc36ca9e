"""Kafka's words as a test writes them: APIs by their names, errors by name or code; a wrong one is answered with the nearest."""

from __future__ import annotations

from groupproof.harness.selection import nearest
from groupproof.protocol.vocabulary import Api, ErrorCode, api_named

__all__ = ["api_meant", "error_meant"]


def api_meant(name: str) -> str:
    """Return the API's name; raise `ValueError` for one that is not decoded here."""
    try:
        return api_named(name).title
    except KeyError:
        raise ValueError(f"no API is called {name!r}{nearest(name, [api.title for api in Api])}") from None


def error_meant(error: str | int) -> int:
    """Return the error's code; raise `ValueError` for an unknown name. Any number is let through: a broker may send what nobody has heard of."""
    if isinstance(error, int):
        return int(error)
    try:
        return ErrorCode[error].value
    except KeyError:
        raise ValueError(f"no error is called {error!r}{nearest(error, [code.name for code in ErrorCode])}") from None
