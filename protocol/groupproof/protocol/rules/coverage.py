"""The coverage of the catalogue: witnesses of each requirement, reasons for missing ones, and the requirements that cases judge in a subject.

A witness is a small test that fails when the rule is broken. Tests are not in the package, so their names are: `witnesses.json`, which
`ci/witnesses.py` makes from the tests. A requirement without a witness is in `unwitnessed.toml` with the reason; every id is in exactly one of the
two.

A witness shows that groupproof itself keeps a rule. It does not show that a case finds a subject that breaks it. `judged.json` lists the requirements
in each case's findings; `ci/judged.py` found them by running the case with the reference. The MUSTs for clients that no case judges are in
`unjudged.toml`.

The readings of contradicting sources (`docs/discrepancies.md`, DISC-01 to DISC-51) count like requirements.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib import resources
from typing import Final

from groupproof.protocol.rules.classic.member_reactions import REACTIONS
from groupproof.protocol.rules.consumer.consumer_reactions import CONSUMER_REACTIONS
from groupproof.protocol.rules.dialect_registry import on_change
from groupproof.protocol.rules.profiles import known_profiles, profile
from groupproof.protocol.rules.requirements import requirements
from groupproof.protocol.vocabulary import Level

__all__ = [
    "READINGS", "SIDES", "Gap", "binding_clients", "binding_coordinators", "cited", "everything", "gaps", "judged", "listed", "milder", "unasked", "unasked_milder", "unexplained", "unjudged", "witnesses",
]  # fmt: skip

SIDES: Final = ("client", "coordinator")

_CLIENT: Final = "Client"
_OTHER_CLIENTS: Final = frozenset({"CONNECT", "STREAMS", "WORKER", "ZK"})

READINGS: Final = tuple(f"DISC-{number:02}" for number in range(1, 52))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Requirements that are not covered, for one reason: their `ids`, why, and the capability that the kit lacks (`needs`)."""

    needs: str
    why: str
    ids: tuple[str, ...]


def everything() -> tuple[str, ...]:
    """Return the ids of all requirements, then of all readings."""
    return (*(requirement.id for requirement in requirements()), *READINGS)


@cache
def witnesses() -> Mapping[str, Sequence[str]]:
    """Return the witnesses by id, in pytest's notation: `tests/coordinator/test_joining.py::test_…`."""
    found: dict[str, list[str]] = json.loads(_read("witnesses.json"))
    return found


@cache
def gaps() -> tuple[Gap, ...]:
    """Return the requirements without a witness, by reason."""
    return _gaps("unwitnessed.toml")


@cache
def judged() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return by side the cases that judge a requirement in a subject: cases with a finding about it."""
    return {side: _turned({case: row["judged"] for case, row in _of_cases()[side].items()}) for side in SIDES}


@cache
def listed() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Return by side the cases that list a requirement, even if they do not judge it."""
    return {side: _turned({case: row["lists"] for case, row in _of_cases()[side].items()}) for side in SIDES}


@cache
def unjudged() -> tuple[Gap, ...]:
    """Return the MUSTs for clients that no case judges, by reason."""
    return _gaps("unjudged.toml")


@cache
def unasked() -> tuple[Gap, ...]:
    """Return the MUSTs for KIP-848's coordinators that no case judges or lists, by reason. Ids that a case covers by now are left out."""
    asked = {*judged()["coordinator"], *listed()["coordinator"]}
    bound = frozenset(binding_coordinators()) - asked
    found = ((gap, tuple(id for id in gap.ids if id in bound)) for gap in _gaps("unjudged_coordinators.toml"))
    return tuple(Gap(needs=gap.needs, why=gap.why, ids=ids) for gap, ids in found if ids)


@cache
def unasked_milder() -> tuple[Gap, ...]:
    """Return the SHOULDs and INFOs of KIP-848 that no case judges or lists, by reason. Ids that a case covers by now are left out."""
    open_ids = frozenset(milder()) - _asked()
    found = ((gap, tuple(id for id in gap.ids if id in open_ids)) for gap in _gaps("unjudged_milder.toml"))
    return tuple(Gap(needs=gap.needs, why=gap.why, ids=ids) for gap, ids in found if ids)


