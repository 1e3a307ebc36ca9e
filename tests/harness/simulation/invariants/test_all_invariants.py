"""The power of the invariants: planted bugs that break safety are found, legal deviations and the reference never are."""

from __future__ import annotations

from typing import Any

import pytest
from tests.harness.simulation.runs import short

from groupproof.clients.planted.member_variants import LEGAL as LEGAL_MEMBERS
from groupproof.coordinator.planted.variants import LEGAL as LEGAL_COORDINATORS
from groupproof.harness.simulation.run import run
from groupproof.harness.simulation.settings import Simulation, Violation
from groupproof.harness.simulation.simulator_faults import FAULTS

SEEDS_MAX = 12
LATE = tuple(variant.name for variant in LEGAL_COORDINATORS if variant.due_ms is not None)
"""Deviations from the deadlines, which the simulator holds to the millisecond."""
ELSEWHERE = (*LATE, "newcomers-wait-longer", "larger-frames", "smaller-frames")
"""The late ones, a deadline that is a setting, and deviations in frames, which the simulator has none of."""

EAGER_FAULTS = tuple(name for name, fault in FAULTS.items() if fault.dialect is None and name != "upgrade")
EAGER_ONLY: dict[str, dict[str, Any]] = {"leader-shares-over-topics": {"assignors": ("range",), "faults": EAGER_FAULTS}}
"""A leader that shares out at once is legal where members give up all before they join; an upgrade is one to cooperative members."""

# Of each bug: on which side, and what it is found by, whichever comes first.
BUGS = {
    "generation-stays": ("coordinator", "INV-04"),
    "generation-falls": ("coordinator", "INV-04"),
    "generation-negative": ("coordinator", "INV-04"),
    "members-told-to-all": ("coordinator", "JOIN-14"),
    "assignments-swapped": ("coordinator", "INV-09"),
    "one-assignment-for-all": ("coordinator", "INV-09 ASSIGN-09"),
    "assignments-stay": ("coordinator", "INV-09 ASSIGN-09"),
    "assignment-told-once": ("coordinator", "INV-09 ASSIGN-09"),
    "everyone-leads": ("coordinator", "SYNC-06 INV-09"),
    "leader-changes-each-time": ("coordinator", "JOIN-06"),
    "same-member-ids": ("coordinator", "JOIN-03 INV-01"),
    "session-never-ends": ("coordinator", "HB-11 INV-12"),
    "session-ends-early": ("coordinator", "HB-11"),
    "session-of-synced-is-short": ("coordinator", "HB-11"),
    "initial-delay-never-ends": ("coordinator", "INV-12"),
    "nobody-leads": ("coordinator", "SYNC-16 INV-12"),
    "parked-joins-forgotten": ("coordinator", "INV-08 EMIG-02"),
    "parked-syncs-forgotten": ("coordinator", "INV-08 EMIG-02"),
    "commit-off-by-one": ("coordinator", "TR-123"),
    "commit-only-once": ("coordinator", "TR-123"),
    "offsets-lost-on-move": ("coordinator", "TR-123"),
    "groups-lost-on-move": ("coordinator", "EMIG-03"),
    "leader-assigns-twice": ("member", "ASSIGN-09"),
    "takes-everything": ("member", "ASSIGN-09"),
    "revokes-after-join": ("member", "CLIENT-62 ASSIGN-09"),
    "leader-omits-a-partition": ("member", "ASSIGN-09"),
    "leader-assigns-to-itself-only": ("member", "ASSIGN-09 CLIENT-30"),
}


def _found(asked: Simulation, side: str, name: str) -> Violation | None:
    for seed in range(SEEDS_MAX):
        planted = {"coordinator_variant": name} if side == "coordinator" else {"member_variant": name}
        violations = run(Simulation.from_json({**asked.to_json(), "seed": seed, **planted})).violations
        if violations:
            return violations[0]
    return None


@pytest.mark.parametrize("name", BUGS)
def test_a_planted_bug_is_found_by_the_invariant_that_it_breaks(name: str) -> None:
    side, requirements = BUGS[name]
    found = _found(short(auto_commit_interval_ms=2_000, faults=("crash", "leave", "move", "stall")), side, name)

    assert found is not None, f"{SEEDS_MAX} seeds did not show it"
    assert found.requirement in requirements.split(), found.observed


@pytest.mark.parametrize("variant", ["slow-to-answer", "timers-late"])
def test_a_late_timer_is_no_matter_for_the_simulator_which_holds_deadlines_to_the_millisecond(variant: str) -> None:
    found = _found(short(), "coordinator", variant)

    assert variant in LATE
    assert found is not None, f"{SEEDS_MAX} seeds did not show it"
    assert found.requirement in ("HB-11", "INV-12", "SYNC-16"), found.observed


# The shortest runs that each of these was blamed in; the soak test below has the others.
@pytest.mark.parametrize(
    ("variant", "seed"),
    [
        ("heartbeats-from-poll-of-0.10.0", 6),
        ("as-kafka-go", 6),
        ("subscription-v0", 2),
        ("cooperative-as-agreed", 8),
        ("asks-by-heartbeat-after-a-failed-rejoin", 18),
        ("asks-by-heartbeat-after-a-failed-rejoin", 55),
    ],
)
def test_a_legal_variant_is_not_blamed_for_what_it_cannot_do_or_does_otherwise(variant: str, seed: int) -> None:
    assert run(short(seed, member_variant=variant)).violations == ()


@pytest.mark.soak
@pytest.mark.parametrize("variant", [legal_coordinator.name for legal_coordinator in LEGAL_COORDINATORS if legal_coordinator.name not in ELSEWHERE])
def test_a_coordinator_that_deviates_legally_breaks_no_invariant(variant: str) -> None:
    assert [run(short(seed, coordinator_variant=variant)).violations for seed in range(20)] == [()] * 20


@pytest.mark.soak
@pytest.mark.parametrize("variant", [legal_member.name for legal_member in LEGAL_MEMBERS])
def test_a_member_that_deviates_legally_breaks_no_invariant(variant: str) -> None:
    chosen = EAGER_ONLY.get(variant, {})
    assert [run(short(seed, member_variant=variant, **chosen)).violations for seed in range(20)] == [()] * 20
