from __future__ import annotations

import pytest

from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.selection import at_level, nearest, select
from groupproof.harness.model.verdicts import Level


def case(id: str, *requirements: str, level: Level = Level.MUST) -> Case:
    return Case(id=id, title=id, requirements=requirements, level=level, plan=Plan(members=(), steps=()), judges=())


CASES = [
    case("join/classic/late", "CLIENT-10"),
    case("join/classic/late-answer", "CLIENT-11", level=Level.SHOULD),
    case("sync/classic/late", "CLIENT-12", "HB-03", level=Level.INFO),
]


def ids(cases: list[Case]) -> list[str]:
    return [item.id for item in cases]


@pytest.mark.parametrize(
    ("only", "chosen"),
    [
        ("join", ["join/classic/late", "join/classic/late-answer"]),
        ("join/classic/late", ["join/classic/late"]),
        ("*/classic/late", ["join/classic/late", "sync/classic/late"]),
        ("HB-03", ["sync/classic/late"]),
        ("CLIENT-1*", ["join/classic/late", "join/classic/late-answer", "sync/classic/late"]),
        ("HB", ["sync/classic/late"]),
    ],
)
def test_patterns_are_ids_prefixes_and_globs_of_cases_and_requirements(only: str, chosen: list[str]) -> None:
    assert ids(select(CASES, only=[only])) == chosen


def test_skip_wins_over_only() -> None:
    assert ids(select(CASES, only=["join"], skip=["CLIENT-11"])) == ["join/classic/late"]


def test_a_level_includes_the_more_severe_ones_too() -> None:
    assert [len(at_level(CASES, level)) for level in ("must", "should", "info")] == [1, 2, 3]
    assert ids(select(CASES, level="should")) == ["join/classic/late", "join/classic/late-answer"]


@pytest.mark.parametrize(("only", "skip"), [(["sync/clasic/late"], []), ([], ["sync/clasic/late"])])
def test_a_pattern_that_matches_nothing_is_answered_with_the_nearest_names(only: list[str], skip: list[str]) -> None:
    with pytest.raises(WrongUsage, match=r"'sync/clasic/late' matches no case .*did you mean sync/classic/late"):
        select(CASES, only=only, skip=skip)


def test_an_empty_selection_is_wrong_usage() -> None:
    with pytest.raises(WrongUsage, match="no case at level must"):
        select(CASES, only=["sync"], level="must")


def test_names_that_are_far_from_all_get_no_hint() -> None:
    assert nearest("zzz", ["join", "sync"]) == ""
    assert nearest("jon", ["join", "sync"]) == "; did you mean join?"
