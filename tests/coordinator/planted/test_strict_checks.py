from __future__ import annotations

import pytest
from tests.power.coordinators import judgements

from groupproof.coordinator.planted.strict_checks import STRICT_GUARDS
from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerGuard

BY_ID = {case.id: case for case in CASES}


def test_the_checks_are_guards_of_the_dialect() -> None:
    assert all(isinstance(guard, ConsumerGuard) for guard in STRICT_GUARDS)


@pytest.mark.parametrize(
    "case",
    [
        "epoch/consumer/returns-as-static",
        "static/consumer/changes-its-instance",
        "commit/consumer/departed-member-without-epoch",
        "commit/consumer/wrong-instance",
    ],
)
def test_a_coordinator_that_refuses_more_than_kafka_where_no_kip_forbids_it_gets_a_finding(case: str) -> None:
    assert judgements("stricter", [BY_ID[case]])[case].verdict is Verdict.INFORMATIONAL
