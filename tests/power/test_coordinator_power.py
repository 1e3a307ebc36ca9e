"""Power of the coordinator cases, both ways: planted bugs are caught, every case can be failed, and no legal coordinator ever is.

`caught_of_coordinators.toml` says which case catches which bug of the reference coordinator, and which bug fails which case. Runs take virtual
time and have a seed; cases that one bug is to fail run side by side. `make soak` catches every bug, and runs every legal variant on every case.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest
from tests.power.coordinators import PROFILE, judgements
from tests.power.shares import PARTS, is_drawn, parts

from groupproof.coordinator.planted.variants import BUGS, LEGAL, OF_OTHER_DIALECTS, variant_named, variants
from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.case import Case, script_of
from groupproof.harness.model.verdicts import Level, Verdict

TABLE = tomllib.loads((Path(__file__).parent / "caught_of_coordinators.toml").read_text())
CAUGHT: dict[str, str] = TABLE["bugs"]
REPORTED: dict[str, str] = TABLE["reported"]
SILENT: dict[str, str] = TABLE["silent"]
"""By patterns of the bugs' names."""
OPEN: dict[str, str] = TABLE["open"]
"""By patterns of the names of mutants of other dialects, too."""
LATER: dict[str, str] = TABLE["later"]
"""What the rules of `PROFILE` never let show, and those of `LATER_PROFILE` do."""
LATER_PROFILE = "kafka-4.4"
REPORTED_LATER: dict[str, str] = TABLE["reported_later"]
REPORTED_LATER_PROFILE = "kafka-4.3"
FAILED_BY: dict[str, str] = TABLE["cases"]
UNFAILED: dict[str, str] = TABLE["unfailed"]
PROFILES: dict[str, str] = TABLE["profiles"]

OTHERS = {bug.name for bug in OF_OTHER_DIALECTS}
BY_ID = {case.id: case for case in CASES}
FATAL = {Verdict.FAILED, Verdict.BROKEN}
ADVERSE = FATAL | {Verdict.NON_STRICT}
TOLD = {Level.MUST: FATAL, Level.SHOULD: ADVERSE, Level.INFO: ADVERSE | {Verdict.INFORMATIONAL}}
"""The verdicts by which a case of that level tells of a bug; on the reference every case is OK."""
CAUGHT_MIN = 1_000
OPEN_MAX = 0
"""How many mutants of other dialects a case could show that none does: it only goes down."""
LEGAL_MIN = 10
WORDS_MIN = 8

# Every mutant of the table, and every legal variant on all cases, take minutes: a share of each is run each time.
BUGS_SHARE = 8
OTHERS_SHARE = 24
LEGAL_SHARE = 96
STEPS_MAX = 2_000
"""The thousand members take a minute."""


def _is_quick(case: str) -> bool:
    return len(script_of(BY_ID[case]).steps) <= STEPS_MAX


def _is_failed(case: Case, judgement: Judgement) -> bool:
    return judgement.verdict in TOLD[case.level]


@cache
def _cases_by_bug() -> dict[tuple[str, str, bool], list[Case]]:
    """Return the cases that a bug is to fail, by the bug and the profile that they need, and whether they are quick."""
    found: dict[tuple[str, str, bool], list[Case]] = {}
    for case, bug in FAILED_BY.items():
        found.setdefault((bug, PROFILES.get(case, PROFILE), _is_quick(case)), []).append(BY_ID[case])
    return found


def test_there_are_enough_variants() -> None:
    assert len(CAUGHT) >= CAUGHT_MIN
    assert len(LEGAL) >= LEGAL_MIN


def test_every_bug_is_caught_or_is_not_for_a_reason() -> None:
    names = {bug.name for bug in (*BUGS, *OF_OTHER_DIALECTS)}
    silent = {name for name in names if _is_of(name, SILENT)}

    lines = CAUGHT.keys() | REPORTED.keys() | LATER.keys() | REPORTED_LATER.keys()

    assert {"unknown": sorted(lines - names), "missing": sorted(names - lines - silent - _open())} == {"unknown": [], "missing": []}
    assert sorted(silent & lines) == sorted(CAUGHT.keys() & REPORTED.keys()) == sorted(CAUGHT.keys() & LATER.keys()) == []
    assert [pattern for pattern in SILENT if not any(fnmatchcase(name, pattern) for name in names)] == []
    assert [pattern for pattern, reason in SILENT.items() if len(reason.split()) < WORDS_MIN] == []


