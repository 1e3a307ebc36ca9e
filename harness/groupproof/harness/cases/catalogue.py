"""Every case of the kit, of both sides."""

from __future__ import annotations

from typing import Final

from groupproof.harness.cases import client as suites
from groupproof.harness.cases import coordinator as scripts
from groupproof.harness.model.case import Case

__all__ = ["CASES", "cases_of"]

CASES: Final[tuple[Case, ...]] = (*suites.CASES, *scripts.CASES)
"""Client cases first, each side in the order in which reports list them."""


def cases_of(side: str) -> tuple[Case, ...]:
    """Return the cases of one side: `client` or `coordinator`."""
    return scripts.CASES if side == "coordinator" else suites.CASES
