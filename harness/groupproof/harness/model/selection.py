"""Which cases a run selects: by level, and by patterns over case and requirement ids (exact, prefix or glob). Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.verdicts import Level

__all__ = ["LEVELS", "at_level", "matches", "nearest", "select"]

LEVELS = {"must": (Level.MUST,), "should": (Level.MUST, Level.SHOULD), "info": tuple(Level)}
"""The values of `--level`. Each includes the more severe levels."""


def matches(pattern: str, case: Case) -> bool:
    """Return whether `pattern` names the case or one of its requirements, as an id, a prefix or a glob."""
    return any(name.startswith(pattern) or fnmatchcase(name, pattern) for name in (case.id, *case.requirements))


def _meant(pattern: str, cases: Sequence[Case]) -> set[str]:
    """Return the ids of the cases that `pattern` matches. A pattern that is an id matches that id only, not longer ones."""
    exact = {case.id for case in cases if pattern in (case.id, *case.requirements)}
    return exact or {case.id for case in cases if matches(pattern, case)}


def at_level(cases: Iterable[Case], level: str) -> list[Case]:
    return [case for case in cases if case.level in LEVELS[level]]


def select(cases: Sequence[Case], *, only: Sequence[str] = (), skip: Sequence[str] = (), level: str = "info") -> list[Case]:
    """Return the selected cases in their order.

    Raise `WrongUsage` for a pattern that matches no case, with the nearest names, and for an empty selection.
    """
    meant = {pattern: _meant(pattern, cases) for pattern in (*only, *skip)}
    for pattern in (pattern for pattern, ids in meant.items() if not ids):
        raise WrongUsage(f"{pattern!r} matches no case and no requirement{nearest(pattern, _names(cases))}; see groupproof list")
    wanted = {id for pattern in only for id in meant[pattern]} if only else {case.id for case in cases}
    wanted -= {id for pattern in skip for id in meant[pattern]}
    chosen = [case for case in at_level(cases, level) if case.id in wanted]
    if not chosen:
        raise WrongUsage(f"the selection matches no case at level {level}; see groupproof list")
    return chosen


def _names(cases: Iterable[Case]) -> list[str]:
    return [name for case in cases for name in (case.id, *case.requirements)]


def nearest(name: str, names: Iterable[str]) -> str:
    """Return a hint with the nearest right names, or "" when none is near."""
    near = difflib.get_close_matches(name, dict.fromkeys(names), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else ""
