"""A row of the museum: two releases of a client or a coordinator, the case that distinguishes them, and its outcome. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase

from groupproof.harness.model.verdicts import Verdict

__all__ = ["NEWEST_PROFILE", "MuseumRow", "RowOutcome", "RowState", "SideOutcome", "Visit", "visits_of"]

NEWEST_PROFILE = "kafka-4.1"


@dataclass(frozen=True, slots=True, order=True)
class Visit:
    """One run: a client release against the coordinator of one broker release, or a coordinator release by the rules of one profile."""

    subject: str
    profile: str
    side: str = "client"

    @property
    def folder(self) -> str:
        """Return the name of the folder for its report."""
        return self.subject if self.profile == NEWEST_PROFILE else f"{self.subject}-{self.profile}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MuseumRow:
    """A bug of a release. `buggy` is expected to get `verdict` and a text that contains `observed`; `fixed` is expected to get the verdict `then`.

    `source` is the issue, the pull request or the commit of the fix. `note` adds what the source does not say.
    """

    name: str
    subject: str
    buggy: str
    fixed: str
    case: str
    title: str
    source: str
    verdict: Verdict
    observed: str
    side: str = "client"
    profile: str = NEWEST_PROFILE
    note: str = ""
    then: Verdict = Verdict.OK

    @property
    def visits(self) -> tuple[Visit, Visit]:
        """Return its two runs, the release with the bug first."""
        buggy, fixed = (Visit(f"{self.subject}@{release}", self.profile, self.side) for release in (self.buggy, self.fixed))
        return buggy, fixed

    def is_meant(self, pattern: str) -> bool:
        """Return whether `pattern` names the row by its name, its subject or its case, as a prefix or a glob."""
        return any(name.startswith(pattern) or fnmatchcase(name, pattern) for name in (self.name, self.subject, self.case))


class RowState(Enum):
    """The outcome of a row: as the row says; otherwise; undecided by this run; or a release is not available here."""

    STANDS = "STANDS"
    FALLS = "FALLS"
    UNDECIDED = "UNDECIDED"
    ABSENT = "ABSENT"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideOutcome:
    """One release's part of a row. `line` is the trace line on which the verdict rests; `page` is its report."""

    release: str
    verdict: Verdict | None = None
    observed: str = ""
    line: str = ""
    page: str | None = None
    replay: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOutcome:
    """A row and its outcome. `reason` says why it does not stand; it is empty where the row stands."""

    row: MuseumRow
    state: RowState
    buggy: SideOutcome
    fixed: SideOutcome
    reason: str = ""


def visits_of(rows: Iterable[MuseumRow]) -> dict[Visit, tuple[str, ...]]:
    """Return the runs that the rows need, each with its cases. A release that several rows need runs once."""
    needed: dict[Visit, dict[str, None]] = {}
    for row in rows:
        for visit in row.visits:
            needed.setdefault(visit, {})[row.case] = None
    return {visit: tuple(cases) for visit, cases in needed.items()}
