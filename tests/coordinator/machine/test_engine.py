"""The engine: the first row whose guard holds is the rule; a late append finds a group that has moved on; no cell is a fault of ours."""

from __future__ import annotations

import random

import pytest

from groupproof.coordinator.machine.bound_tables import bound_tables
from groupproof.coordinator.machine.choices import RandomChoices
from groupproof.coordinator.machine.coordinator_settings import Settings
from groupproof.coordinator.machine.engine import Engine, Unreachable
from groupproof.coordinator.machine.event import Event
from groupproof.coordinator.machine.group import Group
from groupproof.coordinator.machine.machine_outputs import AppliedRow, Reply
from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.protocol.rules import ClassicEvent, profile
from groupproof.protocol.vocabulary import ErrorCode, GroupState


def _engine() -> Engine:
    return Engine(bound_tables(profile(), REFERENCE), Settings(), RandomChoices(random.Random(3)))


def _input(kind: ClassicEvent, group: Group | None, generation: int = -1) -> Event:
    return Event(kind=kind, now_ms=0, settings=Settings(), group_id="g", group=group, generation=generation)


@pytest.mark.requirement("TR-084", "SYNC-10")
@pytest.mark.parametrize("kind", [ClassicEvent.APPENDED, ClassicEvent.APPEND_FAILED])
@pytest.mark.parametrize("state", [state for state in GroupState if state is not GroupState.COMPLETING_REBALANCE])
def test_an_append_that_comes_late_changes_nothing(kind: ClassicEvent, state: GroupState) -> None:
    engine, group = _engine(), Group(group_id="g", state=state, generation=2)
    row = engine.apply(_input(kind, group, generation=2))

    assert (row.name, group.state) == ("passed", state)
    assert [type(output) for output in engine.out] == [AppliedRow]


@pytest.mark.requirement("TR-084", "SYNC-10")
@pytest.mark.parametrize("kind", [ClassicEvent.APPENDED, ClassicEvent.APPEND_FAILED])
def test_an_append_for_a_generation_that_has_passed_changes_nothing(kind: ClassicEvent) -> None:
    group = Group(group_id="g", state=GroupState.COMPLETING_REBALANCE, generation=3)
    row = _engine().apply(_input(kind, group, generation=2))

    assert (row.name, group.state) == ("passed", GroupState.COMPLETING_REBALANCE)


def test_an_input_without_a_cell_is_a_fault_of_the_machine() -> None:
    with pytest.raises(Unreachable, match="SyncDeadline occurred in Empty of group 'g'"):
        _engine().apply(_input(ClassicEvent.SYNC_DEADLINE, Group(group_id="g")))


def test_a_refused_request_is_answered_and_its_group_not_asked() -> None:
    engine = _engine()
    event = _input(ClassicEvent.HEARTBEAT, None)
    event.group_id = ""

    assert engine.refuse(event)
    assert [output.rule for output in engine.out if isinstance(output, AppliedRow)] == ["Heartbeat/before/group-id-empty"]
    assert not engine.refuse(_input(ClassicEvent.HEARTBEAT, None))


def test_nothing_is_answered_where_nobody_asked() -> None:
    engine = _engine()
    engine.apply(_input(ClassicEvent.HEARTBEAT, None))

    assert not [output for output in engine.out if isinstance(output, Reply)]


def test_the_log_refuses_nothing_by_default() -> None:
    assert _engine().append_error is ErrorCode.NONE
