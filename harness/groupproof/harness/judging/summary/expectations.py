"""Known failures: read from TOML, matched against a run's results, and written from them (contract, "Expectations").

A known failure still runs. One that passes, fails differently, or has expired makes its entry stale, and the run fails. An entry that covers several
cases excuses them only while each of them that came to a verdict fails as it says: one that doesn't makes it stale. Only what is FAILED or NON_STRICT
can be excused; what came to no verdict has shown nothing that could be known.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.verdicts import UNDECIDED, Verdict
from groupproof.protocol.schemas import SchemaError, validate

__all__ = ["Expectations", "Known", "Observed", "Settled", "load", "settle"]

_NO_VERDICT = frozenset({Verdict.INCONCLUSIVE, Verdict.BROKEN})
_UNDECIDED = frozenset(each.value for each in UNDECIDED)
_NAMED_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One entry; `where` says in which file and as which entry it stands, `others` in which other ways a subject may fail that draws lots."""

    case: str
    verdict: Verdict
    reason: str
    source: str
    subject: SpecifierSet
    profile: str = "*"
    fingerprint: str
    others: tuple[str, ...] = ()
    expires: date | None = None
    where: str = ""

    def covers(self, case: str) -> bool:
        """Tell whether `case` is meant: as an id, a prefix (`join`, `join/classic`) or a glob."""
        return case == self.case or case.startswith(f"{self.case.rstrip('/')}/") or fnmatchcase(case, self.case)

    def is_about(self, release: str, profile: str) -> bool:
        return fnmatchcase(profile, self.profile) and _holds(self.subject, release)

    def excuses(self, observed: Observed) -> bool:
        """Tell whether the case fails as this entry says it does."""
        return self.covers(observed.case) and observed.verdict is self.verdict and self.fails_as(observed.fingerprint)

    def fails_as(self, fingerprint: str) -> bool:
        return fingerprint in (self.fingerprint, *self.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What a run found of one case."""

    case: str
    verdict: Verdict
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """Which cases are excused, and by which entry; and the stale entries, each with where it stands and what is wrong with it."""

    excused: dict[str, Known]
    stale: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    known: tuple[Known, ...] = ()

    def about(self, release: str, profile: str) -> tuple[Known, ...]:
        return tuple(each for each in self.known if each.is_about(release, profile))


def _holds(releases: SpecifierSet, release: str) -> bool:
    """Tell whether `release` is meant; one without a usual form, such as Go's for a commit, is covered by `===` it, and by entries that name no releases."""
    try:
        return releases.contains(Version(release), prereleases=True)
    except InvalidVersion:
        return not len(releases) or any(each.operator == "===" and each.version == release for each in releases)


def load(path: Path) -> Expectations:
    """Raise `WrongUsage` for a file that is missing, no TOML, or no expectations."""
    try:
        with path.open("rb") as file:
            data = tomllib.load(file)
    except OSError as error:
        raise WrongUsage(f"can't read the expectations {path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise WrongUsage(f"{path} is no TOML: {error}") from error
    _refuse_what_is_no_failure(data, path.name)
    try:
        validate("expectations", data)
    except SchemaError as error:
        raise WrongUsage(f"{path}: {error}") from error
    return Expectations(known=tuple(_entry(each, f"{path.name}, entry {number}") for number, each in enumerate(data.get("known", []), 1)))


def _refuse_what_is_no_failure(data: dict[str, Any], file: str) -> None:
    entries = data.get("known")
    for number, each in enumerate(entries if isinstance(entries, list) else [], 1):
        verdict = each.get("verdict") if isinstance(each, dict) else None
        if verdict in _UNDECIDED:
            raise WrongUsage(
                f"{file}, entry {number} ({each.get('case')}): {verdict} can't be excused, for it is no failure that could be known; only FAILED and "
                "NON_STRICT can: take the entry out"
            )


def _entry(data: dict[str, Any], where: str) -> Known:
    try:
        releases = SpecifierSet(data["subject"])
    except InvalidSpecifier as error:
        raise WrongUsage(f"{where}: subject: {error}; write releases such as >=2.0,<3.0") from error
    first, *others = [data["fingerprint"]] if isinstance(data["fingerprint"], str) else data["fingerprint"]
    return Known(
        case=data["case"],
        verdict=Verdict(data["verdict"]),
        reason=data["reason"],
        source=data.get("url") or data["findings"],
        subject=releases,
        profile=data.get("profile", "*"),
        fingerprint=first,
        others=tuple(others),
        expires=data.get("expires"),
        where=where,
    )


def settle(known: Iterable[Known], observed: Sequence[Observed], today: date) -> Settled:
    """Match the entries that are about this subject with what was observed.

    An entry that covers no case of this run, or only cases that came to no verdict, is neither used nor stale.
    """
    excused: dict[str, Known] = {}
    stale: list[str] = []
    for entry in known:
        covered = [each for each in observed if entry.covers(each.case) and each.verdict not in _NO_VERDICT]
        otherwise = [each for each in covered if not entry.excuses(each)]
        if entry.expires is not None and today > entry.expires:
            stale.append(f"{entry.where} ({entry.case}): expired on {entry.expires}")
        elif otherwise:
            stale.append(f"{entry.where} ({entry.case}): {_instead(entry, otherwise)}")
        else:
            excused.update({each.case: entry for each in covered})
    return Settled(excused=excused, stale=tuple(stale))


def _instead(entry: Known, otherwise: Sequence[Observed]) -> str:
    """Return what became of the cases that don't fail as the entry says, those first that fail in another way."""
    ordered = sorted(otherwise, key=lambda each: each.verdict is not entry.verdict)
    more = f"; and {len(ordered) - _NAMED_MAX} more" if len(ordered) > _NAMED_MAX else ""
    return "; ".join(_stands(entry, each) for each in ordered[:_NAMED_MAX]) + more


def _stands(entry: Known, each: Observed) -> str:
    if each.verdict is entry.verdict:
        return f"{each.case} is {each.verdict.value} in another way: fingerprint {each.fingerprint}, not {entry.fingerprint}"
    return f"{each.case} is {each.verdict.value}, not {entry.verdict.value} any more"
