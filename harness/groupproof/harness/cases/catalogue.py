"""Every case of the kit, of both sides. A side's cases are made when they are asked for: to certify a client needs none of the coordinator's."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from groupproof.harness.model.case import Case
from groupproof.harness.model.case_dialect import CLASSIC_CAPABILITY
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER

__all__ = ["DIALECT_CAPABILITIES", "cases_like", "cases_of", "client_side", "every_case"]

DIALECT_CAPABILITIES: Final = (CLASSIC_CAPABILITY, CONSUMER.name)
"""What a consumer declares for each dialect of which there are client cases."""


def cases_of(side: str, capabilities: Collection[str] = ()) -> tuple[Case, ...]:
    """Return the cases of one side, `client` or `coordinator`, in the order in which reports list them: for a client those of its kind and its dialects.

    A consumer has those of the classic dialect, and those of KIP-848's too where it speaks that. A program that is no consumer (`classic`) and declares a
    kind such as `connect` has the cases of that kind.
    """
    if side == "coordinator":
        from groupproof.harness.cases.coordinator import CASES as COORDINATOR_CASES

        return COORDINATOR_CASES
    from groupproof.harness.cases.client import CASES as CLIENT_CASES
    from groupproof.harness.cases.consumer import CONSUMER_CASES
    from groupproof.harness.cases.embedded import EMBEDDED_CASES

    kind = next((kind for kind in EMBEDDED_CASES if kind in capabilities and CLASSIC_CAPABILITY not in capabilities), None)
    if kind is not None:
        return EMBEDDED_CASES[kind]
    return (*CLIENT_CASES, *CONSUMER_CASES) if CONSUMER.name in capabilities else CLIENT_CASES


def cases_like(side: str, ids: Iterable[str]) -> tuple[Case, ...]:
    """Return the cases of one side, for clients of the kind and the dialects that these cases are for."""
    from groupproof.harness.cases.consumer import CONSUMER_CASES
    from groupproof.harness.cases.embedded import EMBEDDED_CASES

    known = frozenset(ids)
    kind = next((kind for kind, cases in EMBEDDED_CASES.items() if any(case.id in known for case in cases)), None)
    is_of_both = any(case.id in known for case in CONSUMER_CASES)
    return cases_of(side, DIALECT_CAPABILITIES if is_of_both else () if kind is None else (kind,))


def client_side() -> tuple[Case, ...]:
    """Return the cases for clients of every kind and dialect."""
    from groupproof.harness.cases.embedded import EMBEDDED_CASES

    return (*cases_of("client", DIALECT_CAPABILITIES), *(case for cases in EMBEDDED_CASES.values() for case in cases))


def every_case() -> tuple[Case, ...]:
    """Return the client cases, then those of coordinators."""
    return (*client_side(), *cases_of("coordinator"))
