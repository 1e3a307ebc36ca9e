"""A case: a plan to carry out, and the judges that read its trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from groupproof.harness.evidence import Evidence
from groupproof.harness.plan import Plan
from groupproof.harness.verdicts import Finding, Level

__all__ = ["Case", "Judge"]

Judge = Callable[[Evidence], Iterable[Finding]]
"""Reads the evidence of one run and says what it shows; pure. It may raise `NotReached`: the case is then INCONCLUSIVE."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One conformance test; `id` is `area/dialect/name`, `requirements` the catalogue ids it judges.

    `needs` are shim capabilities without which it is UNIMPLEMENTED; `isolated` asks for a process of each member's own (kill, freeze);
    `level` is the gravest level of its judges; `required` puts it on its level's list, without which the grade is PARTIAL.
    """

    id: str
    title: str
    requirements: tuple[str, ...]
    level: Level
    plan: Plan
    judges: tuple[Judge, ...]
    needs: frozenset[str] = field(default_factory=frozenset)
    isolated: bool = False
    preview: bool = False
    required: bool = True
    side: str = "client"
