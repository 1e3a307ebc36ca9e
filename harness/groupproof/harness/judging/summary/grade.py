"""The totals, grade and exit code of a whole run (contract, "Verdicts", "Exit codes"). Pure.

The required cases of a level are the marked ones that need only capabilities of every client. Features that a client may lack (static, cooperative,
…) and what old brokers lack are excluded; otherwise a client could never be complete. A client that declares nothing never passes. A dialect is no
such feature: a client that declares KIP-848's must prove what every client of it can do. For a coordinator the required cases are those that need
only APIs of the classic protocol in any version.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from groupproof.harness.model.case import Case
from groupproof.harness.model.case_dialect import CLASSIC_CAPABILITY, dialect_of_case
from groupproof.harness.model.errors import RunError
from groupproof.harness.model.prerequisites import is_core, is_spoken, unheard_of
from groupproof.harness.model.selection import at_level
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.protocol.rules.classic.releases import RELEASES

__all__ = ["CORE_CAPABILITIES", "CaseCount", "dialects_of", "exit_code", "grade_of", "required_of", "totals_of", "unjudged_of"]

CORE_CAPABILITIES = frozenset({CLASSIC_CAPABILITY, "commit", "pause"})
"""The capabilities of every consumer of the classic protocol. A case that needs no others can be on its level's required list.

A callback that a rebalance waits for and a changeable subscription are features: kafkajs has neither, @platformatic/kafka has no callback.
"""

_OLDEST = min(RELEASES, key=RELEASES.__getitem__)
"""A client need not prove what the oldest brokers of a dialect lack."""

_JUDGED = frozenset({Verdict.OK, Verdict.NON_STRICT, Verdict.INFORMATIONAL, Verdict.FAILED, Verdict.EXCUSED})

_PRECEDENCE = (5, 3, 1, 4, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseCount:
    """What counts of one case's result. `ended_shared`: a process that the case shared with others ended unasked, whatever the cause."""

    case: Case
    verdict: Verdict
    goodbye: Goodbye
    ended_shared: bool = False
    trouble: RunError | None = None


def totals_of(counted: Iterable[CaseCount]) -> dict[str, int]:
    """Return how many cases have each verdict. Previews are reported elsewhere and not counted."""
    counts = Counter(count.verdict for count in counted if not count.case.preview)
    return {verdict.value: counts[verdict] for verdict in Verdict}


def required_of(catalogue: Iterable[Case], level: str) -> list[Case]:
    """Return the required cases of a level, whatever was selected."""
    oldest = cache(_oldest_release_with)  # for this call only: a dialect can be registered after it
    return [case for case in at_level(catalogue, level) if case.required and not case.preview and _is_for_all(case, oldest)]


def _is_for_all(case: Case, oldest: Callable[[str], str]) -> bool:
    if case.side == "coordinator":
        return is_core(case)
    dialect = dialect_of_case(case.id)
    return case.needs - {dialect} <= CORE_CAPABILITIES and not unheard_of(case, oldest(dialect))


def _oldest_release_with(dialect: str) -> str:
    return min((name for name in RELEASES if is_spoken(dialect, name)), key=RELEASES.__getitem__, default=_OLDEST)


def unjudged_of(verdicts: Mapping[str, Verdict], catalogue: Iterable[Case], level: str) -> list[Case]:
    """Return the required cases of a level without a verdict on the subject. `verdicts` are a run's, by case."""
    return [case for case in required_of(catalogue, level) if verdicts.get(case.id) not in _JUDGED]


def grade_of(counted: Sequence[CaseCount], catalogue: Iterable[Case], level: str) -> str:
    """Return PASSED, FAILED, PARTIAL n/m or NO_VERDICT."""
    judged = {count.case.id for count in counted if count.verdict in _JUDGED}
    if any(count.verdict is Verdict.FAILED and not count.case.preview for count in counted):
        return "FAILED"
    required = required_of(catalogue, level)
    reached = sum(1 for case in required if case.id in judged)
    if not judged:
        return "NO_VERDICT"
    return "PASSED" if reached == len(required) else f"PARTIAL {reached}/{len(required)}"


def dialects_of(counted: Sequence[CaseCount], catalogue: Iterable[Case], level: str) -> Mapping[str, tuple[str, dict[str, int]]]:
    """Return grade and totals of each dialect with cases in the run, if there is more than one."""
    mine: dict[str, list[CaseCount]] = {}
    for count in counted:
        mine.setdefault(dialect_of_case(count.case.id), []).append(count)
    cases: dict[str, list[Case]] = {dialect: [] for dialect in mine}
    for case in catalogue:
        cases.setdefault(dialect_of_case(case.id), []).append(case)
    return {dialect: (grade_of(mine[dialect], cases[dialect], level), totals_of(mine[dialect])) for dialect in mine} if len(mine) > 1 else {}


def exit_code(
    counted: Sequence[CaseCount], grade: str, *, stale: Collection[str] = (), fail_on: Collection[str] = (), interrupted: bool = False
) -> int:
    """Return the exit code of a run. The contract's precedence chooses among several; an interruption comes first."""
    if interrupted:
        return 130
    codes = {code for count in counted for code in _codes(count, fail_on)}
    if stale:
        codes.add(1)
    if grade == "NO_VERDICT" or grade.startswith("PARTIAL"):
        codes.add(2)
    return next((code for code in _PRECEDENCE if code in codes), 0)


def _codes(counted: CaseCount, fail_on: Collection[str]) -> Iterable[int]:
    if counted.trouble is not None:
        yield counted.trouble.exit_code
    elif counted.case.preview:
        return
    elif counted.verdict is Verdict.FAILED:
        yield 1
    elif counted.verdict is Verdict.BROKEN:
        yield 4
    elif counted.verdict is Verdict.INCONCLUSIVE:
        yield 2
    elif counted.verdict is Verdict.NON_STRICT and "non-strict" in fail_on:
        yield 1
    if (counted.goodbye is Goodbye.UNCLEAN or counted.ended_shared) and "unclean" in fail_on and not counted.case.preview:
        yield 1
