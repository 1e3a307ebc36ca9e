from __future__ import annotations

import pytest
from tests.coordinator.machine.consumer.measured_answers import RELEASES

from groupproof.protocol.rules.classic.classic_dialect import CLASSIC
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.deltas import CoordinatorKind
from groupproof.protocol.rules.dialect import missing_cells, table_of


@pytest.mark.parametrize("release", [tuple(map(int, release.split("."))) for release in RELEASES])
def test_the_tables_of_both_dialects_are_total_in_each_release(release: tuple[int, ...]) -> None:
    consumer = table_of(CONSUMER, release, CoordinatorKind.JAVA, beside=(CLASSIC,))
    classic = table_of(CLASSIC, release, CoordinatorKind.JAVA, beside=(CONSUMER,))

    assert missing_cells(consumer, beside=(CLASSIC,)) == []
    assert missing_cells(classic, beside=(CONSUMER,)) == []


def test_no_word_is_without_a_row() -> None:
    rows = [row for cells in (*CONSUMER.cells.values(), *CONSUMER.elsewhere["classic"].values()) for cell in cells.values() for row in cell]
    rows += [row for cell in CONSUMER.before_group.values() for row in cell]
    rows += [row for delta in CONSUMER.deltas for change in delta.was for row in change.rows]
    older = {guard for delta in CONSUMER.deltas for guard in delta.guards.values()}

    assert {row.guard for row in rows} | older == set(CONSUMER.guards)
    assert {row.answer for row in rows} >= set(CONSUMER.answers)
    assert {effect for row in rows for effect in (*row.effects, *row.after)} == set(CONSUMER.effects)
