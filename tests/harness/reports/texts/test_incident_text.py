"""An incident as text and as JSON."""

from __future__ import annotations

from groupproof.harness.reports.texts.incident_text import incident_lines, incident_to_json
from groupproof.harness.simulation.rehearsal.incident_run import run_incident
from groupproof.harness.simulation.rehearsal.incidents import INCIDENTS


def test_an_incident_says_what_happened_what_tells_it_and_what_prevents_it() -> None:
    incident = INCIDENTS["zombie-commits"]
    run, cured = run_incident(incident), run_incident(incident, with_remedy=True)
    lines = {line[2:12].strip(): line[12:] for line in incident_lines(run, cured)}

    assert lines["cost"] == f"{run.cost.reread} records read again"
    assert "no heartbeat of m0 came within its session timeout" in lines["explain"]
    assert lines["watch"].startswith("no problem (generations: ")
    assert lines["with it"] == "0 records read again"
    document = incident_to_json(run, cured)
    assert (document["before"]["occurs"], document["with_remedy"]["occurs"]) == (True, False)
