"""The release of the kit itself, as installed."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ["release"]


@cache
def release() -> str:
    """Return the installed release; "0" when run from a work tree by PYTHONPATH. It is read once: the package's metadata is a file, and every shim says hello."""
    try:
        return version("groupproof")
    except PackageNotFoundError:
        return "0"
