"""Every case of the kit, of both sides."""

from __future__ import annotations

from typing import Final

from groupproof.harness.cases.client import CASES as CLIENT_CASES
from groupproof.harness.cases.coordinator import CASES as COORDINATOR_CASES
from groupproof.harness.model.case import Case

__all__ = ["CASES", "cases_of"]

CASES: Final[tuple[Case, ...]] = (*CLIENT_CASES, *COORDINATOR_CASES)
"""Client cases first, each side in the order in which reports list them."""


def cases_of(side: str) -> tuple[Case, ...]:
    """Return the cases of one side: `client` or `coordinator`."""
    return COORDINATOR_CASES if side == "coordinator" else CLIENT_CASES
