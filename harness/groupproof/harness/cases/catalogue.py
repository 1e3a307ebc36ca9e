"""Every case of the kit, of both sides. The cases are made on demand: certifying a client does not need the coordinator's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from groupproof.harness.model.case import Case
from groupproof.harness.model.case_dialect import CLASSIC_CAPABILITY, dialect_of_case
from groupproof.harness.model.prerequisites import is_spoken
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER

__all__ = ["DIALECT_CAPABILITIES", "PREVIEW", "as_declared", "cases_like", "cases_of", "client_side", "every_case", "shown_only"]

DIALECT_CAPABILITIES: Final = (CLASSIC_CAPABILITY, CONSUMER.name)
"""The capability that a consumer declares for each dialect that has client cases."""

PREVIEW: Final = f"{CONSUMER.name}-preview"
"""The capability that a consumer adds where its authors call the dialect a preview: its cases are shown, but not counted."""


def cases_of(side: str, capabilities: Collection[str] = (), profile: str = "") -> tuple[Case, ...]:
    """Return the cases of one side, `client` or `coordinator`, in the order of reports: for a client, those of its kind and its dialects.

    A consumer has the cases of the dialects that it declares, and the classic ones if it declares none. With `profile`, its brokers must speak them
    too. A program that is no consumer (`classic`) and declares a kind such as `connect` has the cases of that kind.
    """
    if side == "coordinator":
        from groupproof.harness.cases.coordinator import CASES as COORDINATOR_CASES

        return COORDINATOR_CASES
    from groupproof.harness.cases.client import CASES as CLIENT_CASES
    from groupproof.harness.cases.consumer import CONSUMER_CASES
    from groupproof.harness.cases.embedded import EMBEDDED_CASES

    kind = next((kind for kind in EMBEDDED_CASES if kind in capabilities and CLASSIC_CAPABILITY not in capabilities), None)
    return EMBEDDED_CASES[kind] if kind is not None else as_declared((*CLIENT_CASES, *CONSUMER_CASES), capabilities, profile)


def as_declared(cases: Sequence[Case], capabilities: Collection[str], profile: str = "") -> tuple[Case, ...]:
    """Return the cases of the dialects that a client declares. Cases of a dialect that it calls a preview become previews."""
    spoken = {name for name in DIALECT_CAPABILITIES if name in capabilities} or {CLASSIC_CAPABILITY}
    foreign = {name for name in DIALECT_CAPABILITIES if name not in spoken or not is_spoken(name, profile)}
    return shown_only([case for case in cases if dialect_of_case(case.id) not in foreign], capabilities)


def shown_only(cases: Iterable[Case], capabilities: Collection[str]) -> tuple[Case, ...]:
    """Return the cases; those of a dialect that the client calls a preview become previews."""
    is_preview = PREVIEW in capabilities
    return tuple(replace(case, preview=True) if is_preview and dialect_of_case(case.id) == CONSUMER.name else case for case in cases)


def cases_like(side: str, ids: Iterable[str]) -> tuple[Case, ...]:
    """Return the cases of one side, for clients of the kind and the dialects of these case ids."""
    from groupproof.harness.cases.consumer import CONSUMER_CASES
    from groupproof.harness.cases.embedded import EMBEDDED_CASES

    names = frozenset(ids)
    kind = next((kind for kind, cases in EMBEDDED_CASES.items() if any(case.id in names for case in cases)), None)
    is_of_both = any(case.id in names for case in CONSUMER_CASES)
    return cases_of(side, DIALECT_CAPABILITIES if is_of_both else () if kind is None else (kind,))


def client_side() -> tuple[Case, ...]:
    """Return the cases for clients of every kind and dialect."""
    from groupproof.harness.cases.embedded import EMBEDDED_CASES

    return (*cases_of("client", DIALECT_CAPABILITIES), *(case for cases in EMBEDDED_CASES.values() for case in cases))


def every_case() -> tuple[Case, ...]:
    """Return all client cases, then all coordinator cases."""
    return (*client_side(), *cases_of("coordinator"))
