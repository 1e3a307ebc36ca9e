from __future__ import annotations

import re

import pytest

from groupproof.protocol.documents import render_coverage
from groupproof.protocol.documents.render_coverage import coverage_markdown
from groupproof.protocol.rules.coverage import SIDES, Gap, binding_clients, gaps, judged, unjudged, witnesses
from groupproof.protocol.rules.requirements import requirements


def test_the_page_counts_what_is_proven() -> None:
    proven = len({requirement.id for requirement in requirements()} & witnesses().keys())
    document = coverage_markdown()

    assert f"\n{proven} of {len(requirements())} [requirements]" in document
    figures = [line.split(" | ")[1:3] for line in document.partition("| --- |")[2].partition("## ")[0].splitlines()[1:] if line]
    assert (sum(int(of) for of, _ in figures), sum(int(with_one) for _, with_one in figures)) == (len(requirements()), proven)


def test_the_page_counts_what_cases_judge_in_a_subject_apart() -> None:
    of_clients, of_coordinators = (judged()[side].keys() for side in SIDES)
    document = coverage_markdown()

    assert f"\n{len(of_clients | of_coordinators)} of {len(requirements())} are **judged in a subject**: " in document
    assert f"{len(of_clients)} in a client, {len(of_coordinators)} in a coordinator" in document
    rows = [line.strip("| ").split(" | ") for line in document.partition("| --- |")[2].partition("## ")[0].splitlines()[1:] if line]
    assert [sum(int(row[column]) for row in rows) for column in (3, 4)] == [len(of_clients), len(of_coordinators)]
    entries = [int(count) for count in re.findall(r"(\d+) (?:of \d+ are \*\*judged|more are listed|are listed by client|are in no case)", document)]
    assert sum(entries) == len(requirements())


def test_a_must_of_clients_that_no_case_judges_is_reported_with_its_reason() -> None:
    document = coverage_markdown()

    assert (
        f"{sum(binding_client in judged()['client'] for binding_client in binding_clients())} of {len(binding_clients())} MUSTs that bind a client"
        in document
    )
    for gap in unjudged():
        assert f"**{len(gap.ids)}, for want of {gap.needs}.** {gap.why}" in document


def test_what_is_missing_is_reported_with_its_reason_and_its_ids() -> None:
    document = coverage_markdown()

    for gap in gaps():
        assert f"**{len(gap.ids)}, for want of {gap.needs}.** {gap.why}" in document
    assert document.endswith("## Without a witness\n\nNothing.\n") is not bool(gaps())


def test_ids_of_a_family_that_follow_each_other_are_reported_as_a_range(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = (*(f"ZK-{number}" for number in range(10, 16)), "ZK-20", "DISC-40", "DISC-41", "PLAN-07")
    monkeypatch.setattr(render_coverage, "gaps", lambda: (Gap(needs="time", why="There was none.", ids=ids),))

    assert "**10, for want of time.** There was none.\n\nZK-10 to ZK-15 (6), ZK-20, DISC-40, DISC-41, PLAN-07\n" in coverage_markdown()
