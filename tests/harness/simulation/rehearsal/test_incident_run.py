"""Every incident occurs, its diagnosis names the cause, its remedy prevents it, and its page says what was found."""

from __future__ import annotations

import pytest
from incidents import PAGE

from groupproof.harness.reports.texts.incident_text import incident_lines
from groupproof.harness.simulation.rehearsal.incident_run import run_incident
from groupproof.harness.simulation.rehearsal.incidents import INCIDENTS


@pytest.mark.slow
@pytest.mark.parametrize("name", INCIDENTS)
def test_an_incident_occurs_for_the_cause_that_is_named_and_its_remedy_prevents_it(name: str) -> None:
    incident = INCIDENTS[name]
    run, cured = run_incident(incident), run_incident(incident, with_remedy=True)

    assert run.occurs, run.figures
    assert run.cause is incident.cause, run.causes
    assert not cured.occurs, cured.figures
    assert incident.sign in "; ".join(run.health.problems)
    assert bool(run.health.problems) is bool(incident.sign)
    page = PAGE.read_text("utf-8")
    assert all(line[12:] in page for line in incident_lines(run, cured) if line.startswith("  "))


@pytest.mark.parametrize("name", ["zombie-commits", "static-restarts-in-waves"])
def test_it_does_so_with_another_seed_too(name: str) -> None:
    incident = INCIDENTS[name]

    assert (run_incident(incident, 7).occurs, run_incident(incident, 7, with_remedy=True).occurs) == (True, False)
    assert run_incident(incident, 7).cause is incident.cause
