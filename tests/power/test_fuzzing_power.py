"""Power of drawn plans: what they find of the planted bugs, in virtual time, and that they never fail a client that keeps the protocol.

The gate has a handful of plans against the reference; `make soak` draws others for each commit, for every legal variant and every planted bug.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from tests.harness.running.virtual import judged, rhythm
from tests.soaking import SEED

from groupproof.clients.planted.member_variants import EPOCH_BUGS, LEGAL, LEGAL_EPOCHS, MISBEHAVIOURS, VARIANTS
from groupproof.harness.cases.drawn_case import drawn_case
from groupproof.harness.model.case import Case
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.fuzzing.plans.client_fuzz import plan_numbered
from groupproof.harness.running.fuzzing.plans.plan_source import Traits
from groupproof.harness.subjects.networks.virtual_time import NoProgress

TRAITS = Traits(
    capabilities={"classic", "commit", "commit-async", "auto-commit", "pause", "static", "cooperative", "on-revoked", "resubscribe"},
    profile="kafka-4.1",
)
ADVERSE = (Verdict.FAILED, Verdict.NON_STRICT, Verdict.BROKEN)
OF_EPOCHS = Traits(capabilities={"consumer", "commit", "auto-commit", "pause", "on-revoked"}, profile="kafka-4.1")
LEGAL_NAMES = {variant.name for variant in LEGAL}
PLANS_OF_GATE = 8
EPOCH_PLANS_OF_GATE = 3
EPOCH_BUG = "epoch-dies-on-110"
PLANS_OF_EPOCH_BUG = 30
EPOCHS_FOUND_MIN = 0.3
PLANS_OF_LEGAL = 60
PLANS_OF_BUG = 100
FOUND_MIN = 0.35


def cases(count: int, seed: int) -> Iterator[Case]:
    for number in range(1, count + 1):
        yield drawn_case(f"{seed:x}-{number}", plan_numbered(number, TRAITS, seed=seed)[1])


def epoch_cases(count: int, seed: int) -> Iterator[Case]:
    for number in range(1, count + 1):
        yield drawn_case(f"{seed:x}-{number}", plan_numbered(number, OF_EPOCHS, seed=seed, dialect="consumer")[1])


def wrong(case: Case, variant: str | None, *verdicts: Verdict) -> list[str]:
    """Return what is found, by the variant's own rhythm where it is a legal one: `groupproof fuzz client` measures it first, too."""
    judgement = judged(case, variant=variant, rhythm=rhythm(variant) if variant in LEGAL_NAMES else None)[1]
    if judgement.verdict is Verdict.BROKEN:
        return [judgement.reason]
    return [f"{case.id}: {finding.requirement}: {finding.observed} {finding.detail}" for finding in judgement.findings if finding.verdict in verdicts]


def found_after(variant: str, drawn: Iterable[Case]) -> int | None:
    """Return how many plans it takes until one shows the bug; None where none of them does."""
    for number, case in enumerate(drawn, 1):
        try:
            if wrong(case, variant, *ADVERSE):
                return number
        except NoProgress:
            return number
    return None


@pytest.mark.slow
def test_the_reference_goes_through_drawn_plans_without_a_finding() -> None:
    assert [found for case in cases(PLANS_OF_GATE, seed=7) for found in wrong(case, None, *ADVERSE)] == []


@pytest.mark.slow
def test_the_reference_goes_through_plans_of_the_consumer_protocol_without_a_finding() -> None:
    assert [found for case in epoch_cases(EPOCH_PLANS_OF_GATE, seed=7) for found in wrong(case, None, *ADVERSE)] == []


@pytest.mark.slow
def test_a_member_that_dies_when_it_is_fenced_is_found() -> None:
    assert found_after(EPOCH_BUG, epoch_cases(PLANS_OF_EPOCH_BUG, seed=7)) is not None


@pytest.mark.soak
@pytest.mark.parametrize("variant", [None, *(variant.name for variant in LEGAL_EPOCHS)])
def test_a_legal_variant_is_never_failed_by_a_plan_of_the_consumer_protocol(variant: str | None) -> None:
    verdicts = ADVERSE if variant is None else (Verdict.FAILED, Verdict.BROKEN)

    assert [found for case in epoch_cases(PLANS_OF_LEGAL, SEED) for found in wrong(case, variant, *verdicts)] == []


@pytest.mark.soak
def test_a_share_of_the_planted_bugs_is_found_by_plans_of_the_consumer_protocol() -> None:
    found = {bug.name: found_after(bug.name, epoch_cases(PLANS_OF_EPOCH_BUG, SEED)) for bug in EPOCH_BUGS}
    missed = sorted(name for name, after in found.items() if after is None)

    assert 1 - len(missed) / len(found) >= EPOCHS_FOUND_MIN, f"{len(missed)} of {len(found)} were missed: {', '.join(missed)}"


@pytest.mark.soak
@pytest.mark.parametrize("variant", [None, *(variant.name for variant in LEGAL)])
def test_a_legal_variant_is_never_failed_by_a_drawn_plan(variant: str | None) -> None:
    verdicts = ADVERSE if variant is None else (Verdict.FAILED, Verdict.BROKEN)

    assert [found for case in cases(PLANS_OF_LEGAL, SEED) for found in wrong(case, variant, *verdicts)] == [], VARIANTS[variant or "join-v3"].says


@pytest.mark.soak
def test_a_share_of_the_planted_bugs_is_found_by_a_hundred_drawn_plans() -> None:
    found = {misbehaviour.name: found_after(misbehaviour.name, cases(PLANS_OF_BUG, SEED)) for misbehaviour in MISBEHAVIOURS}
    missed = sorted(name for name, after in found.items() if after is None)

    assert 1 - len(missed) / len(found) >= FOUND_MIN, f"{len(missed)} of {len(found)} were missed: {', '.join(missed)}"
