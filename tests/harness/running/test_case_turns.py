from __future__ import annotations

from collections.abc import Collection, Mapping

from groupproof.harness.cases.client import CASES
from groupproof.harness.model.case import Case
from groupproof.harness.running.case_turns import scheduled_cases

LONG, MIDDLE, SHORT = CASES[:3]


def turns(lengths: Mapping[str, float], failing: Collection[str] = (), *, jobs: int = 8) -> list[tuple[Case, bool]]:
    found = scheduled_cases([SHORT, MIDDLE, LONG], lambda case: lengths[case.id], failing=failing, jobs=jobs)
    return [(scheduled.case, scheduled.is_repeated_at_once) for scheduled in found]


def test_the_longest_case_begins_first() -> None:
    assert turns({LONG.id: 9, MIDDLE.id: 5, SHORT.id: 1}) == [(LONG, False), (MIDDLE, False), (SHORT, False)]


def test_a_failure_that_ends_in_time_with_its_repetitions_after_it_has_them_after_it_and_counts_twice() -> None:
    assert turns({LONG.id: 9, MIDDLE.id: 4, SHORT.id: 3}, {SHORT.id}) == [(LONG, False), (SHORT, False), (MIDDLE, False)]


def test_a_failure_that_would_be_the_last_to_end_has_its_repetitions_beside_it() -> None:
    assert turns({LONG.id: 9, MIDDLE.id: 5, SHORT.id: 1}, {LONG.id, MIDDLE.id}) == [(LONG, True), (MIDDLE, True), (SHORT, False)]


def test_where_three_runs_do_not_go_at_once_none_has_its_repetitions_beside_it() -> None:
    assert turns({LONG.id: 9, MIDDLE.id: 5, SHORT.id: 1}, {MIDDLE.id}, jobs=2) == [(MIDDLE, False), (LONG, False), (SHORT, False)]


def test_no_cases_have_no_turns() -> None:
    assert scheduled_cases([], lambda _case: 0.0, failing=(), jobs=1) == []
