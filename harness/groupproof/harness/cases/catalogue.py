"""Every case of the kit, of both sides. A side's cases are made when they are asked for: to certify a client needs none of the coordinator's."""

from __future__ import annotations

from groupproof.harness.model.case import Case

__all__ = ["cases_of", "every_case"]


def cases_of(side: str) -> tuple[Case, ...]:
    """Return the cases of one side, `client` or `coordinator`, in the order in which reports list them."""
    if side == "coordinator":
        from groupproof.harness.cases.coordinator import CASES as COORDINATOR_CASES

        return COORDINATOR_CASES
    from groupproof.harness.cases.client import CASES as CLIENT_CASES

    return CLIENT_CASES


def every_case() -> tuple[Case, ...]:
    """Return the client cases, then those of coordinators."""
    return (*cases_of("client"), *cases_of("coordinator"))
