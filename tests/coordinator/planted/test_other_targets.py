"""Coordinators that deal and count otherwise than Kafka's: those that keep the protocol are failed by no case, the others are blamed for the rule that they break."""

from __future__ import annotations

import pytest
from tests.power.coordinators import judgements

from groupproof.coordinator.planted.other_targets import BUGS_OF_TARGETS, LEGAL_TARGETS
from groupproof.harness.cases.coordinator import CASES
from groupproof.harness.model.verdicts import Verdict

_TOLD = {
    "uniform-from-the-end": ("CGA-12", "assign/consumer/uniform-one-topic-two-members", "mixed/consumer/id-of-its-own-making"),
    "range-backwards": ("CGA-15", "assign/consumer/range-one-topic-three-members", "assign/consumer/range-uneven-subscriptions"),
    "epochs-by-two": ("CGI-14", "join/consumer/second-member", "epoch/consumer/previous-with-owned"),
    "epochs-by-ten": ("CGI-14", "join/consumer/member-of-3", "leave/consumer/last-member"),
    "targets-later": ("CGR-27", "join/consumer/second-member", "reconcile/consumer/three-members"),
    "shared-epochs": ("CGI-14", "join/consumer/member-of-3", "join/consumer/member-of-4"),
    "targets-at-once": ("CGR-27", "leave/consumer/while-assigning", "assigning/consumer/only-static-consumer-is-replaced"),
}
_BROKEN = {
    "one-partition-nobodys": ("CGA-04", "assign/consumer/uniform-one-topic-two-members"),
    "one-partition-twice": ("CGI-11", "reconcile/consumer/acknowledged"),
    "topics-of-others": ("CGA-05", "assign/consumer/uniform-nothing-in-common"),
    "uniform-uneven": ("CGA-10", "reconcile/consumer/acknowledged"),
    "uniform-forgets": ("CGA-11", "assign/consumer/uniform-keeps-what-it-can"),
    "range-torn": ("CGA-15", "assign/consumer/range-one-topic-two-members"),
}
_STATIC_FIRST = "assign/consumer/range-static-first"


def test_each_variant_is_tried() -> None:
    assert _TOLD.keys() == {variant.name for variant in LEGAL_TARGETS}
    assert _BROKEN.keys() == {variant.name for variant in BUGS_OF_TARGETS}


@pytest.mark.parametrize("variant", _TOLD)
@pytest.mark.requirement("CGA-12", "CGI-04", "CGR-26")
def test_what_the_protocol_leaves_open_is_reported_and_blamed_on_nobody(variant: str) -> None:
    requirement, *ids = _TOLD[variant]

    found = judgements(variant, [case for case in CASES if case.id in ids])

    assert {id: judgement.verdict for id, judgement in found.items()} == dict.fromkeys(ids, Verdict.INFORMATIONAL)
    assert all(any(finding.requirement == requirement for finding in judgement.findings) for judgement in found.values())


def test_ranges_in_another_order_keep_static_members_first() -> None:
    assert judgements("range-backwards", [case for case in CASES if case.id == _STATIC_FIRST])[_STATIC_FIRST].verdict is Verdict.OK


@pytest.mark.parametrize("bug", _BROKEN)
def test_what_the_protocol_forbids_is_blamed_by_its_rule(bug: str) -> None:
    requirement, id = _BROKEN[bug]

    judgement = judgements(bug, [case for case in CASES if case.id == id])[id]

    adverse = {finding.requirement: finding.verdict for finding in judgement.findings if finding.verdict in (Verdict.FAILED, Verdict.NON_STRICT)}
    assert adverse == {requirement: Verdict.NON_STRICT if requirement == "CGA-11" else Verdict.FAILED}
