"""States × inputs: in every release each cell comes up in some course of events, or is sworn impossible and refused by the machine."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.coordinator.test_every_rule import COURSES, JOINS, OTHERS, STAGES

from groupproof.coordinator.machine.bound_tables import bound_tables
from groupproof.coordinator.machine.choices import RandomChoices
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.engine import Engine, Unreachable
from groupproof.coordinator.machine.event import Event
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.protocol.rules import STATES, ClassicEvent, profile, profiles, state_name

if TYPE_CHECKING:
    from tests.coordinator.conftest import Scene

# Cells that no course of a single coordinator meets: this log answers at once, so that no append comes late. Met in test_engine.py.
LATE_APPENDS = {
    (kind.value, state_name(state))
    for kind in (ClassicEvent.APPENDED, ClassicEvent.APPEND_FAILED)
    for state in STATES
    if state_name(state) != "CompletingRebalance"
}


def _courses() -> dict[tuple[str, str], list[Callable[[Scene], object]]]:
    """Return the courses of events that are to meet a row, by the cell of the row."""
    courses: dict[tuple[str, str], list[Callable[[Scene], object]]] = {}
    for rule, ask in {**JOINS, **OTHERS}.items():
        kind, state, _ = rule.split("/")
        stage = STAGES["Empty" if kind == "ListGroups" else state]
        courses.setdefault((kind, state), []).append(lambda scene, stage=stage, ask=ask: ask(scene, stage(scene)))  # type: ignore[misc]  # bound by default
    for rule, course in {**COURSES, "SessionEnd/Empty/of-the-evicted": _evicted_first}.items():
        kind, state, _ = rule.split("/")
        courses.setdefault((kind, state), []).append(course)
    return courses


def _evicted_first(scene: Scene) -> None:
    """Let the group be empty before the session of its last member ends, whose timer runs on in 1.1 (KAFKA-7196)."""
    leader, _ = scene.stable(2, version=2, session_ms=60_000, rebalance_ms=5_000)
    scene.leave(leader, version=1)
    scene.after(60_000)


def _rules(scene: Scene, course: Callable[[Scene], object]) -> set[tuple[str, str]]:
    """Return the cells that a course meets, as far as it goes: it is written for the newest release. What is impossible must not come up."""
    try:
        course(scene)
    except Unreachable:
        raise
    except (AssertionError, LookupError):
        pass  # an older release answers otherwise, and the course ends
    return {(kind, state) for kind, state, _ in (rule.split("/") for rule in scene.rules())}


# The oldest release of each set of possible cells stands for the others.
SHAPES = {frozenset(profile(name).table.unreachable): name for name in reversed(profiles())}.values()


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_every_cell_of_a_release_comes_up_and_no_other(scene_of: Callable[..., Scene], name: str) -> None:
    cells = {(kind.value, state_name(state)) for kind, states in profile(name).table.cells.items() for state in states}
    covered: set[tuple[str, str]] = set()
    for cell, courses in _courses().items():
        for course in courses:
            if cell in covered or cell not in cells:
                break
            interval_ms = 7_000 if cell[0] == "Cleanup" else 600_000  # so that a cleanup comes while the group is on its stage
            covered |= _rules(scene_of(name, offsets_retention_check_interval_ms=interval_ms, group_max_session_timeout_ms=1_800_000), course)

    assert cells - covered == LATE_APPENDS & cells
    assert {item for item in covered if item[1] != "before"} <= cells


@pytest.mark.parametrize("name", profiles())
def test_an_impossible_cell_is_refused_by_name(name: str) -> None:
    engine = Engine(bound_tables(profile(name), REFERENCE), Settings.of({}, name), RandomChoices(random.Random(3)))
    for (kind, state), reason in profile(name).table.unreachable.items():
        group = None if state is None else Group(group_id="g", state=state)
        with pytest.raises(Unreachable, match=f"{kind.value} occurred in {state_name(state)}"):
            engine.apply(Event(kind=kind, now_ms=0, settings=engine.settings, group_id="g", group=group))
        assert reason
    assert engine.out == []
