"""The profiles that were compared with a real broker of their release: `verified.toml`, which only a differential run writes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from groupproof.protocol.rules.classic.releases import RELEASES
from groupproof.protocol.rules.dialect_registry import relative_named

__all__ = ["Verification", "evidence_text", "verification", "verifications"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """One comparison: the broker's release, the day (ISO) and the number of steps. `divergences` are the remaining ones, each explained."""

    profile: str
    release: str
    date: str
    steps: int
    divergences: int


def verification(profile: str) -> Verification | None:
    """Return the comparison that verifies a profile, or None: then it was only read in the sources."""
    return verifications().get(profile)


def evidence_text(profile: str) -> str:
    """Return a profile's evidence, as a sentence."""
    relative = relative_named(profile)
    if relative is not None:
        return relative[1].says
    found = verification(profile)
    if found is None:
        return "Read in the release's sources; not yet compared with one of its brokers."
    left = f"{found.divergences} explained differences" if found.divergences else "no difference"
    return f"Verified: compared with Apache Kafka {found.release} over {found.steps} steps on {found.date}, {left}."


@cache
def verifications(text: str | None = None) -> Mapping[str, Verification]:
    """Return every comparison by profile; raise `ValueError` for an entry with an unknown profile, another release, or no step."""
    text = files("groupproof.protocol.rules").joinpath("verified.toml").read_text(encoding="utf-8") if text is None else text
    return {
        profile: _checked(Verification(profile=profile, **{**entry, "date": str(entry["date"])})) for profile, entry in tomllib.loads(text).items()
    }


def _checked(entry: Verification) -> Verification:
    if entry.profile not in RELEASES:
        raise ValueError(f"verified.toml names {entry.profile!r}; there are {', '.join(RELEASES)}")
    family = ".".join(map(str, RELEASES[entry.profile][:2]))
    if not entry.release.startswith(f"{family}."):
        raise ValueError(f"verified.toml has {entry.profile} verified with {entry.release}, which is no {family}")
    if entry.steps <= 0 or entry.divergences < 0:
        raise ValueError(f"verified.toml has {entry.profile} verified over {entry.steps} steps with {entry.divergences} divergences")
    return entry
