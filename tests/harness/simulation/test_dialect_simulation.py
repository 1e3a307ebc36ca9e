"""A dialect says what of its answers counts when two runs are compared, and what stands ready for its processes."""

from __future__ import annotations

from tests.harness.toy_dialect.lease_dialect import LEASE, LeaseRequest, LeaseResponse
from tests.harness.toy_dialect.lease_simulation import LEASE_SIMULATION, OneHolder

from groupproof.harness.simulation.heap import Heap
from groupproof.harness.simulation.settings import Simulation


def test_the_digest_tells_answers_apart_that_a_member_would() -> None:
    fields = LEASE_SIMULATION.digest[LeaseResponse]
    request = LeaseRequest(group_id="g", member_epoch=2)

    assert LEASE_SIMULATION.dialect is LEASE
    assert fields(request, LeaseResponse(member_epoch=2)) == (2, 0, 2)
    assert fields(request, LeaseResponse(member_epoch=2)) != fields(request, LeaseResponse(error_code=25))


def test_the_invariants_are_created_for_each_run() -> None:
    first, second = (LEASE_SIMULATION.invariants(Simulation(seed=1), Heap()) for _ in range(2))

    assert isinstance(first, OneHolder)
    assert first is not second
