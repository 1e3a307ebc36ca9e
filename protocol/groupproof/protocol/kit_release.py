"""The release of the kit itself, as installed."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ["release"]


@cache
def release() -> str:
    """Return the installed release; "0" in a work tree on PYTHONPATH. It is cached: the metadata is a file, and every shim's hello needs it."""
    try:
        return version("groupproof")
    except PackageNotFoundError:
        return "0"