def test_what_no_case_shows_yet_is_of_other_dialects_and_becomes_less() -> None:
    assert len(_open()) <= OPEN_MAX
    assert [pattern for pattern in OPEN if not any(fnmatchcase(name, pattern) for name in _open())] == []


def _open() -> set[str]:
    reported = CAUGHT.keys() | REPORTED.keys() | LATER.keys() | REPORTED_LATER.keys()
    return {name for name in OTHERS - reported if _is_of(name, OPEN) and not _is_of(name, SILENT)}


def _is_of(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _share_of(bug: str) -> int:
    """Return of how many bugs of its kind one is proven in the gate."""
    return OTHERS_SHARE if bug in OTHERS else BUGS_SHARE


def test_every_case_can_be_failed() -> None:
    assert {"unknown": sorted(FAILED_BY.keys() - BY_ID.keys()), "never failed": sorted(BY_ID.keys() - FAILED_BY.keys())} == {
        "unknown": [],
        "never failed": [],
    }
    assert UNFAILED == {}
    assert sorted(set(FAILED_BY.values()) - {bug.name for bug in (*BUGS, *OF_OTHER_DIALECTS)}) == []


@pytest.mark.parametrize(("bug", "profile", "are_quick"), parts(_cases_by_bug(), lambda key: key[-1]))
def test_a_bug_fails_the_cases_that_are_its_own(bug: str, profile: str, are_quick: bool) -> None:
    cases = _cases_by_bug()[bug, profile, are_quick]
    found = judgements(bug, cases, profile=profile)

    assert {case.id: found[case.id].verdict.value for case in cases if not _is_failed(case, found[case.id])} == {}, variant_named(bug).says


@pytest.mark.parametrize(
    ("bug", "case"),
    parts([(bug, case) for bug, case in CAUGHT.items() if FAILED_BY.get(case) != bug], lambda pair: is_drawn(pair[0], _share_of(pair[0]))),
)
def test_a_bug_is_caught_by_the_case_that_should(bug: str, case: str) -> None:
    judgement = judgements(bug, [BY_ID[case]])[case]

    assert judgement.verdict in ADVERSE, f"{judgement.verdict.value}: {judgement.reason}"


@pytest.mark.parametrize(("bug", "case"), LATER.items())
def test_a_bug_that_shows_in_a_later_release_alone_is_caught_by_its_rules(bug: str, case: str) -> None:
    judgement = judgements(bug, [BY_ID[case]], profile=LATER_PROFILE)[case]

    assert judgement.verdict in ADVERSE, f"{judgement.verdict.value}: {judgement.reason}"


@pytest.mark.parametrize(("bug", "case"), REPORTED.items())
def test_a_bug_that_no_client_minds_is_reported(bug: str, case: str) -> None:
    judgement = judgements(bug, [BY_ID[case]])[case]

    assert judgement.verdict is Verdict.INFORMATIONAL, f"{judgement.verdict.value}: {judgement.reason}"


@pytest.mark.parametrize(("bug", "case"), REPORTED_LATER.items())
def test_a_bug_that_no_client_minds_is_reported_where_a_later_release_lets_it_show(bug: str, case: str) -> None:
    judgement = judgements(bug, [BY_ID[case]], profile=REPORTED_LATER_PROFILE)[case]

    assert judgement.verdict is Verdict.INFORMATIONAL, f"{judgement.verdict.value}: {judgement.reason}"


@pytest.mark.parametrize("is_share", PARTS)
@pytest.mark.parametrize("variant", [variant.name for variant in LEGAL])
def test_a_legal_variant_is_never_failed(variant: str, is_share: bool) -> None:
    cases = [case for case in CASES if (_is_quick(case.id) and is_drawn(f"{variant} {case.id}", LEGAL_SHARE)) is is_share]
    wrong = {id: judgement for id, judgement in judgements(variant, cases).items() if judgement.verdict in FATAL}

    assert {id: [finding.observed for finding in judgement.findings if finding.verdict in FATAL] for id, judgement in wrong.items()} == {}, (
        variants()[variant].says
    )
