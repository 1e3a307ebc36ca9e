"""Power over workers of Kafka Connect and threads of Kafka Streams: every planted bug is caught, every case can be failed, and the reference passes each.

`caught_of_embedded.toml` is read as `caught.toml` is by `test_power.py`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.harness.running.virtual import judged
from tests.power.sentences import blame_of

from groupproof.clients.planted.member_variants import THREADS, VARIANTS, WORKERS
from groupproof.harness.cases.embedded import EMBEDDED_CASES
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.verdicts import Level, Verdict

TABLE = tomllib.loads((Path(__file__).parent / "caught_of_embedded.toml").read_text())
CAUGHT: dict[str, str] = TABLE["misbehaviours"]
FAILED_BY: dict[str, str] = TABLE["cases"]
SENTENCES: dict[str, list[str]] = TABLE["sentences"]
PAIRS = sorted({*CAUGHT.items(), *((misbehaviour, case) for case, misbehaviour in FAILED_BY.items())})
BY_ID = {case.id: case for cases in EMBEDDED_CASES.values() for case in cases}
FATAL = {Verdict.FAILED, Verdict.BROKEN}


def judgement_on(case: str, misbehaviour: str | None = None) -> Judgement:
    return judged(BY_ID[case], variant=misbehaviour, draws_names=True)[1]


def test_every_misbehaviour_is_caught_and_every_case_can_be_failed() -> None:
    assert CAUGHT.keys() == {misbehaviour.name for misbehaviour in (*WORKERS, *THREADS)}
    assert FAILED_BY.keys() == BY_ID.keys()


@pytest.mark.parametrize(("misbehaviour", "case"), PAIRS)
def test_a_misbehaviour_is_caught_and_what_is_said_of_it_is_true(misbehaviour: str, case: str) -> None:
    judgement = judgement_on(case, misbehaviour)

    is_fatal = FAILED_BY.get(case) == misbehaviour and BY_ID[case].level is Level.MUST
    assert judgement.verdict in (FATAL if is_fatal else FATAL | {Verdict.NON_STRICT}), f"{judgement.verdict.value}: {judgement.reason}"
    assert blame_of(judgement) == set(SENTENCES[misbehaviour]), VARIANTS[misbehaviour].says


@pytest.mark.parametrize("case", BY_ID)
def test_the_reference_passes(case: str) -> None:
    judgement = judgement_on(case)

    assert judgement.verdict is Verdict.OK, judgement.reason
