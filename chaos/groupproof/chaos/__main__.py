"""`python -m groupproof.chaos FILE` writes the page about scenarios to that file."""

from __future__ import annotations

import sys
from pathlib import Path

from groupproof.chaos.scenarios.scenario_page import page

if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), "utf-8")
