"""Builds client cases: the form of their ids, common names, and error codes with their names in titles."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from groupproof.harness.judging.case_checkers.required_settings import SCALED, insists_on, not_on_the_wire
from groupproof.harness.judging.foreign_assignors import shared_assignors
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.model.case_dialect import case_id
from groupproof.harness.model.plan import Member, Plan
from groupproof.harness.model.prerequisites import needs_of_plan
from groupproof.harness.model.requirement_levels import highest_level
from groupproof.harness.model.verdicts import Level
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.dialect import Dialect
from groupproof.protocol.vocabulary import ErrorCode

__all__ = [
    "AMPLE_POLL_MS", "GHOST_SESSION_MS", "GROUP", "SHOULD", "UNHEARD_OF", "case", "code_name", "embedded_case",
]  # fmt: skip

SHOULD: Final = Level.SHOULD

GROUP: Final = "g"
"""The group of a case's members; it is the driver's default."""

AMPLE_POLL_MS: Final = 4_000
"""A poll timeout that allows a whole rebalance on a busy host, for cases where a rebalance is a side effect and may take several polls."""

GHOST_SESSION_MS: Final = 3_000
"""The session timeout where a case may leave a dead member behind: the group waits for it no longer than that."""

UNHEARD_OF: Final = 999
"""An error code that no release of Kafka has."""


def case(
    id: str,
    title: str,
    requirements: Iterable[str],
    plan: Plan,
    *judges: Judge,
    level: Level | None = None,
    needs: Iterable[str] = (),
    isolated: bool = False,
    required: bool = True,
    insists: Collection[str] = (),
    spares: Collection[str] = (),
    dialect: Dialect = CLASSIC,
) -> Case:
    """Return a client case. Its client must declare the dialect, which stands between the parts of `id`, `area/name`. The level is that of the
    most severe requirement, unless `level` is set.

    The plan shows which capabilities the shim needs; `needs` adds those that it does not show.

    A client whose shim ignores a setting of the plan does not run the case. Exceptions are settings in `spares`, and settings by which judges scale
    (`SCALED`), except for those in `insists`.
    """
    area, name = id.split("/")
    cited = tuple(requirements)
    subjects = [member for member in plan.members if member.kind == "subject"]
    wanted = {subject.name: _insisted(subject, insists, spares) for subject in subjects}
    shared = shared_assignors(plan)
    return Case(
        id=case_id(area, dialect, name),
        title=title,
        requirements=cited,
        level=level or highest_level(cited),
        plan=plan,
        judges=(insists_on(wanted, shared), *judges) if shared or any(wanted.values()) else judges,
        needs=frozenset({dialect.name, *needs_of_plan(plan), *needs}),
        settings_needed={client: not_on_the_wire(settings) for client, settings in wanted.items() if not_on_the_wire(settings)},
        isolated=isolated,
        required=required,
    )


def embedded_case(
    kind: str, name: str, title: str, requirements: Iterable[str], plan: Plan, *judges: Judge, level: Level | None = None, needs: Iterable[str] = ()
) -> Case:
    """Return a case for clients of a kind that embeds the classic protocol. A shim must declare the kind, which is also the area."""
    cited = tuple(requirements)
    return Case(
        id=case_id(kind, CLASSIC, name), title=title, requirements=cited, level=level or highest_level(cited), plan=plan, judges=judges,
        needs=frozenset({kind, *needs}),
    )  # fmt: skip


def _insisted(member: Member, insists: Collection[str], spares: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in member.settings.items() if name not in spares and (name in insists or name not in SCALED)}


def code_name(code: int) -> str:
    """Return an error's name in the form of case ids: `rebalance-in-progress`."""
    try:
        return ErrorCode(code).name.lower().replace("_", "-")
    except ValueError:
        return "unheard-of-error"
