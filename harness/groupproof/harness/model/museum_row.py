"""A row of the museum: two releases of a client or a coordinator, and the case that tells them apart. What it came to, too. Pure."""

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
    """What is run at one time: a release of a client before the coordinator of one broker release, or a release of a coordinator by the rules of one."""

    subject: str
    profile: str
    side: str = "client"

    @property
    def folder(self) -> str:
        """Return the folder's name of its report."""
        return self.subject if self.profile == NEWEST_PROFILE else f"{self.subject}-{self.profile}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MuseumRow:
    """A bug that a release had: `verdict` and a part of what is `observed` are expected of `buggy`, and the verdict `then` of `fixed`.

    `source` is the issue, the pull request or the commit that mended it; `note` says what the source itself does not say.
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
        """Return the two runs that it takes, that of the release with the bug first."""
        buggy, fixed = (Visit(f"{self.subject}@{release}", self.profile, self.side) for release in (self.buggy, self.fixed))
        return buggy, fixed

    def is_meant(self, pattern: str) -> bool:
        """Tell whether `pattern` names the row by its name, its subject or its case, as a prefix or a glob."""
        return any(name.startswith(pattern) or fnmatchcase(name, pattern) for name in (self.name, self.subject, self.case))


class RowState(Enum):
    """What a row came to: as it says; otherwise; not to be decided by this run; or a release cannot be had here."""

    STANDS = "STANDS"
    FALLS = "FALLS"
    UNDECIDED = "UNDECIDED"
    ABSENT = "ABSENT"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideOutcome:
    """One release's part of a row: `line` is the line of the trace on which the verdict rests, `page` where its report is."""

    release: str
    verdict: Verdict | None = None
    observed: str = ""
    line: str = ""
    page: str | None = None
    replay: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOutcome:
    """A row and what it came to; `reason` says why it does not stand, and is empty where it does."""

    row: MuseumRow
    state: RowState
    buggy: SideOutcome
    fixed: SideOutcome
    reason: str = ""


def visits_of(rows: Iterable[MuseumRow]) -> dict[Visit, tuple[str, ...]]:
    """Return the runs that the rows take, each with its cases; a release that several rows need is run once."""
    needed: dict[Visit, dict[str, None]] = {}
    for row in rows:
        for visit in row.visits:
            needed.setdefault(visit, {})[row.case] = None
    return {visit: tuple(cases) for visit, cases in needed.items()}
