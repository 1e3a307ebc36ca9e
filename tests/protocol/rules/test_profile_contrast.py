"""Where two profiles differ, and whether what was read of one of them tells them apart."""

from __future__ import annotations

from groupproof.protocol.rules import profile
from groupproof.protocol.rules.cells import Cell
from groupproof.protocol.rules.classic.classic_states import COMPLETING, DEAD
from groupproof.protocol.rules.classic.classic_terms import ClassicEvent
from groupproof.protocol.rules.classic.named_changes import changes_beside
from groupproof.protocol.rules.noted_reads import Reads
from groupproof.protocol.rules.profile_contrast import contrast_of
from groupproof.protocol.rules.profiles import UnknownProfile, mixed, profiles

NAME, OTHER = "kafka-4.1", "kafka-2.4"
FIELD, CELL = "first_group_epoch", "Heartbeat/CompletingRebalance"


def test_another_value_of_a_field_is_read_where_the_field_is() -> None:
    contrast = contrast_of("kafka-4.4", mixed("kafka-4.4", FIELD, NAME))

    assert (contrast.fields, contrast.rows) == (frozenset({FIELD}), {})
    assert contrast.is_read(Reads(fields={FIELD}))
    assert not contrast.is_read(Reads(fields={"describes_pending"}, rows={CELL: 99}))


def _cell(name: str) -> Cell:
    return profile(name).table.cells[ClassicEvent.HEARTBEAT][COMPLETING]


def test_another_row_is_read_where_its_number_is_reached() -> None:
    number = next(number for number, (row, was) in enumerate(zip(_cell(NAME), _cell(OTHER), strict=False)) if row != was)
    contrast = contrast_of(NAME, mixed(NAME, CELL, OTHER))

    assert (contrast.fields, contrast.rows) == (frozenset[str](), {CELL: number})
    assert [contrast.is_read(Reads(rows={CELL: reached})) for reached in (number - 1, number, number + 1)] == [False, True, True]
    assert not contrast.is_read(Reads(rows={"Heartbeat/Stable": 99}))


def test_a_row_more_is_read_where_all_before_it_are_and_a_check_before_the_group_is_a_row() -> None:
    newer, older = "kafka-2.5", "kafka-2.1"
    kind = next(kind for kind, cell in profile(newer).table.before_group.items() if cell != profile(older).table.before_group[kind])
    checks, others = profile(newer).table.before_group[kind], profile(older).table.before_group[kind]
    contrast = contrast_of(newer, mixed(newer, f"{kind.value}/before", older))
    (number,) = contrast.rows.values()

    assert contrast.rows.keys() == {f"{kind.value}/before"}
    assert checks[:number] == others[:number]
    assert checks[number : number + 1] != others[number : number + 1]


def test_another_coordinator_or_other_defaults_are_read_always() -> None:
    assert contrast_of(NAME, OTHER).is_read(Reads())
    assert not contrast_of(NAME, NAME).is_read(Reads(fields={FIELD}, rows={CELL: 99}))


def test_a_row_of_a_dead_group_is_read_always_since_it_is_looked_up_outside_a_machine() -> None:
    cells = profile(NAME).table.cells
    others = {
        other: [kind for kind, states in profile(other).table.cells.items() if states.get(DEAD, ()) != cells.get(kind, {}).get(DEAD, ())]
        for other in profiles()
    }
    pairs = [
        (other, kind)
        for other, kinds in others.items()
        for kind in kinds
        if profile(other).table.cells[kind].get(DEAD) and cells.get(kind, {}).get(DEAD)
    ]

    assert pairs
    assert all(contrast_of(NAME, mixed(NAME, f"{kind.value}/Dead", other)).is_read(Reads()) for other, kind in pairs)


def test_each_named_change_is_read_by_who_reads_everything_and_not_by_who_reads_nothing() -> None:
    everything = {
        f"{kind.value}/{'none' if state is None else state.value}": 99 for kind, states in profile(OTHER).table.cells.items() for state in states
    }
    everything |= {f"{kind.value}/before": 99 for kind in profile(OTHER).table.before_group}
    changed = _changed()

    assert changed
    assert [name for name in changed if not contrast_of(OTHER, name).is_read(Reads({*profile(OTHER).fields}, everything))] == []
    assert [name for name in changed if contrast_of(OTHER, name).is_read(Reads())] == []


def _changed() -> list[str]:
    """Return the profiles that differ from the release in one named change."""
    found: list[str] = []
    for change in changes_beside(OTHER):
        try:
            found.append(profile(mixed(OTHER, change.part, change.release)).name)
        except UnknownProfile:
            continue
    return found
