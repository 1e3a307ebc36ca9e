"""How the suites make their cases: the id's form, the names that recur, and the error codes with what they are called in titles."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from groupproof.harness.case import Case, Judge
from groupproof.harness.plan import Plan
from groupproof.harness.verdicts import Level
from groupproof.protocol.vocabulary import ErrorCode

__all__ = [
    "AMPLE_POLL_MS", "GHOST_SESSION_MS", "GROUP", "INFO", "MUST", "SHOULD", "UNHEARD_OF", "case", "code_name",
]  # fmt: skip

MUST: Final = Level.MUST
SHOULD: Final = Level.SHOULD
INFO: Final = Level.INFO

GROUP: Final = "g"
"""The group of a case's members, as the driver's defaults have it."""

AMPLE_POLL_MS: Final = 2_000
"""A poll that has time for a whole rebalance, for cases that are not about rebalances which take some polls."""

GHOST_SESSION_MS: Final = 3_000
"""The session timeout where a case may leave a ghost behind: the group waits for it that long and no longer."""

UNHEARD_OF: Final = 999
"""An error code that no release of Kafka has."""


def case(
    id: str,
    title: str,
    requirements: Iterable[str],
    level: Level,
    plan: Plan,
    *judges: Judge,
    needs: Iterable[str] = (),
    isolated: bool = False,
    required: bool = True,
) -> Case:
    """Return a client case of the classic dialect; `id` is `area/name`, the dialect goes between."""
    area, name = id.split("/")
    return Case(
        id=f"{area}/classic/{name}",
        title=title,
        requirements=tuple(requirements),
        level=level,
        plan=plan,
        judges=judges,
        needs=frozenset({"classic", *needs}),
        isolated=isolated,
        required=required,
    )


def code_name(code: int) -> str:
    """Return an error's name as case ids have it: `rebalance-in-progress`."""
    try:
        return ErrorCode(code).name.lower().replace("_", "-")
    except ValueError:
        return "unheard-of-error"
