"""How grave a finding may be: no graver than what its requirement's level says that breaking it means. Pure.

MUST breaks the group or the client's own progress, SHOULD costs others, INFO costs nobody (`levels.toml`). A judge names the requirement that is broken;
where falling short of a SHOULD goes as far as losing progress, that is another requirement, a MUST, and the judge names that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from groupproof.harness.model.verdicts import ADVERSE, Finding, Level, Verdict, worst
from groupproof.protocol.rules.requirements import UnknownRequirement, by_id

__all__ = ["GRAVEST", "capped", "gravest_level"]

GRAVEST: Final[Mapping[Level, Verdict]] = {Level.MUST: Verdict.FAILED, Level.SHOULD: Verdict.NON_STRICT, Level.INFO: Verdict.INFORMATIONAL}


def capped(finding: Finding) -> Finding:
    """Return the finding, no graver than its requirement's level."""
    if finding.verdict not in ADVERSE:
        return finding
    try:
        gravest = GRAVEST[by_id(finding.requirement).level]
    except UnknownRequirement:
        return finding  # a case of somebody's own may cite what no catalogue holds
    is_graver = worst((finding.verdict, gravest)) is not gravest
    return replace(finding, verdict=gravest) if is_graver else finding


def gravest_level(requirements: Iterable[str]) -> Level:
    """Return the level of the gravest of these requirements, which is that of a case about them."""
    return min((by_id(requirement).level for requirement in requirements), key=list(Level).index)
