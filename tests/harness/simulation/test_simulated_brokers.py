"""Brokers: one coordinates, it moves, crashes, stops, and its successor knows what was stored."""

from __future__ import annotations

from typing import Any

import pytest
from tests.harness.simulation.runs import calm, ran

from groupproof.coordinator.machine.group import Group
from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.settings import InvariantBroken
from groupproof.protocol.vocabulary import ErrorCode, GroupState, MemberState

SETTLED_MS = 8_000


def _stable(**options: Any) -> Run:
    return ran(calm(**options), SETTLED_MS)


def _advance(run: Run, ms: int) -> Run:
    run.heap.run(run.heap.now_ms + ms)
    return run


def _generations(run: Run) -> set[int]:
    return {process.member.generation for process in run.targets.processes.values() if process.member.state is MemberState.STABLE}


def test_a_group_that_moves_keeps_its_generation_and_its_members_find_it() -> None:
    run = _stable()
    brokers = run.targets.brokers
    before = brokers.owner
    assert before is not None

    assert brokers.move((before + 1) % 3, drops=False, after_ms=200)
    _advance(run, 10_000)

    assert (brokers.owner, _generations(run)) == ((before + 1) % 3, {1})
    assert run.invariants.generations.state is GroupState.STABLE


@pytest.mark.parametrize("drops", [True, False])
def test_a_rebalance_under_way_at_a_move_is_lost_and_made_good(drops: bool) -> None:
    run = _stable()
    run.targets.processes["m0"].leave()
    _advance(run, 1_000)
    run.targets.brokers.move(2, drops=drops, after_ms=0)
    run.targets.processes["m0"].start()
    _advance(run, 30_000)

    assert len(_generations(run)) == 1
    assert run.targets.brokers.owner == 2


def test_a_broker_that_crashes_hands_the_group_on_and_is_no_use_until_it_is_back() -> None:
    run = _stable()
    brokers = run.targets.brokers
    crashed = brokers.owner
    assert crashed is not None

    assert brokers.crash(crashed, failover_ms=500, load_ms=500)
    assert not brokers.crash(crashed, failover_ms=0, load_ms=0)
    assert brokers.owner is None
    _advance(run, 15_000)
    assert brokers.owner not in (None, crashed)
    assert _generations(run) == {1}

    assert not brokers.move(crashed, drops=False, after_ms=0)
    brokers.restart(crashed)
    assert brokers.move(crashed, drops=False, after_ms=0)


def test_with_one_broker_the_group_waits_until_it_is_back() -> None:
    run = _stable(brokers=1)
    brokers = run.targets.brokers
    brokers.crash(0, failover_ms=100, load_ms=100)
    assert _advance(run, 4_000).targets.brokers.owner is None

    brokers.restart(0)
    _advance(run, 5_000)
    assert (brokers.owner, _generations(run)) == (0, {1})


def test_a_broker_that_stands_still_evicts_on_waking_those_whose_heartbeats_it_did_not_read() -> None:
    run = _stable()
    owner = run.targets.brokers.owner
    assert owner is not None
    assert run.targets.brokers.stop(owner)
    assert not run.targets.brokers.stop(owner)
    _advance(run, 20_000)
    assert run.targets.brokers.move(0, drops=False, after_ms=0) is False

    run.targets.brokers.go_on(owner)
    _advance(run, 40_000)
    assert _generations(run)
    assert 1 not in _generations(run)


def test_a_log_that_refuses_records_keeps_the_group_from_settling_until_it_takes_them() -> None:
    run = Run(calm())
    for node in range(run.targets.brokers.count):
        run.targets.brokers.refuse_appends(node, ErrorCode.NOT_ENOUGH_REPLICAS)
    for process in run.targets.processes.values():
        process.start()
    _advance(run, 8_000)
    assert _generations(run) == set()

    for node in range(run.targets.brokers.count):
        run.targets.brokers.refuse_appends(node, ErrorCode.NONE)
    _advance(run, 30_000)
    assert len(_generations(run)) == 1


def test_a_coordinator_that_loads_less_than_was_stored_breaks_an_invariant() -> None:
    run = _stable(coordinator_variant="groups-lost-on-move")

    run.targets.brokers.move(0, drops=False, after_ms=100)
    with pytest.raises(InvariantBroken, match="EMIG-03"):
        _advance(run, 1_000)


def test_a_machine_that_cannot_continue_breaks_its_own_invariant() -> None:
    run = _stable()
    owner = run.targets.brokers.owner
    assert owner is not None
    machine = run.targets.brokers._nodes[owner].machine
    group = machine._engine.groups["g"]
    assert isinstance(group, Group)
    group.members.leader = "nobody"

    with pytest.raises(InvariantBroken, match="the machine cannot go on"):
        _advance(run, 10_000)
