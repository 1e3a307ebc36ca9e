from __future__ import annotations

import re

import pytest
from tests.project import ROOT

from groupproof.protocol.rules import coverage
from groupproof.protocol.rules.coverage import (
    READINGS,
    Gap,
    binding_clients,
    binding_coordinators,
    cited,
    everything,
    gaps,
    judged,
    listed,
    milder,
    unasked,
    unasked_milder,
    unexplained,
    unjudged,
    witnesses,
)
from groupproof.protocol.rules.requirements import requirements


def unaccounted() -> list[str]:
    """Return the MUSTs on the client's side that neither a case judges nor a reason explains, and those that have both or two; then those of KIP-848's coordinators, then what is no MUST of KIP-848's.

    A coordinator's case judges what it lists: the oracle holds every field of its answers.
    """
    explained = [id for gap in coverage.unjudged() for id in gap.ids] + list(judged()["client"])
    asked = {*judged()["coordinator"], *listed()["coordinator"], *(id for gap in coverage.unasked() for id in gap.ids)}
    cases = {*judged()["client"], *listed()["client"], *judged()["coordinator"], *listed()["coordinator"]}
    of_clients = [binding_client for binding_client in binding_clients() if explained.count(binding_client) != 1]
    of_coordinators = [binding_coordinator for binding_coordinator in binding_coordinators() if binding_coordinator not in asked]
    milder_reasons = {id for gap in coverage.unasked_milder() for id in gap.ids}
    return [*of_clients, *of_coordinators, *(id for id in milder() if id not in milder_reasons and id not in cases)]


def test_every_requirement_and_reading_has_a_witness_or_one_reason() -> None:
    assert unexplained(witnesses()) == []
    assert len(everything()) == len(set(everything())) == 710 + 550 + 51


def test_an_id_without_either_and_one_with_both_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    found = gaps()
    monkeypatch.setattr(coverage, "gaps", lambda: (*found, Gap(needs="time", why="There was none.", ids=("TIMER-20",))))
    proven = [witness for witness in witnesses() if witness != "JOIN-01"]

    assert unexplained(proven) == ["JOIN-01", "TIMER-20"]


def test_a_gap_says_what_the_kit_must_be_able_to_do_first() -> None:
    for gap in gaps():
        assert gap.needs
        assert gap.why.endswith(".")
        assert gap.ids


def test_every_must_of_clients_is_judged_by_a_case_or_says_why_not() -> None:
    assert unaccounted() == []
    assert set(binding_clients()) >= {"CLIENT-11", "WORKER-04", "ZK-05"}


def test_a_must_of_clients_with_neither_case_nor_reason_is_reported_and_one_with_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "unjudged", lambda: (*unjudged()[1:], Gap(needs="time", why="There was none.", ids=("CLIENT-11",))))

    assert unaccounted() == ["CLIENT-11", "CLIENT-77"]


def test_every_rule_of_the_coordinator_and_the_member_speaks_for_a_requirement_that_a_test_proves() -> None:
    assert cited().keys() <= {requirement.id for requirement in requirements()}
    assert "Heartbeat/Stable/alive" in cited()["TR-118"]
    assert "member/Heartbeat" in cited()["CLIENT-46"]
    assert cited()["CGT-18"] == ["member/ConsumerGroupHeartbeat"]
    assert cited().keys() <= witnesses().keys()


def test_a_pattern_that_stands_for_nothing_is_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "_read", lambda name: '[[gap]]\nneeds = "n"\nwhy = "w."\nids = ["NONE-*", "ZK-*"]\n')
    gaps.cache_clear()
    try:
        with pytest.raises(ValueError, match=r"no requirement is called NONE-\*"):
            gaps()
    finally:
        gaps.cache_clear()


def test_the_sections_on_the_coordinator_and_the_consumer_are_proven() -> None:
    missing = {id for gap in gaps() for id in gap.ids}
    of_kafka = {
        requirement.id
        for requirement in requirements()
        if {"kafka-1.1", "kafka-2.4+"} & set(requirement.profiles) and requirement.family not in ("DIAG", "TUNE", "PLAN", "ZK")
    }

    assert of_kafka & missing == set()
    assert {*READINGS} & missing == set()


def test_the_readings_are_those_that_the_docs_explain() -> None:
    explained = (ROOT / "docs" / "discrepancies.md").read_text()

    assert tuple(re.findall(r"^\| (DISC-\d+) \|", explained, re.MULTILINE)) == READINGS


def test_every_must_of_kip_848s_coordinators_is_asked_by_a_case_or_says_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = [id for gap in unasked() for id in gap.ids]
    assert len(reasons) == len(set(reasons))
    assert set(reasons) <= set(binding_coordinators())
    assert {*judged()["coordinator"], *listed()["coordinator"]}.isdisjoint(reasons), "what a case asks leaves the list"

    monkeypatch.setattr(coverage, "unasked", tuple)
    assert unaccounted() == [id for id in binding_coordinators() if id in reasons]
    assert "CGH-36" in unaccounted()


def test_what_is_no_must_of_kip_848_is_asked_by_a_case_or_says_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    reasons = [id for gap in unasked_milder() for id in gap.ids]
    assert len(reasons) == len(set(reasons))
    assert set(reasons) <= set(milder())
    assert len(milder()) == 126

    monkeypatch.setattr(coverage, "unasked_milder", tuple)
    assert unaccounted() == [id for id in milder() if id in reasons]
    assert {"CGC-09", "CGX-29"} <= set(unaccounted())
