"""The requirement catalogue: every sentence that a case, a rule or a verdict cites, with its level.

The sentences are package data (`requirements.json` and, of KIP-848's protocol, `consumer_requirements.json`; ids are final), their levels and the reasons too
(`levels.toml`, by the contract's rule under "Verdicts"). This module is the only way in.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from groupproof.protocol.vocabulary import Level

__all__ = ["Requirement", "UnknownRequirement", "by_id", "catalogue_sha256", "nearest", "requirements"]

_NEAREST_MAX = 5
_FILES = ("requirements.json", "consumer_requirements.json", "levels.toml")
_CONSUMER_AREA = "Consumer protocol (KIP-848)"


class UnknownRequirement(LookupError):
    """No requirement has this id; the message names the nearest ones."""

    def __init__(self, unknown: str) -> None:
        close = nearest(unknown)
        super().__init__(f"no requirement {unknown}" + (f"; did you mean {', '.join(close)}?" if close else ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One sentence of the catalogue.

    `level` says what breaking it means, `reason` why. `profiles` are those it holds in; `source` where it was read: a seed (one of the five
    documents that the catalogue was made from), Kafka's own sources as `[K release]` or DataLink's as `[DL]`. `observe` says by what it is seen: W the wire,
    T the trace, V virtual time, L log lines, F an injected fault. `side` is whom it binds (client, coordinator, both; empty where the
    area says it), `measured` on which brokers and in which steps it was seen.
    """

    id: str
    text: str
    level: Level
    reason: str
    area: str
    topic: str
    profiles: tuple[str, ...]
    source: str
    observe: str
    side: str = ""
    measured: str = ""

    @property
    def family(self) -> str:
        """Return the part of the id before its number: `HB` of `HB-03`."""
        return _family(self.id)


@cache
def requirements() -> tuple[Requirement, ...]:
    """Return all of them, in the catalogue's order: those of KIP-848's protocol behind the others."""
    levels = tomllib.loads(_read("levels.toml").decode())
    older = (_requirement(row, levels) for row in json.loads(_read("requirements.json")))
    return (*older, *(_consumer_requirement(row, levels) for row in json.loads(_read("consumer_requirements.json"))))


def by_id(requirement: str) -> Requirement:
    """Return the requirement of this id; raise `UnknownRequirement`."""
    found = _index().get(requirement)
    if found is None:
        raise UnknownRequirement(requirement)
    return found


def nearest(unknown: str) -> tuple[str, ...]:
    """Return the ids that look most like `unknown`, the likeliest first; none when nothing does."""
    return tuple(difflib.get_close_matches(unknown.upper(), _index(), n=_NEAREST_MAX))


@cache
def catalogue_sha256() -> str:
    """Return the hex digest of the catalogue as shipped, sentences and levels: two reports with one digest judge by the same rules."""
    digest = hashlib.sha256()
    for name in _FILES:
        digest.update(_read(name))
    return digest.hexdigest()


@cache
def _index() -> Mapping[str, Requirement]:
    return {requirement.id: requirement for requirement in requirements()}


def _requirement(row: Mapping[str, Any], levels: Mapping[str, Any]) -> Requirement:
    judged = levels["requirements"].get(row["id"]) or levels["families"][_family(row["id"])]
    return Requirement(
        id=row["id"],
        text=row["text"],
        level=Level[judged["level"]],
        reason=judged["reason"],
        area=row["area"],
        topic=row["topic"],
        profiles=tuple(row["profiles"]),
        source=row["source"],
        observe=row["observe"],
    )


def _consumer_requirement(row: Mapping[str, Any], levels: Mapping[str, Any]) -> Requirement:
    """Return a requirement of KIP-848's protocol, which brings its own level; what is no MUST has the reason of its level."""
    family = levels["families"][_family(row["id"])]
    return Requirement(
        id=row["id"],
        text=row["statement"],
        level=Level[row["level"]],
        reason=family["reason"] if row["level"] == family["level"] else levels["consumer"][row["level"]],
        area=_CONSUMER_AREA,
        topic=row["area"],
        profiles=(_releases(row["since"], row["until"]),),
        source=row["source"],
        observe=f"W: {row['test']}",
        side=row["side"],
        measured=row["measured"] or "",
    )


def _releases(since: str | None, until: str | None) -> str:
    """Say in which releases it holds, from `since` to `until`, both inclusive."""
    first = since or "4.0"
    return f"kafka-{first}+" if until is None else f"kafka-{first} to {until}"


def _family(requirement: str) -> str:
    return requirement.rpartition("-")[0]


def _read(name: str) -> bytes:
    return resources.files("groupproof.protocol.rules").joinpath(name).read_bytes()
