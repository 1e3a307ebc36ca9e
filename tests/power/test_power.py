"""Power, both ways: every planted bug is caught, every case can be failed, and no legal client ever is (style, "power").

`caught.toml` says which case catches which misbehaviour of the reference member, and which misbehaviour fails which case.
"""

from __future__ import annotations

import os
import tomllib
import zlib
from pathlib import Path

import pytest

from groupproof.clients.variants import LEGAL, MISBEHAVIOURS
from groupproof.harness.case import Case
from groupproof.harness.suites import CASES
from groupproof.harness.verdicts import Verdict
from tests.harness.virtual import judged

TABLE = tomllib.loads((Path(__file__).parent / "caught.toml").read_text())
CAUGHT: dict[str, str] = TABLE["misbehaviours"]
FAILED_BY: dict[str, str] = TABLE["cases"]
SILENT: dict[str, str] = TABLE["silent"]

BY_ID = {case.id: case for case in CASES}
ADVERSE = {Verdict.FAILED, Verdict.NON_STRICT, Verdict.BROKEN}
MISBEHAVIOURS_MIN = 40
LEGAL_MIN = 15

# The whole product of legal variants and cases takes minutes; a share of it, another one for each variant, is run each time.
SHARE = 1 if os.environ.get("POWER") == "full" else 6


def test_there_are_enough_variants() -> None:
    assert len(CAUGHT) >= MISBEHAVIOURS_MIN
    assert len(LEGAL) >= LEGAL_MIN


def test_every_misbehaviour_is_caught_or_shows_nothing_on_the_wire_for_a_reason() -> None:
    assert {each.name for each in MISBEHAVIOURS} == CAUGHT.keys() | SILENT.keys()
    assert CAUGHT.keys() & SILENT.keys() == set()
    assert all(len(reason.split()) > 3 for reason in SILENT.values())


def test_every_case_can_be_failed() -> None:
    assert FAILED_BY.keys() == BY_ID.keys()


@pytest.mark.parametrize(("misbehaviour", "case"), CAUGHT.items())
def test_a_misbehaviour_is_caught_by_the_case_that_should(misbehaviour: str, case: str) -> None:
    _, judgement = judged(BY_ID[case], variant=misbehaviour)

    assert judgement.verdict in ADVERSE, f"{judgement.verdict.value}: {judgement.reason}"


@pytest.mark.parametrize(("case", "misbehaviour"), FAILED_BY.items())
def test_a_case_is_failed_by_a_misbehaviour(case: str, misbehaviour: str) -> None:
    _, judgement = judged(BY_ID[case], variant=misbehaviour)

    assert judgement.verdict in ADVERSE, f"{judgement.verdict.value}: {judgement.reason}"


def _share(variant: str) -> list[Case]:
    return [case for case in CASES if zlib.crc32(f"{variant} {case.id}".encode()) % SHARE == 0]


@pytest.mark.parametrize("variant", [variant.name for variant in LEGAL])
def test_a_legal_variant_is_never_failed(variant: str) -> None:
    wrong = {}
    for case in _share(variant):
        _, judgement = judged(case, variant=variant)
        if judgement.verdict in {Verdict.FAILED, Verdict.BROKEN}:
            wrong[case.id] = [(each.requirement, each.observed, each.detail) for each in judgement.findings if each.verdict is Verdict.FAILED]

    assert wrong == {}
