"""The page of the incidents is printed from their simulations."""

from __future__ import annotations

from incidents import page_of

from groupproof.harness.simulation.rehearsal.incidents import INCIDENTS


def test_an_incident_is_a_section_with_a_row_for_each_thing_that_is_said() -> None:
    page = page_of([INCIDENTS["zombie-commits"]])

    assert "\n## zombie-commits\n\n[The report](https://github.com/dpkp/kafka-python/issues/1435)\n\n| | |\n| --- | --- |\n| happened | " in page
    assert "| with it | 0 records read again |\n" in page
