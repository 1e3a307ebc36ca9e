"""Finds the one error that matters inside nested exception groups, for the end of a run."""

from __future__ import annotations

import trio

from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import KitFailure, RunError
from groupproof.harness.running.extras import absence

__all__ = ["trouble_in"]


def trouble_in(error: BaseException, case: Case | None = None) -> RunError:
    """Return the `RunError` inside `error`. A missing package is an error of the environment; any other error is the kit's own failure."""
    found = list(_leaves(error))
    for leaf in found:
        if isinstance(leaf, RunError):
            return leaf
    if (absent := absence(found)) is not None:
        absent.__cause__ = error
        return absent
    first = found[0] if found else error
    where = f" in {case.id}" if case is not None else ""
    failure = KitFailure(f"groupproof itself failed{where}: {type(first).__name__}: {first}")
    failure.__cause__ = error
    return failure


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for exception in error.exceptions for leaf in _leaves(exception)]
    return [] if isinstance(error, trio.Cancelled) else [error]
