"""Every case of the kit, of both sides. A side's cases are made when they are asked for: to certify a client needs none of the coordinator's."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from groupproof.harness.model.case import Case
from groupproof.harness.model.case_dialect import CLASSIC_CAPABILITY

__all__ = ["cases_like", "cases_of", "client_side", "every_case"]


def cases_of(side: str, capabilities: Collection[str] = ()) -> tuple[Case, ...]:
    """Return the cases of one side, `client` or `coordinator`, in the order in which reports list them: for a client those of its kind.

    A program that is no consumer (`classic`) and declares a kind such as `connect` has the cases of that kind, and any other those of consumers.
    """
    if side == "coordinator":
        from groupproof.harness.cases.coordinator import CASES as COORDINATOR_CASES

        return COORDINATOR_CASES
    from groupproof.harness.cases.client import CASES as CLIENT_CASES
    from groupproof.harness.cases.embedded import EMBEDDED_CASES

    kind = next((kind for kind in EMBEDDED_CASES if kind in capabilities and CLASSIC_CAPABILITY not in capabilities), None)
    return CLIENT_CASES if kind is None else EMBEDDED_CASES[kind]


def cases_like(side: str, ids: Iterable[str]) -> tuple[Case, ...]:
    """Return the cases of one side, for clients of the kind that these cases are for."""
    from groupproof.harness.cases.embedded import EMBEDDED_CASES

    known = frozenset(ids)
    kind = next((kind for kind, cases in EMBEDDED_CASES.items() if any(case.id in known for case in cases)), None)
    return cases_of(side, () if kind is None else (kind,))


def client_side() -> tuple[Case, ...]:
    """Return the cases for clients of every kind."""
    from groupproof.harness.cases.embedded import EMBEDDED_CASES

    return (*cases_of("client"), *(case for cases in EMBEDDED_CASES.values() for case in cases))


def every_case() -> tuple[Case, ...]:
    """Return the client cases, then those of coordinators."""
    return (*client_side(), *cases_of("coordinator"))
