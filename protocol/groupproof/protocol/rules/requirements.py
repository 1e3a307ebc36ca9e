"""The requirement catalogue: every sentence that a case, a rule or a verdict cites, with its level.

The sentences are package data (`requirements.json`, and `consumer_requirements.json` for KIP-848; ids are final). So are their levels and the reasons
(`levels.toml`, by the contract's rule under "Verdicts"). Other modules read the catalogue only through this one.
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
    """No requirement has this id. The message names similar ones."""

    def __init__(self, unknown: str) -> None:
        close = nearest(unknown)
        super().__init__(f"no requirement {unknown}" + (f"; did you mean {', '.join(close)}?" if close else ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One sentence of the catalogue.

    `level` is the weight of breaking it, `reason` the reason for that. `profiles` are those where it holds. `source` is where it was read: a seed
    (one of the five documents that the catalogue was made from), Kafka's own sources as `[K release]` or DataLink's as `[DL]`. `observe` is how it is
    observed: W the wire, T the trace, V virtual time, L log lines, F an injected fault. `side` is whom it binds (client, coordinator, both; empty
    where the area shows it). `measured` are the brokers and steps of the measurement. `note` says what is judged where the sentence alone asks for more.
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
    note: str = ""

    @property
    def family(self) -> str:
        """Return the part of the id before its number: `HB` of `HB-03`."""
        return _family(self.id)


@cache
def requirements() -> tuple[Requirement, ...]:
    """Return all requirements in the catalogue's order. Those of KIP-848's protocol come last."""
    levels = tomllib.loads(_read("levels.toml").decode())
    older = (_requirement(row, levels) for row in json.loads(_read("requirements.json")))
    return (*older, *(_consumer_requirement(row, levels) for row in json.loads(_read("consumer_requirements.json"))))


def by_id(requirement: str) -> Requirement:
    """Return the requirement with this id; raise `UnknownRequirement`."""
    found = _index().get(requirement)
    if found is None:
        raise UnknownRequirement(requirement)
    return found


def nearest(unknown: str) -> tuple[str, ...]:
    """Return the ids that are most similar to `unknown`, the most similar first; empty where none is."""
    return tuple(difflib.get_close_matches(unknown.upper(), _index(), n=_NEAREST_MAX))


@cache
def catalogue_sha256() -> str:
    """Return the hex digest of the shipped catalogue, sentences and levels. Two reports with the same digest judge by the same rules."""
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
    """Return a requirement of KIP-848's protocol, which has its own level. Where that differs from its family's, its reason is the level's."""
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
        note=_notes().get(row["id"], ""),
    )


@cache
def _notes() -> Mapping[str, str]:
    return tomllib.loads(_read("judged_notes.toml").decode())


def _releases(since: str | None, until: str | None) -> str:
    """Return the releases where it holds, from `since` to `until`, both inclusive."""
    first = since or "4.0"
    return f"kafka-{first}+" if until is None else f"kafka-{first} to {until}"


def _family(requirement: str) -> str:
    return requirement.rpartition("-")[0]


def _read(name: str) -> bytes:
    return resources.files("groupproof.protocol.rules").joinpath(name).read_bytes()
