"""Limits the severity of a finding to the level of its requirement. Pure.

Breaking a MUST breaks the group or the client's own progress. Breaking a SHOULD costs others. Breaking an INFO costs nobody (`levels.toml`). A
judge names the requirement that is broken. If missing a SHOULD stops progress, a separate MUST requirement covers that, and the judge names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from groupproof.harness.model.verdicts import ADVERSE, Finding, Level, Verdict, worst
from groupproof.protocol.rules.requirements import UnknownRequirement, by_id

__all__ = ["MOST_SEVERE", "at_most", "capped", "highest_level"]

MOST_SEVERE: Final[Mapping[Level, Verdict]] = {Level.MUST: Verdict.FAILED, Level.SHOULD: Verdict.NON_STRICT, Level.INFO: Verdict.INFORMATIONAL}


def capped(finding: Finding) -> Finding:
    """Return the finding with a verdict no more severe than its requirement's level allows."""
    try:
        return at_most(finding, by_id(finding.requirement).level)
    except UnknownRequirement:
        return finding  # a user's own case may cite requirements that no catalogue holds


def at_most(finding: Finding, level: Level) -> Finding:
    """Return the finding with a verdict no more severe than `level` allows."""
    if finding.verdict not in ADVERSE:
        return finding
    most_severe = MOST_SEVERE[level]
    is_more_severe = worst((finding.verdict, most_severe)) is not most_severe
    return replace(finding, verdict=most_severe) if is_more_severe else finding


def highest_level(requirements: Iterable[str]) -> Level:
    """Return the most severe level among these requirements. It is the level of a case about them."""
    return min((by_id(requirement).level for requirement in requirements), key=list(Level).index)
