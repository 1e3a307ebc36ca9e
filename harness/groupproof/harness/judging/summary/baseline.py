"""Compares a run with an earlier one: cases that moved off OK or now fail, vanished, are new, or improved. Pure.

What the baseline already has fails nothing: only the difference counts (docs/decisions/0012-only-the-difference-counts-against-a-baseline.md). A
failure of another kind is a new one (0013).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from groupproof.harness.model.selection import LEVELS
from groupproof.harness.model.verdicts import Goodbye, Level, Verdict

__all__ = ["Baseline", "CaseOutcome", "Change", "Delta", "RunScope"]

_RANKS: Final = {
    Verdict.OK: 0,
    Verdict.INFORMATIONAL: 1,
    Verdict.UNIMPLEMENTED: 1,
    Verdict.NON_STRICT: 2,
    Verdict.INCONCLUSIVE: 3,
    Verdict.EXCUSED: 4,
    Verdict.FAILED: 4,
    Verdict.BROKEN: 5,
}
"""The gravity of a verdict against a baseline. A verdict of the same or a lower rank is known."""

_BETWEEN_SENTENCES: Final = re.compile(r"(?<=\.)\s+")
_GOOD: Final = frozenset({Verdict.OK, Verdict.INFORMATIONAL, Verdict.NON_STRICT})
_FAILING: Final = frozenset({Verdict.FAILED, Verdict.INCONCLUSIVE, Verdict.BROKEN})
_JUDGED: Final = frozenset({Verdict.OK, Verdict.NON_STRICT, Verdict.INFORMATIONAL, Verdict.FAILED, Verdict.EXCUSED})


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutcome:
    """What a run found in one case, now or in the baseline."""

    id: str
    verdict: Verdict
    goodbye: Goodbye
    fingerprint: str
    observed: str
    requirements: tuple[str, ...]
    level: Level
    preview: bool

    @property
    def is_judged(self) -> bool:
        return self.verdict in _JUDGED


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScope:
    """What a run was asked for: patterns and level, the matching cases in this kit, and those of them that this run (or shard) selected."""

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    level: str = "info"
    existing: frozenset[str] = frozenset()
    selected: frozenset[str] = frozenset()

    def misses(self, case: CaseOutcome) -> bool:
        """Return whether a baseline case is missing in this run although it was asked for."""
        if case.id in self.existing:
            return case.id in self.selected
        names = (case.id, *case.requirements)
        asked = not self.only or _any(self.only, names)
        return asked and not _any(self.skip, names) and case.level in LEVELS[self.level]


def _any(patterns: Iterable[str], names: Sequence[str]) -> bool:
    return any(name.startswith(pattern) or fnmatchcase(name, pattern) for pattern in patterns for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One case that has changed. `before` or `now` is empty where the case does not exist."""

    id: str
    before: str
    now: str
    observed: str = ""

    def __str__(self) -> str:
        course = f"{self.before} → {self.now}" if self.before and self.now else self.before or self.now
        return f"{self.id}  {course}{f': {self.observed}' if self.observed else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """The difference. `known_cases` are those whose verdict and clean close fail nothing, because they were no better before. `lost` says that a
    required case has lost its verdict. `name` is the baseline's name."""

    name: str
    moved: tuple[Change, ...] = ()
    vanished: tuple[Change, ...] = ()
    new: tuple[Change, ...] = ()
    improved: tuple[Change, ...] = ()
    otherwise: tuple[Change, ...] = ()
    known_cases: frozenset[str] = frozenset()
    lost: bool = False
    unlike: tuple[str, ...] = ()

    @property
    def breaches(self) -> tuple[str, ...]:
        """Return the changes that fail the run by themselves: cases that left OK, now fail, fail in another way, or vanished."""
        undecided = {Verdict.INCONCLUSIVE.value, Verdict.BROKEN.value}
        anew = (change for change in self.otherwise if change.now == Verdict.FAILED.value)
        return tuple(str(change) for change in (*self.moved, *anew, *self.vanished) if change.now not in undecided)

    def lists(self) -> Iterator[tuple[str, tuple[Change, ...]]]:
        """Yield each kind of change that occurred, with its word, the most severe first."""
        named = {"moved": self.moved, "vanished": self.vanished, "fails in another way": self.otherwise, "new": self.new, "improved": self.improved}
        yield from ((word, changes) for word, changes in named.items() if changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """An earlier report: its cases without previews, by id."""

    name: str
    side: str
    about: Mapping[str, str]
    cases: Mapping[str, CaseOutcome]

    @classmethod
    def of(cls, report: Mapping[str, Any], name: str) -> Baseline:
        """Return the baseline from a `report.json`."""
        return cls(
            name=name,
            side=report["subject"]["side"],
            about={"subject": report["subject"]["name"], "profile": report["suite"]["profile"]},
            cases={case["id"]: _past(case) for case in report["cases"] if not case["preview"]},
        )

    def delta(
        self, now: Iterable[CaseOutcome], wanted: RunScope, *, about: Mapping[str, str], required: Collection[str] = (), fail_on: Collection[str] = ()
    ) -> Delta:
        """Compare a run with this baseline. `about` describes the run as `self.about` does the baseline. `required` are the ids of the cases that
        its grade needs."""
        present = {case.id: case for case in now if not case.preview}
        both = [(self.cases[id], case) for id, case in present.items() if id in self.cases]
        gone = [case for id, case in self.cases.items() if id not in present and wanted.misses(case)]
        judged = {id for id, case in present.items() if case.is_judged}
        within = {id for id in required if id in self.cases and self.cases[id].is_judged}
        return Delta(
            name=self.name,
            moved=tuple(change for before, case in both if (change := _moved(before, case, fail_on)) is not None),
            vanished=tuple(Change(id=case.id, before=case.verdict.value, now="") for case in gone),
            new=tuple(_change(None, case) for id, case in present.items() if id not in self.cases),
            improved=tuple(_change(before, case) for before, case in both if _has_improved(before, case)),
            otherwise=tuple(_change(before, case) for before, case in both if _fails_otherwise(before, case)),
            known_cases=frozenset(case.id for before, case in both if _is_known(before, case)),
            lost=not within <= judged,
            unlike=tuple(f"{word} {self.about[word]}, not {value}" for word, value in about.items() if self.about[word] != value),
        )


def _past(case: Mapping[str, Any]) -> CaseOutcome:
    return CaseOutcome(
        id=case["id"],
        verdict=Verdict(case["verdict"]),
        goodbye=Goodbye(case["goodbye"]),
        fingerprint=case["fingerprint"] or "",
        observed=case["observed"],
        requirements=tuple(case["requirements"]),
        level=Level(case["level"]),
        preview=case["preview"],
    )


def _moved(before: CaseOutcome, now: CaseOutcome, fail_on: Collection[str]) -> Change | None:
    """Return the change where a case has left OK or now fails. A case that an expectation excuses has not moved."""
    if before.verdict is Verdict.OK and now.verdict not in (Verdict.OK, Verdict.EXCUSED):
        return _change(before, now)
    if now.verdict in _FAILING and _RANKS[now.verdict] > _RANKS[before.verdict]:
        return _change(before, now)
    if "non-strict" in fail_on and now.verdict is Verdict.NON_STRICT and _RANKS[before.verdict] < _RANKS[now.verdict]:
        return _change(before, now)
    if "unclean" in fail_on and now.goodbye is Goodbye.UNCLEAN and before.goodbye is not Goodbye.UNCLEAN:
        return Change(id=now.id, before=f"goodbye {before.goodbye.value}", now=f"goodbye {now.goodbye.value}")
    return None


def _has_improved(before: CaseOutcome, now: CaseOutcome) -> bool:
    return now.verdict in _GOOD and _RANKS[now.verdict] < _RANKS[before.verdict]


def _fails_otherwise(before: CaseOutcome, now: CaseOutcome) -> bool:
    """Return whether a case that failed before now fails in another way. One with only some of the old findings fails in the old way."""
    if not {before.verdict, now.verdict} <= {Verdict.FAILED, Verdict.EXCUSED} or before.fingerprint == now.fingerprint:
        return False
    return not _sentences(now) < _sentences(before)


def _sentences(present: CaseOutcome) -> frozenset[str]:
    return frozenset(_BETWEEN_SENTENCES.split(present.observed))


def _is_known(before: CaseOutcome, now: CaseOutcome) -> bool:
    parted = now.goodbye is Goodbye.UNCLEAN and before.goodbye is not Goodbye.UNCLEAN
    fails_anew = now.verdict is Verdict.FAILED and _fails_otherwise(before, now)
    return _RANKS[now.verdict] <= _RANKS[before.verdict] and not parted and not fails_anew


def _change(before: CaseOutcome | None, now: CaseOutcome) -> Change:
    text = "" if now.verdict is Verdict.OK else now.observed
    return Change(id=now.id, before="" if before is None else before.verdict.value, now=now.verdict.value, observed=text)
