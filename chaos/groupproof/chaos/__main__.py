"""`python -m groupproof.chaos FILE` prints the page about scenarios there."""

from __future__ import annotations

import sys
from pathlib import Path

from groupproof.chaos.scenarios.scenario_page import page

if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), "utf-8")
