"""Known failures: read from TOML, matched against a run's results, and written from them (contract, "Expectations").

A known failure still runs. One that passes, fails differently, or has expired makes its entry stale, and the run fails. Where an entry
covers several cases it stands while at least one of those that reached a verdict still fails as it says.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from groupproof.harness.troubles import WrongUsage
from groupproof.harness.verdicts import Verdict
from groupproof.protocol.schemas import SchemaError, validate

__all__ = ["Expectations", "Known", "Observed", "Settled", "load", "settle"]

_NO_VERDICT = frozenset({Verdict.INCONCLUSIVE, Verdict.BROKEN})


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
    """Which cases are excused, and by which entry; and the stale entries, each with what is wrong with it. `open` are entries (where they
    stand, what is wrong) that are stale unless a case that another shard runs still fails as they say."""

    excused: dict[str, Known]
    stale: tuple[str, ...]
    open: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    known: tuple[Known, ...] = ()

    def about(self, release: str, profile: str) -> tuple[Known, ...]:
        return tuple(each for each in self.known if each.is_about(release, profile))


def _holds(releases: SpecifierSet, release: str) -> bool:
    """Tell whether `release` is meant; one without a usual form is covered only by entries that name no releases."""
    try:
        return releases.contains(Version(release), prereleases=True)
    except InvalidVersion:
        return not len(releases)


def load(path: Path) -> Expectations:
    """Raise `WrongUsage` for a file that is missing, no TOML, or no expectations."""
    try:
        with path.open("rb") as file:
            data = tomllib.load(file)
    except OSError as error:
        raise WrongUsage(f"can't read the expectations {path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise WrongUsage(f"{path} is no TOML: {error}") from error
    try:
        validate("expectations", data)
    except SchemaError as error:
        raise WrongUsage(f"{path}: {error}") from error
    return Expectations(known=tuple(_entry(each, f"{path.name}, entry {number}") for number, each in enumerate(data.get("known", []), 1)))


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


def settle(known: Iterable[Known], observed: Sequence[Observed], today: date, *, elsewhere: Collection[str] = ()) -> Settled:
    """Match the entries that are about this subject with what was observed; `elsewhere` are the cases that other shards of the run have.

    An entry that covers no case of this run, or only cases that came to no verdict, is neither used nor stale.
    """
    excused: dict[str, Known] = {}
    stale: list[str] = []
    left: list[tuple[str, str]] = []
    for entry in known:
        covered = [each for each in observed if entry.covers(each.case) and each.verdict not in _NO_VERDICT - {entry.verdict}]
        failing = [each for each in covered if entry.excuses(each)]
        if entry.expires is not None and today > entry.expires:
            stale.append(f"{entry.where} ({entry.case}): expired on {entry.expires}")
        elif covered and not failing:
            told = f"{entry.where} ({entry.case}): {_instead(entry, covered)}"
            if any(entry.covers(case) for case in elsewhere):
                left.append((entry.where, told))
            else:
                stale.append(told)
        else:
            excused.update({each.case: entry for each in failing})
    return Settled(excused=excused, stale=tuple(stale), open=tuple(left))


def _instead(entry: Known, covered: Sequence[Observed]) -> str:
    first = next((each for each in covered if each.verdict is entry.verdict), covered[0])
    if first.verdict is entry.verdict:
        return f"{first.case} is {first.verdict.value} in another way: fingerprint {first.fingerprint}, not {entry.fingerprint}"
    return f"{first.case} is {first.verdict.value}, not {entry.verdict.value} any more"
