"""Power, both ways: every planted bug is caught, every case can be failed, and no legal client ever is (CONTRIBUTING, "Cases").

`caught.toml` says which case catches which misbehaviour of the reference member, and which misbehaviour fails which case. Each run has a
seed, and is bounded in virtual time, in observations and in steps of its tasks. `make soak` runs every legal variant on every case.

Each sentence of a verdict is true by itself: what is said of a planted bug, or of a legal variant, is what was read and found true of it.
`sentences.toml` has, for each, the sentences that blame it. A new one fails here until somebody has held it against what was planted and against the
frames. `python -m tests.power.sentences` prints the table anew, over all pairs and all cases. A pair is run once, for all that is asked of it.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.harness.running.virtual import judged, rhythm
from tests.power.sentences import blame_of
from tests.power.shares import PARTS, is_drawn

from groupproof.clients.planted.member_variants import LEGAL, MISBEHAVIOURS, VARIANTS
from groupproof.harness.cases.client import CASES
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.verdicts import Level, Verdict

TABLE = tomllib.loads((Path(__file__).parent / "caught.toml").read_text())
CAUGHT: dict[str, str] = TABLE["misbehaviours"]
REPORTED: dict[str, str] = TABLE["reported"]
SILENT: dict[str, str] = TABLE["silent"]
FAILED_BY: dict[str, str] = TABLE["cases"]
UNFAILED: dict[str, str] = TABLE["unfailed"]
PAIRS = sorted({*CAUGHT.items(), *((misbehaviour, case) for case, misbehaviour in FAILED_BY.items())})
SENTENCES = tomllib.loads((Path(__file__).parent / "sentences.toml").read_text())
SAID_OF_BUGS: dict[str, list[str]] = SENTENCES["bugs"]
SAID_OF_LEGAL: dict[str, list[str]] = SENTENCES["legal"]

BY_ID = {case.id: case for case in CASES}
FATAL = {Verdict.FAILED, Verdict.BROKEN}
ADVERSE = FATAL | {Verdict.NON_STRICT}
MISBEHAVIOURS_MIN = 120
SILENT_MAX = 6
LEGAL_MIN = 20
WORDS_MIN = 10

# All legal variants on all cases take minutes: a share, another one for each variant, is run each time.
SHARE = 72


def judgement_on(misbehaviour: str, case: str) -> Judgement:
    return judged(BY_ID[case], variant=misbehaviour)[1]


def test_there_are_enough_variants() -> None:
    assert len(CAUGHT) >= MISBEHAVIOURS_MIN
    assert len(LEGAL) >= LEGAL_MIN


def test_every_misbehaviour_is_caught_or_is_not_for_a_reason() -> None:
    listed = [*CAUGHT, *REPORTED, *SILENT]

    assert sorted(listed) == sorted(misbehaviour.name for misbehaviour in MISBEHAVIOURS)
    assert len(SILENT) <= SILENT_MAX
    assert [name for name, reason in SILENT.items() if len(reason.split()) < WORDS_MIN] == []


def test_every_case_can_be_failed() -> None:
    assert {"unknown": sorted(FAILED_BY.keys() - BY_ID.keys()), "never failed": sorted(BY_ID.keys() - FAILED_BY.keys())} == {
        "unknown": [],
        "never failed": [],
    }
    assert UNFAILED == {}


def test_every_planted_bug_has_its_sentences_and_no_other_variant_has() -> None:
    assert SAID_OF_BUGS.keys() <= {misbehaviour.name for misbehaviour in MISBEHAVIOURS}
    assert SAID_OF_LEGAL.keys() <= {variant.name for variant in LEGAL}
    assert {name for name, sentences in SAID_OF_BUGS.items() if not sentences} == set()


@pytest.mark.parametrize(("misbehaviour", "case"), PAIRS)
def test_a_misbehaviour_is_caught_and_fails_its_case_and_what_is_said_of_it_is_true(misbehaviour: str, case: str) -> None:
    judgement = judgement_on(misbehaviour, case)

    fails_the_case = FAILED_BY.get(case) == misbehaviour
    assert judgement.verdict in (FATAL if fails_the_case and BY_ID[case].level is Level.MUST else ADVERSE), (
        f"{judgement.verdict.value}: {judgement.reason}"
    )
    assert blame_of(judgement) - set(SAID_OF_BUGS.get(misbehaviour, [])) == set(), VARIANTS[misbehaviour].says


@pytest.mark.parametrize(("misbehaviour", "case"), REPORTED.items())
def test_a_misbehaviour_that_the_protocol_leaves_open_is_reported(misbehaviour: str, case: str) -> None:
    judgement = judgement_on(misbehaviour, case)

    assert judgement.verdict is Verdict.INFORMATIONAL, f"{judgement.verdict.value}: {judgement.reason}"


@pytest.mark.parametrize("is_share", PARTS)
@pytest.mark.parametrize("variant", [variant.name for variant in LEGAL])
def test_a_legal_variant_is_never_failed_and_what_is_said_of_it_is_true(variant: str, is_share: bool) -> None:
    wrong, sentences = {}, set()
    lacks = VARIANTS[variant].policy.lacks
    for case in [case for case in CASES if is_drawn(f"{variant} {case.id}", SHARE) is is_share and not case.needs & lacks]:
        judgement = judged(case, variant=variant, rhythm=rhythm(variant))[1]
        sentences |= blame_of(judgement)
        if judgement.verdict in FATAL:
            wrong[case.id] = [
                judgement.reason,
                *(f"{finding.requirement}: {finding.observed} {finding.detail}" for finding in judgement.findings if finding.verdict in FATAL),
            ]

    assert wrong == {}, VARIANTS[variant].says
    assert sentences - set(SAID_OF_LEGAL.get(variant, [])) == set(), VARIANTS[variant].says
