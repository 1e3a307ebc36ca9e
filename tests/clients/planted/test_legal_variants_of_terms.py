from __future__ import annotations

import pytest
from tests.harness.running.virtual import judged

from groupproof.clients.planted.legal_variants_of_terms import OWN_TERMS
from groupproof.clients.planted.member_variant import Variant
from groupproof.harness.cases.client import CASES
from groupproof.harness.model.verdicts import Verdict

REFUSES = {"own-heartbeat-interval-of-3s"}
"""It refuses the session of the case; `tests/harness/running/plans/test_retry_rhythm.py` has its verdict."""

OWN = [variant for variant in OWN_TERMS if variant.policy.own_settings.keys() - {"properties"} and variant.name not in REFUSES]
STEADY = next(case for case in CASES if case.id == "heartbeat/classic/steady")


def test_a_member_that_has_no_deadline_for_polls_does_not_declare_one() -> None:
    assert {
        variant.name for variant in OWN_TERMS if variant.policy.poll_deadline_factor is None and "poll-deadline" not in variant.policy.lacks
    } == set()


@pytest.mark.parametrize("variant", OWN, ids=lambda variant: variant.name)
def test_what_a_client_keeps_to_is_listed_as_ignored(variant: Variant) -> None:
    play, judgement = judged(STEADY, variant=variant.name)
    answer = next(obs for obs in play.trace if obs.who == "shim" and obs.body.get("name") == "answer")
    asked = next(obs.body["fields"] for obs in play.trace if obs.who == "kit" and obs.body.get("command") == "subscribe")

    assert set(answer.body["ignored"]) >= variant.policy.own_settings.keys() & asked.keys()
    assert judgement.verdict in {Verdict.OK, Verdict.UNIMPLEMENTED}
