"""A case: a plan or a script to perform, and the checkers that read its trace."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, cast

from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.script import Script
from groupproof.harness.model.verdicts import Finding, Level

__all__ = ["Case", "Judge", "checker", "plan_of", "script_of", "seed_of"]

P = ParamSpec("P")

Judge = Callable[[Evidence], Iterable[Finding]]
"""Reads the evidence of one run and says what it shows; pure. It may raise `NotReached`: the case is then INCONCLUSIVE."""

_NO_RUN = cast(Evidence, None)


def checker(findings: Callable[Concatenate[Evidence, P], Iterator[Finding]]) -> Callable[P, Judge]:
    """Return a maker of judges: a case calls it with all that the function takes beside the evidence."""

    def maker(*args: P.args, **kwargs: P.kwargs) -> Judge:
        # A generator that nobody asks runs nothing. Wrong arguments are an error here, where the case is written, and not where it is judged.
        findings(_NO_RUN, *args, **kwargs)
        return update_wrapper(lambda ev: findings(ev, *args, **kwargs), findings)

    return update_wrapper(maker, findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One conformance test; `id` is `area/dialect/name`, `requirements` the catalogue ids it judges.

    `plan` is a plan for cases of the client side, a script for those of the coordinator side, whose answers the oracle judges beside the
    judges named here. `needs` are shim capabilities, or of a coordinator what its ApiVersions must say (`prerequisites.py`), without
    which it is UNIMPLEMENTED; `isolated` asks for a process of each member's own (kill, freeze);
    `settings_needed` are, by member, the settings of which only a shim can say whether its client has them, and without which it is UNIMPLEMENTED too;
    `level` is the gravest level of its judges; `required` puts it on its level's list, without which the grade is PARTIAL.
    `origin` is what its judges are made of, where no catalogue has it, as JSON: it stands at the head of its trace, which can so be judged again.
    """

    id: str
    title: str
    requirements: tuple[str, ...]
    level: Level
    plan: Plan | Script
    judges: tuple[Judge, ...]
    needs: frozenset[str] = field(default_factory=frozenset)
    settings_needed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    isolated: bool = False
    preview: bool = False
    required: bool = True
    side: str = "client"
    origin: Mapping[str, Any] | None = None


def plan_of(case: Case) -> Plan:
    """Return the plan of a client case; raise `TypeError` for a case of the other side."""
    if not isinstance(case.plan, Plan):
        raise TypeError(f"{case.id} is a case of the {case.side} side")
    return case.plan


def script_of(case: Case) -> Script:
    """Return the script of a coordinator case; raise `TypeError` for a case of the other side."""
    if not isinstance(case.plan, Script):
        raise TypeError(f"{case.id} is a case of the {case.side} side")
    return case.plan


def seed_of(seed: int, case: str) -> int:
    """Return the seed of a case in a run: the same seed gives the same schedule, whatever else is selected."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{case}".encode()).digest()[:8], "big")
