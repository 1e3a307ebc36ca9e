"""Each dialect beside the classic one has a page of its own, as its newest release or its relative keeps it."""

from __future__ import annotations

import pytest

from groupproof.protocol.documents.render_dialects import dialect_markdown, dialect_pages, profile_that_speaks
from groupproof.protocol.rules.cells import state_name
from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.datalink.datalink_dialect import DATALINK, ManagerKind
from groupproof.protocol.rules.dialect import Dialect
from groupproof.protocol.rules.dialect_registry import dialects
from groupproof.protocol.rules.profiles import profiles


def test_a_page_has_every_rule_and_every_state_of_its_dialect() -> None:
    page, found = dialect_markdown(DATALINK), profile_that_speaks(DATALINK)

    for kind, _, row in found.tables[DATALINK.name].rules():
        section = page.partition(f"\n## {kind.value}\n")[2].partition("\n## ")[0]
        assert any(f"| {row.name} | {row.guard.value} |" in line for line in section.splitlines()), (kind, row.name)
    for state in DATALINK.all_states:
        assert f"\n| {state_name(state)} | {DATALINK.state_says[state]} |\n" in page
    (forced,) = [line for line in page.splitlines() if line.startswith("| Stable | PreparingRebalance | ")]
    assert f"{ManagerKind.FORCED.value}/forced" in forced


@pytest.mark.parametrize(("dialect", "name"), [(CLASSIC, profiles()[-1]), (DATALINK, "datalink")])
def test_a_dialect_is_printed_as_its_newest_release_or_its_first_relative_keeps_it(dialect: Dialect, name: str) -> None:
    assert profile_that_speaks(dialect).name == name


def test_the_classic_dialect_has_pages_of_its_own_form() -> None:
    assert list(dialect_pages()) == [f"{dialect.name}-group.md" for dialect in dialects() if dialect is not CLASSIC]
