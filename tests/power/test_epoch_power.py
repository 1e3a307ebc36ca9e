"""Power over members of the consumer protocol (KIP-848): every planted bug is caught, every case can be failed, and no legal member ever is.

`caught_of_epochs.toml` is read as `caught.toml` is by `test_power.py`. A share of the pairs is run each time, all of them by `make soak`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.harness.running.virtual import judged, rhythm
from tests.power.sentences import blame_of
from tests.power.shares import PARTS, is_drawn, parts

from groupproof.clients.planted.legal_variants_of_terms import OF_EVERY_DIALECT
from groupproof.clients.planted.member_variants import EPOCH_BUGS, LEGAL_EPOCHS, VARIANTS
from groupproof.harness.cases.consumer import CONSUMER_CASES
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.verdicts import Goodbye, Level, Verdict

TABLE = tomllib.loads((Path(__file__).parent / "caught_of_epochs.toml").read_text())
CAUGHT: dict[str, str] = TABLE["misbehaviours"]
REPORTED: dict[str, str] = TABLE["reported"]
SILENT: dict[str, str] = TABLE["silent"]
FAILED_BY: dict[str, str] = TABLE["cases"]
SAID_OF_BUGS: dict[str, list[str]] = TABLE["sentences"]
SAID_OF_LEGAL: dict[str, list[str]] = TABLE["legal"]
PAIRS = sorted({*CAUGHT.items(), *((misbehaviour, case) for case, misbehaviour in FAILED_BY.items())})
BY_ID = {case.id: case for case in CONSUMER_CASES}
FATAL = {Verdict.FAILED, Verdict.BROKEN}
SILENT_MAX = 4
WORDS_MIN = 10
SHARE = 6
LEGAL_SHARE = 60


def judgement_on(case: str, misbehaviour: str | None = None) -> Judgement:
    return judged(BY_ID[case], variant=misbehaviour)[1]


def test_every_misbehaviour_is_caught_or_is_not_for_a_reason() -> None:
    assert sorted([*CAUGHT, *REPORTED, *SILENT]) == sorted(misbehaviour.name for misbehaviour in EPOCH_BUGS)
    assert len(SILENT) <= SILENT_MAX
    assert [name for name, reason in SILENT.items() if len(reason.split()) < WORDS_MIN] == []


def test_every_case_can_be_failed() -> None:
    assert FAILED_BY.keys() == BY_ID.keys()


def test_every_sentence_is_of_a_variant_that_there_is() -> None:
    assert SAID_OF_BUGS.keys() == CAUGHT.keys()
    assert SAID_OF_LEGAL.keys() <= {variant.name for variant in LEGAL_EPOCHS}


@pytest.mark.parametrize(("misbehaviour", "case"), parts(PAIRS, lambda pair: is_drawn(" ".join(pair), SHARE)))
def test_a_misbehaviour_is_caught_and_what_is_said_of_it_is_true(misbehaviour: str, case: str) -> None:
    judgement = judgement_on(case, misbehaviour)

    is_fatal = FAILED_BY.get(case) == misbehaviour and BY_ID[case].level is Level.MUST
    assert judgement.verdict in (FATAL if is_fatal else FATAL | {Verdict.NON_STRICT}), f"{judgement.verdict.value}: {judgement.reason}"
    assert blame_of(judgement) - set(SAID_OF_BUGS[misbehaviour]) == set(), VARIANTS[misbehaviour].says


@pytest.mark.parametrize(("misbehaviour", "case"), REPORTED.items())
def test_a_misbehaviour_that_the_contract_leaves_open_is_reported(misbehaviour: str, case: str) -> None:
    judgement = judgement_on(case, misbehaviour)

    assert judgement.verdict is Verdict.INFORMATIONAL, f"{judgement.verdict.value}: {judgement.reason}"


@pytest.mark.parametrize("is_share", PARTS)
@pytest.mark.parametrize("variant", [variant.name for variant in LEGAL_EPOCHS])
def test_a_legal_variant_is_never_failed_and_what_is_said_of_it_is_true(variant: str, is_share: bool) -> None:
    wrong: dict[str, str] = {}
    sentences: set[str] = set()
    lacks = VARIANTS[variant].policy.lacks
    for case in [case for case in CONSUMER_CASES if is_drawn(f"{variant} {case.id}", LEGAL_SHARE) is is_share and not case.needs & lacks]:
        judgement = judgement_on(case.id, variant)
        sentences |= blame_of(judgement)
        if judgement.verdict not in {Verdict.OK, Verdict.NON_STRICT, Verdict.INFORMATIONAL}:
            wrong[case.id] = f"{judgement.verdict.value}: {judgement.reason} {sorted(blame_of(judgement))}"

    assert wrong == {}, VARIANTS[variant].says
    assert sentences - set(SAID_OF_LEGAL.get(variant, [])) == set(), VARIANTS[variant].says


@pytest.mark.parametrize("is_share", PARTS)
@pytest.mark.parametrize("variant", [variant.name for variant in OF_EVERY_DIALECT])
def test_a_member_with_legal_terms_of_its_own_is_blamed_for_nothing(variant: str, is_share: bool) -> None:
    cases = [case for case in CONSUMER_CASES if is_drawn(f"{variant} {case.id}", LEGAL_SHARE) is is_share]
    judgements = {case.id: judged(case, variant=variant, rhythm=rhythm(variant))[1] for case in cases}
    wrong = {case: f"{judgement.verdict.value}: {judgement.reason}" for case, judgement in judgements.items() if judgement.verdict is not Verdict.OK}

    assert wrong == {}, VARIANTS[variant].says


@pytest.mark.parametrize("is_share", PARTS)
def test_the_reference_passes_and_takes_its_leave(is_share: bool) -> None:
    verdicts = {case: judgement_on(case) for case in BY_ID if is_drawn(case, SHARE) is is_share}

    assert {case: judgement.reason for case, judgement in verdicts.items() if judgement.verdict is not Verdict.OK} == {}
    assert {case: judgement.goodbye_reason for case, judgement in verdicts.items() if judgement.goodbye is Goodbye.UNCLEAN} == {}
