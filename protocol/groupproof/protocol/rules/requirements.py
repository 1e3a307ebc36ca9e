"""The requirement catalogue: every sentence that a case, a rule or a verdict cites, with its level.

The sentences are package data (`requirements.json`; ids are final), their levels and the reasons too (`levels.toml`, by the contract's rule
under "Verdicts"). This module is the only way in.
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
_FILES = ("requirements.json", "levels.toml")


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
    T the trace, V virtual time, L log lines, F an injected fault.
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

    @property
    def family(self) -> str:
        """Return the part of the id before its number: `HB` of `HB-03`."""
        return _family(self.id)


@cache
def requirements() -> tuple[Requirement, ...]:
    """Return all 688, in the catalogue's order."""
    levels = tomllib.loads(_read("levels.toml").decode())
    return tuple(_requirement(row, levels) for row in json.loads(_read("requirements.json")))


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


def _family(requirement: str) -> str:
    return requirement.rpartition("-")[0]


def _read(name: str) -> bytes:
    return resources.files("groupproof.protocol.rules").joinpath(name).read_bytes()
