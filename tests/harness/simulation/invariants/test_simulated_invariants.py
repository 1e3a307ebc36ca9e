"""Who looks at nothing objects to nothing; a dialect's invariants say what they look at."""

from __future__ import annotations

import pytest
from tests.harness.toy_dialect.lease_dialect import LeaseResponse
from tests.harness.toy_dialect.lease_simulation import OneHolder

from groupproof.coordinator.machine.coordinator import Reply
from groupproof.harness.simulation.heap import Heap
from groupproof.harness.simulation.invariants.simulated_invariants import SimulatedInvariants
from groupproof.harness.simulation.settings import InvariantBroken, Simulation


def _answer(invariants: SimulatedInvariants, member: str, epoch: int) -> None:
    message = LeaseResponse(member_id=member, member_epoch=epoch)
    invariants.answered(Reply(token=1, message=message), None)


def test_two_holders_of_one_epoch_break_the_invariant_of_the_dialect_that_has_it() -> None:
    for invariants in (SimulatedInvariants(), lease := OneHolder(Simulation(seed=1), Heap())):
        _answer(invariants, "a", 3)
        _answer(invariants, "a", 3)
    _answer(SimulatedInvariants(), "b", 3)

    with pytest.raises(InvariantBroken, match="epoch 3 is a's, and was given to b"):
        _answer(lease, "b", 3)


def test_what_was_given_is_given_whoever_leads_the_group_next() -> None:
    lease = OneHolder(Simulation(seed=1), Heap())
    _answer(lease, "a", 1)
    lease.unloaded(drops=True)
    with pytest.raises(InvariantBroken, match="epoch 1 is a's"):
        _answer(lease, "b", 1)
