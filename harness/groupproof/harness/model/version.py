"""The release of the kit itself, as installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

__all__ = ["release"]


def release() -> str:
    """Return the installed release; "0" when run from a work tree by PYTHONPATH."""
    try:
        return version("groupproof")
    except PackageNotFoundError:
        return "0"
