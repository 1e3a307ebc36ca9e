"""A case: the plan or script to run, and the checkers that read its trace."""

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
"""Reads the evidence of one run and yields findings. It is pure. It may raise `NotReached`: the case is then INCONCLUSIVE."""

_NO_RUN = cast(Evidence, None)


def checker(findings: Callable[Concatenate[Evidence, P], Iterator[Finding]]) -> Callable[P, Judge]:
    """Return a factory of judges. A case calls it with every argument of `findings` except the evidence."""

    def maker(*args: P.args, **kwargs: P.kwargs) -> Judge:
        # Calling a generator function runs nothing, but binds the arguments: wrong arguments fail here, where the case is written, not when it is
        # judged.
        findings(_NO_RUN, *args, **kwargs)
        return update_wrapper(lambda ev: findings(ev, *args, **kwargs), findings)

    return update_wrapper(maker, findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One conformance test. `id` is `area/dialect/name`; `requirements` are the catalogue ids that it judges.

    `plan` is a plan for a client case and a script for a coordinator case. The oracle judges the answers to a script, beside the judges named here.
    `needs` are shim capabilities of a client, or API versions of a coordinator (`prerequisites.py`). Without them the case is UNIMPLEMENTED.
    `settings_needed` are settings by member. Only a shim can say whether its client has them. Without them the case is UNIMPLEMENTED too.
    `isolated` asks for one process per member (kill, freeze). `level` is the most severe level of its judges. `required` puts the case on its level's
    list; if such a case is missing, the grade is PARTIAL. `origin` describes the judges as JSON, for a case that is in no catalogue. The trace
    begins with it, so that the trace can be judged again.
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
    """Return the plan of a client case. Raise `TypeError` for a coordinator case."""
    if not isinstance(case.plan, Plan):
        raise TypeError(f"{case.id} is a case of the {case.side} side")
    return case.plan


def script_of(case: Case) -> Script:
    """Return the script of a coordinator case. Raise `TypeError` for a client case."""
    if not isinstance(case.plan, Script):
        raise TypeError(f"{case.id} is a case of the {case.side} side")
    return case.plan


def seed_of(seed: int, case: str) -> int:
    """Return the seed of a case in a run. It depends on the run's seed and the case alone, not on the selection."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{case}".encode()).digest()[:8], "big")
