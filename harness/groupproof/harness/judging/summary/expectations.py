"""Known failures: read from TOML, matched against a run's results, and written from them (contract, "Expectations").

A known failure still runs. If it passes, fails differently, or has expired, its entry is stale and the run fails. An entry for several cases
excuses them only while each of them with a verdict fails as the entry says; one that does not makes it stale. Only FAILED and NON_STRICT can be
excused: a case without a verdict has proven nothing that could be known.

A race of the subject with itself may occur in any case of a class. Its entry, `by_chance` over many cases, names findings, not the failures of
cases. Other findings of a case are matched with the other entries as if the race had not occurred. Findings in only some runs of a case make it
INCONCLUSIVE. If entries `by_chance` name all of them, the case is excused, because these entries say that they come and go.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from groupproof.harness.judging.ruling import Ruling
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.verdicts import ADVERSE, UNDECIDED, Finding, Verdict, fingerprint, worst
from groupproof.protocol.schemas import SchemaError, validate

__all__ = ["CaseVerdict", "Expectations", "KnownFailure", "MatchedExpectations", "load", "settle", "verdict_of", "without_races"]

_NO_VERDICT = frozenset({Verdict.INCONCLUSIVE, Verdict.BROKEN})
_UNDECIDED = frozenset(verdict.value for verdict in UNDECIDED)
_NAMED_MAX = 5
_SLASHES_OF_IDS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """One entry. `where` names its file and number. `others` are other ways in which a nondeterministic subject may fail.

    An entry `by_chance` needs more luck than its case can force, such as a race of the subject with itself. A case that passes does not contradict
    it.
    """

    case: str
    verdict: Verdict
    reason: str
    source: str
    subject: SpecifierSet
    profile: str = "*"
    fingerprint: str
    others: tuple[str, ...] = ()
    by_chance: bool = False
    expires: date | None = None
    where: str = ""

    def covers(self, case: str) -> bool:
        """Return whether the entry covers `case`: as an id, a prefix (`join`, `join/classic`) or a glob."""
        return case == self.case or case.startswith(f"{self.case.rstrip('/')}/") or fnmatchcase(case, self.case)

    @property
    def ways(self) -> frozenset[str]:
        """Return the fingerprints by which the failure is known."""
        return frozenset({self.fingerprint, *self.others})

    @property
    def is_race(self) -> bool:
        """Whether the entry names a race of the subject that may occur in any case of a class."""
        return self.by_chance and (self.case.count("/") < _SLASHES_OF_IDS or any(sign in self.case for sign in "*?["))

    def is_about(self, release: str, profile: str) -> bool:
        return fnmatchcase(profile, self.profile) and _holds(self.subject, release)

    def excuses(self, observed: CaseVerdict) -> bool:
        """Return whether the case fails as this entry says, in all its runs or, by chance, in some."""
        if not self.covers(observed.case):
            return False
        if observed.is_unstable:
            return self.by_chance and not observed.without(self)
        return observed.verdict is self.verdict and self.fails_as(observed.fingerprint, observed.parts)

    def fails_as(self, whole: str, parts: Collection[str] = ()) -> bool:
        """Return whether the entry names the failure as a whole. For one with several ways, each finding may be named instead."""
        return whole in self.ways or (bool(self.others) and bool(parts) and self.ways.issuperset(parts))

    def is_spared(self, observed: CaseVerdict) -> bool:
        """Return whether the failure is one of chance that did not occur this time."""
        return self.by_chance and observed.verdict is not self.verdict and worst([observed.verdict, self.verdict]) is self.verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseVerdict:
    """What a run found in one case. `parts` are its findings by fingerprint. An unstable one has no verdict: only some of its runs show the
    findings."""

    case: str
    verdict: Verdict
    fingerprint: str
    parts: Mapping[str, Finding] = field(default_factory=dict)
    is_unstable: bool = False

    def without(self, race: KnownFailure) -> CaseVerdict | None:
        """Return the case's failure without the race. Return None where nothing remains."""
        if not race.covers(self.case):
            return self
        if self.verdict is race.verdict and self.fingerprint in race.ways:
            return None
        left = {print: finding for print, finding in self.parts.items() if print not in race.ways or finding.verdict is not race.verdict}
        if len(left) == len(self.parts):
            return self
        return replace(self, fingerprint=fingerprint(left.values()), parts=left) if left else None


def verdict_of(case: str, ruling: Ruling) -> CaseVerdict:
    """Return the part of a ruling that is matched."""
    decisive = {ruling.verdict} & ADVERSE if not ruling.is_unstable else ADVERSE
    parts = {fingerprint([finding]): finding for finding in ruling.findings if finding.verdict in decisive}
    return CaseVerdict(case=case, verdict=ruling.verdict, fingerprint=ruling.fingerprint, parts=parts, is_unstable=ruling.is_unstable)


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedExpectations:
    """The excused cases, each with its entry; and the stale entries, each with its place and problem."""

    excused: dict[str, KnownFailure]
    stale: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    failures: tuple[KnownFailure, ...] = ()

    def about(self, release: str, profile: str) -> tuple[KnownFailure, ...]:
        return tuple(verdict for verdict in self.failures if verdict.is_about(release, profile))


def _holds(releases: SpecifierSet, release: str) -> bool:
    """Return whether `release` is covered. A release in an unusual form, such as Go's for a commit, is covered by `===` it, and by entries without
    releases."""
    try:
        return releases.contains(Version(release), prereleases=True)
    except InvalidVersion:
        return not len(releases) or any(verdict.operator == "===" and verdict.version == release for verdict in releases)