def milder() -> tuple[str, ...]:
    """Return the requirements of KIP-848's protocol that are not MUSTs, on either side."""
    return tuple(requirement.id for requirement in requirements() if requirement.side and requirement.level is not Level.MUST)


def binding_coordinators() -> tuple[str, ...]:
    """Return the MUSTs of KIP-848's protocol for coordinators. For both protocols the oracle compares each answer with the rules."""
    bound = (requirement for requirement in requirements() if requirement.side in ("coordinator", "both"))
    return tuple(requirement.id for requirement in bound if requirement.level is Level.MUST)


def binding_clients() -> tuple[str, ...]:
    """Return the MUSTs for clients.

    These are Kafka's clients in both protocols, Connect workers, Kafka Streams, DataLink's workers, and consumers on ZooKeeper.
    """
    bound = [
        requirement
        for requirement in requirements()
        if requirement.level is Level.MUST
        and (requirement.area == _CLIENT or requirement.side == _CLIENT.lower() or requirement.family in _OTHER_CLIENTS)
    ]
    return tuple(requirement.id for requirement in bound)


@cache
def cited() -> Mapping[str, Sequence[str]]:
    """Return the rules that cite a requirement, by requirement: rules of the group in all releases, and of the member."""
    found: dict[str, dict[str, None]] = {}
    for name in known_profiles():
        for table in profile(name).tables.values():
            for kind, checks in table.before_group.items():
                for check in checks:
                    found.setdefault(check.requirement, {})[f"{kind.value}/before/{check.name}"] = None
        for rule, row in profile(name).named_rules():
            found.setdefault(row.requirement, {})[rule] = None
    for api, reactions in (*REACTIONS.items(), *CONSUMER_REACTIONS.items()):
        for reaction in (*reactions.rows.values(), reactions.other, *reactions.phase_others.values()):
            for requirement in reaction.requirements:
                found.setdefault(requirement, {})[f"member/{api.title}"] = None
    return {key: list(rules) for key, rules in found.items()}


on_change(cited.cache_clear)


def unexplained(proven: Collection[str]) -> list[str]:
    """Return the ids with neither a witness in `proven` nor a reason, and those with more than one of these."""
    named = [id for gap in gaps() for id in gap.ids] + list(proven)
    return [name for name in everything() if named.count(name) != 1]


@cache
def _of_cases() -> Mapping[str, Mapping[str, Mapping[str, list[str]]]]:
    found: dict[str, dict[str, dict[str, list[str]]]] = json.loads(_read("judged.json"))
    return found


def _asked() -> frozenset[str]:
    """Return the requirements that a case of either side judges or lists."""
    return frozenset(id for by_side in (judged(), listed()) for side in SIDES for id in by_side[side])


def _turned(ids_by_case: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for case, ids in ids_by_case.items():
        for id in ids:
            found.setdefault(id, []).append(case)
    return found


def _gaps(name: str) -> tuple[Gap, ...]:
    rows = tomllib.loads(_read(name)).get("gap", [])
    return tuple(Gap(needs=row["needs"], why=row["why"], ids=tuple(_matching(row["ids"], name))) for row in rows)


def _matching(patterns: list[str], name: str) -> list[str]:
    """Return the ids that match patterns such as `ZK-*`; raise `ValueError` for a pattern without a match."""
    found = {pattern: [name for name in everything() if fnmatchcase(name, pattern)] for pattern in patterns}
    if idle := [pattern for pattern, ids in found.items() if not ids]:
        raise ValueError(f"{name}: no requirement is called {', '.join(idle)}")
    return [id for ids in found.values() for id in ids]


def _read(name: str) -> str:
    return resources.files("groupproof.protocol.rules").joinpath(name).read_text()
