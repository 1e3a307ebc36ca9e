"""No partition in two hands of members that take part, unless a late report explains it."""

from __future__ import annotations

import pytest

from groupproof.clients.outputs import Callback, CallbackKind
from groupproof.harness.simulation.invariants.epoch_member_invariants import EpochMemberInvariants
from groupproof.harness.simulation.invariants.epoch_owners import EpochOwners
from groupproof.harness.simulation.settings import InvariantBroken

T0 = ("t", 0)


def _owners(*live: str, epoch: int = 3) -> EpochOwners:
    owners = EpochOwners(lambda: live)
    for name in ("m0", "m1"):
        view = EpochMemberInvariants(
            instance_id=None, assignor=None, rack=None, rebalance_timeout_ms=1, topics=("t",), member_id=f"{name}-id", epoch=epoch
        )
        owners.views[name] = view
    return owners


def _both_take(owners: EpochOwners) -> None:
    for name in ("m0", "m1"):
        owners.called(name, Callback(kind=CallbackKind.ASSIGNED, partitions=frozenset({T0}), member_id=f"{name}-id", generation=3))


@pytest.mark.requirement("CGI-10")
def test_two_members_of_the_group_with_one_partition_break_it() -> None:
    with pytest.raises(InvariantBroken, match="CGI-10: NoDoubleClientAssignment: m1 takes t-0, which m0 has still"):
        _both_take(_owners("m0-id", "m1-id"))


def test_a_member_that_is_removed_or_knows_that_it_is_no_member_is_not_compared() -> None:
    removed, unaware = _owners("m1-id"), _owners("m0-id", "m1-id", epoch=0)
    _both_take(removed)
    _both_take(unaware)

    assert (removed.forgiven, unaware.forgiven) == (0, 0)


def test_a_partition_that_a_late_report_left_out_is_forgiven_and_counted() -> None:
    owners = _owners("m0-id", "m1-id")
    owners.views["m0"].unsaid = frozenset({T0})
    _both_take(owners)

    assert owners.forgiven == 1


def test_a_member_of_the_classic_protocol_is_not_compared() -> None:
    owners = _owners("m0-id", "m1-id")
    del owners.views["m1"]
    _both_take(owners)

    assert owners.forgiven == 0
