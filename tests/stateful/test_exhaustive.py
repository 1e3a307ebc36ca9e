"""Everything that can befall a small group: no state in which somebody waits for ever, none without a way back to a whole group."""

from __future__ import annotations

from typing import Any

import pytest
from tests.stateful.exhaustive import Bounds, Explored, explored

from groupproof.coordinator.machine.variant import REFERENCE
from groupproof.coordinator.planted.variants import variant_named
from groupproof.protocol.vocabulary import GroupState

TWO: dict[str, Any] = {"clients": 2, "ids": 2}
THREE: dict[str, Any] = {"clients": 3, "ids": 3}


def _go(bounds: dict[str, Any], *, profile: str = "kafka-4.1", variant: str | None = None) -> Explored:
    found = explored(Bounds(**bounds), profile=profile, variant=REFERENCE if variant is None else variant_named(variant))
    print(f"{profile} {bounds}: {len(found.ways)} states, {found.transitions} transitions, {len(found.rules)} rules")
    return found


def _check(found: Explored) -> None:
    for fault, states in (
        ("parked without a timer", found.deadlocks()),
        ("timers in a circle", found.livelocks()),
        ("no way back", found.hopeless()),
    ):
        assert not states, f"{fault}: {len(states)} states, the nearest by {found.history(states[0])}"
    assert set(GroupState) - set(found.states) == {GroupState.DEAD}


@pytest.mark.slow
@pytest.mark.requirement("INV-01", "INV-05", "INV-06", "INV-08", "INV-11", "INV-12")
@pytest.mark.parametrize(("static", "states_min"), [(0, 950), (1, 700), (2, 300)])
def test_two_clients_never_wait_for_ever_whatever_they_do(static: int, states_min: int) -> None:
    found = _go({**TWO, "static": static})

    _check(found)
    assert len(found.ways) >= states_min


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variant", "static", "ill"),
    [("nobody-leads", 0, "deadlocks"), ("initial-delay-never-ends", 2, "livelocks"), ("session-never-ends", 0, "hopeless")],
)  # fmt: skip
def test_a_planted_bug_that_makes_somebody_wait_for_ever_is_seen(variant: str, static: int, ill: str) -> None:
    found = _go({**TWO, "static": static}, variant=variant)

    states = getattr(found, ill)()
    assert states
    assert len(found.history(states[0])) <= 5, "the shortest history is told"


@pytest.mark.soak
@pytest.mark.requirement("INV-01", "INV-05", "INV-06", "INV-08", "INV-11", "INV-12")
@pytest.mark.parametrize("profile", ["kafka-1.1", "kafka-2.2", "kafka-2.5", "kafka-3.9", "kafka-4.1"])
@pytest.mark.parametrize("more", [{}, {"static": 1}, {"static": 3}, {"delay_ms": 0}, {"ids": 4, "delay_ms": 0, "static": 1}])
def test_three_clients_never_wait_for_ever_whatever_they_do(profile: str, more: dict[str, Any]) -> None:
    if more.get("static") and profile in ("kafka-1.1", "kafka-2.2"):
        pytest.skip("static members came with 2.3")
    _check(_go({**THREE, **more}, profile=profile))
