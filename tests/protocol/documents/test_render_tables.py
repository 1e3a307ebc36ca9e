from __future__ import annotations

import re

import pytest

from groupproof.protocol.documents.render_tables import epoch_member_markdown, group_markdown, member_markdown
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.rules.classic.member_reactions import REACTIONS, UNREACHABLE
from groupproof.protocol.rules.profiles import profile, profiles, rows
from groupproof.protocol.vocabulary import GroupState


@pytest.fixture(scope="module")
def document() -> str:
    return group_markdown(profile())


def _section(document: str, title: str) -> str:
    return re.split(r"^## ", document, flags=re.MULTILINE)[[part.split("\n")[0] for part in document.split("\n## ")].index(title)]


def test_every_rule_of_the_table_is_a_row_of_its_inputs_section(document: str) -> None:
    for kind, _, rule in rows():
        section = _section(document, kind.value)
        assert any(f"| {rule.name} | {rule.guard.value} |" in line and rule.requirement in line for line in section.splitlines()), (kind, rule.name)


def test_the_rows_of_a_cell_stand_in_the_order_in_which_they_are_asked(document: str) -> None:
    cell = profile().table.cells[ClassicEvent.HEARTBEAT][GroupState.STABLE]
    after_state = _section(document, "Heartbeat").split("| Stable |")[1].splitlines()

    assert [line.split(" | ")[0].strip(" |") or line.split(" | ")[1] for line in after_state[: len(cell)]] == [row.name for row in cell]


@pytest.mark.parametrize("name", profiles())
def test_every_profile_can_be_printed(name: str) -> None:
    assert f"as {name} keeps it" in group_markdown(profile(name))


def test_the_member_document_has_a_row_for_every_answer_of_every_api() -> None:
    document = member_markdown()

    for api, reactions in REACTIONS.items():
        section = _section(document, api.title)
        expected = len(reactions.rows) + 1 + sum(len(rows) for rows in reactions.phases.values()) + len(reactions.phase_others)
        assert section.count("\n| ") - 2 + (section.startswith("| ")) == expected, api


def test_the_member_document_tells_what_cannot_come_up() -> None:
    section = _section(member_markdown(), "What cannot come up")

    assert section.count("\n| ") - 2 == len(UNREACHABLE)
    assert all(f"| {api.title} | {phase.value} | {reason} |" in section for (api, phase), reason in UNREACHABLE.items())


def test_the_member_with_an_epoch_has_its_own_table() -> None:
    beat = _section(epoch_member_markdown(), "ConsumerGroupHeartbeat")

    assert "| 110 FENCED_MEMBER_EPOCH |" in beat
    assert "CGT-18, CGC-06" in beat
    assert "| any other | stale |" in beat
    assert "## JoinGroup" not in epoch_member_markdown()
