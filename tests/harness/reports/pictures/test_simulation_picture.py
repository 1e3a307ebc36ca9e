"""The picture: the members, their states, the faults, and what was broken; no quiet heartbeats."""

from __future__ import annotations

from xml.etree import ElementTree

from tests.harness.simulation.runs import calm
from tests.harness.simulation.test_trace_writer import observed

from groupproof.harness.reports.pictures.simulation_picture import picture_of
from groupproof.harness.simulation.fault_schedule import Schedule, ScheduledFault


def test_a_picture_shows_members_states_and_faults_and_can_be_read_as_svg() -> None:
    outcome, trace = observed(calm(), Schedule(faults=(ScheduledFault(at_ms=9_000, kind="crash", who=("m1",), for_ms=9_000),)))
    picture = picture_of(trace, outcome)

    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert all(text in picture for text in ("m0", "m3", "crash 0", "s-STABLE", "settled", "generation 1"))
    assert len(picture) < 150_000


def test_a_picture_says_which_invariant_was_broken_when() -> None:
    outcome, trace = observed(calm(coordinator_variant="generation-negative"))

    assert "INV-04 broken at " in picture_of(trace, outcome)
