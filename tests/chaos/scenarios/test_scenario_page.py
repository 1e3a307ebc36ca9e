from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.project import ROOT

from groupproof.chaos.scenarios.scenario_faults import KINDS
from groupproof.chaos.scenarios.scenario_file import read_scenario
from groupproof.chaos.scenarios.scenario_page import page
from groupproof.chaos.scenarios.shipped_scenarios import shipped

PAGE = ROOT / "docs" / "chaos.md"


def test_the_page_is_what_the_code_knows() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: make docs"


def test_it_reports_every_scenario_and_every_kind_of_fault() -> None:
    for scenario in shipped():
        assert f"| `{scenario.name}` | {scenario.title} |" in page()
    for kind in KINDS:
        assert f"| `{kind}` |" in page()


def test_the_file_that_it_shows_is_a_scenario() -> None:
    block = re.search(r"```toml[^\n]*\n(.*?)```", page(), re.DOTALL)
    assert block is not None
    assert read_scenario("shown", block[1]).phases[0].faults[0].who == "half"


def test_the_page_is_printed_by_the_package(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "groupproof.chaos", str(tmp_path / "chaos.md")], check=True)
    assert (tmp_path / "chaos.md").read_text("utf-8") == page()