def load(path: Path) -> Expectations:
    """Return the expectations of a file. Raise `WrongUsage` where it is missing, no TOML, or no expectations file."""
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
    return Expectations(
        failures=tuple(
            failure for number, entry in enumerate(data.get("known", []), 1) for failure in _failures(entry, f"{path.name}, entry {number}")
        )
    )


def _refuse_what_is_no_failure(data: dict[str, Any], file: str) -> None:
    entries = data.get("known")
    for number, entry in enumerate(entries if isinstance(entries, list) else [], 1):
        verdict = entry.get("verdict") if isinstance(entry, dict) else None
        if verdict in _UNDECIDED:
            raise WrongUsage(
                f"{file}, entry {number} ({entry.get('case')}): {verdict} can't be excused, because it is not a failure; only FAILED and "
                "NON_STRICT can be: remove the entry"
            )


def _failures(entry: dict[str, Any], where: str) -> Iterator[KnownFailure]:
    """Yield the known failures of an entry: one, or one for each of its `cases`, which share a cause."""
    cases = entry.get("cases") or {entry["case"]: entry["fingerprint"]}
    for case, prints in cases.items():
        yield _failure({**entry, "case": case, "fingerprint": prints}, where)


def _failure(data: dict[str, Any], where: str) -> KnownFailure:
    try:
        releases = SpecifierSet(data["subject"])
    except InvalidSpecifier as error:
        raise WrongUsage(f"{where}: subject: {error}; write releases such as >=2.0,<3.0") from error
    first, *others = [data["fingerprint"]] if isinstance(data["fingerprint"], str) else data["fingerprint"]
    return KnownFailure(
        case=data["case"],
        verdict=Verdict(data["verdict"]),
        reason=data["reason"],
        source=data.get("url") or data["findings"],
        subject=releases,
        profile=data.get("profile", "*"),
        fingerprint=first,
        others=tuple(others),
        by_chance=data.get("by_chance", False),
        expires=data.get("expires"),
        where=where,
    )


def settle(failures: Iterable[KnownFailure], observed: Sequence[CaseVerdict], today: date) -> MatchedExpectations:
    """Match the entries about this subject with what was observed.

    An entry that covers no case of this run, or only cases without a verdict, is neither used nor stale.
    """
    failures = tuple(failures)
    stale = [f"{entry.where} ({entry.case}): expired on {entry.expires}" for entry in failures if _is_over(entry, today)]
    current = [entry for entry in failures if not _is_over(entry, today)]
    left, excused = _after_races(current, observed)
    for entry in current:
        if entry.is_race:
            continue
        decided = [verdict for verdict in left if entry.excuses(verdict) or (entry.covers(verdict.case) and verdict.verdict not in _NO_VERDICT)]
        failing = [verdict for verdict in decided if entry.excuses(verdict)]
        otherwise = [verdict for verdict in decided if verdict not in failing and not entry.is_spared(verdict)]
        if otherwise:
            stale.append(f"{entry.where} ({entry.case}): {_instead(entry, otherwise)}")
        else:
            excused.update({verdict.case: entry for verdict in failing})
    return MatchedExpectations(excused=excused, stale=tuple(stale))


def without_races(failures: Iterable[KnownFailure], observed: CaseVerdict, today: date) -> CaseVerdict | None:
    """Return a case's failure without the known races. Return None where nothing remains; then no other entry is used or becomes stale by it."""
    left, _ = _after_races([entry for entry in failures if not _is_over(entry, today)], [observed])
    return left[0] if left else None


def _is_over(entry: KnownFailure, today: date) -> bool:
    return entry.expires is not None and today > entry.expires


def _after_races(failures: Iterable[KnownFailure], observed: Iterable[CaseVerdict]) -> tuple[list[CaseVerdict], dict[str, KnownFailure]]:
    """Return the verdicts without the races, and the cases of which nothing remains, each with the race that explains it."""
    left, excused = list(observed), dict[str, KnownFailure]()
    entries = tuple(failures)
    own = {verdict.case for verdict in left for entry in entries if not entry.is_race and entry.excuses(verdict)}
    for race in (entry for entry in entries if entry.is_race):
        # A case that fails as its own entry says belongs to that entry, even if a race names the finding too.
        beside = [(verdict, verdict if verdict.case in own else verdict.without(race)) for verdict in left]
        excused.update({verdict.case: race for verdict, rest in beside if rest is None})
        left = [rest for _, rest in beside if rest is not None]
    return left, excused


def _instead(entry: KnownFailure, otherwise: Sequence[CaseVerdict]) -> str:
    """Return the results of the cases that do not fail as the entry says, first those that fail in another way."""
    ordered = sorted(otherwise, key=lambda verdict: verdict.verdict is not entry.verdict)
    more = f"; and {len(ordered) - _NAMED_MAX} more" if len(ordered) > _NAMED_MAX else ""
    return "; ".join(_still_fails(entry, verdict) for verdict in ordered[:_NAMED_MAX]) + more


def _still_fails(entry: KnownFailure, verdict: CaseVerdict) -> str:
    if verdict.verdict is entry.verdict:
        return f"{verdict.case} is {verdict.verdict.value} in another way: fingerprint {verdict.fingerprint}, not {entry.fingerprint}"
    return f"{verdict.case} is {verdict.verdict.value}, not {entry.verdict.value} any more"
