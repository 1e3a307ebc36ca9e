"""What the README shows of a simulation is what its seed gives today."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

from groupproof.harness.simulation.run import Run
from groupproof.harness.simulation.settings import Simulation


def test_the_trace_of_the_readme_s_seed_is_the_one_it_names() -> None:
    (in_readme,) = re.findall(r"trace ([0-9a-f]{32})$", (ROOT / "README.md").read_text(), re.MULTILINE)

    assert Run(Simulation(seed=7, members=5, duration_ms=600_000)).go().trace_hash == in_readme
