from __future__ import annotations

import re

import pytest

from groupproof.protocol.render_tables import group_dot, group_markdown, member_markdown
from groupproof.protocol.spec.classic_member import REACTIONS
from groupproof.protocol.spec.profiles import profile, profiles, unreachable
from groupproof.protocol.spec.releases import DELTAS
from groupproof.protocol.spec.terms import On
from groupproof.protocol.vocabulary import GroupState


@pytest.fixture(scope="module")
def document() -> str:
    return group_markdown(profile())


def _section(document: str, title: str) -> str:
    return re.split(r"^## ", document, flags=re.MULTILINE)[[part.split("\n")[0] for part in document.split("\n## ")].index(title)]


def test_every_rule_of_the_table_is_a_row_of_its_inputs_section(document: str) -> None:
    for on, _, rule in profile().rules():
        section = _section(document, on.value)
        assert any(f"| {rule.name} | {rule.guard.value} |" in line and rule.requirement in line for line in section.splitlines()), (on, rule.name)


def test_the_rows_of_a_cell_stand_in_the_order_in_which_they_are_asked(document: str) -> None:
    cell = profile().cells[On.HEARTBEAT][GroupState.STABLE]
    after_state = _section(document, "Heartbeat").split("| Stable |")[1].splitlines()

    assert [line.split(" | ")[0].strip(" |") or line.split(" | ")[1] for line in after_state[: len(cell)]] == [row.name for row in cell]


def test_every_cell_that_cannot_come_up_is_listed_with_its_reason(document: str) -> None:
    section = _section(document, "What cannot come up")

    assert section.count("\n| ") - 2 == len(unreachable())


@pytest.mark.parametrize("since", [".".join(map(str, delta.since)) for delta in DELTAS])
def test_what_older_releases_did_otherwise_is_told_by_release(document: str, since: str) -> None:
    assert f"### Before {since}\n" in document


@pytest.mark.parametrize("name", profiles())
def test_every_profile_can_be_printed(name: str) -> None:
    assert f"as {name} keeps it" in group_markdown(profile(name))


def test_the_diagram_has_an_edge_for_each_pair_of_states_between_which_a_rule_moves_the_group() -> None:
    edges = set(re.findall(r'"(\w+)" -> "(\w+)"', group_dot(profile())))

    assert edges == {
        (state.value if state else "none", rule.then.value)
        for _, state, rule in profile().rules()
        if rule.then is not None and rule.then is not state
    }
    assert ("Stable", "Empty") not in edges


def test_an_edge_names_the_rules_that_move_the_group_along_it() -> None:
    (edge,) = [line for line in group_dot(profile()).splitlines() if '"CompletingRebalance" -> "Stable"' in line]

    assert "Appended/" in edge


def test_the_member_document_has_a_row_for_every_answer_of_every_api() -> None:
    document = member_markdown()

    for api, reactions in REACTIONS.items():
        section = _section(document, api.title)
        expected = len(reactions.rows) + 1 + sum(len(rows) for rows in reactions.phases.values()) + len(reactions.phase_others)
        assert section.count("\n| ") - 2 + (section.startswith("| ")) == expected, api
