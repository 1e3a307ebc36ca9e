"""Verdicts do not depend on how busy the machine is: every scenario over the wire with a process spinning on each core, against the quiet matrix.

Where the kit itself is late a run says nothing (INCONCLUSIVE, after it was had again by itself); that is no other verdict, and must stay rare.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.project import ROOT

MATRIX = ROOT / "docs" / "chaos-matrix.md"
WORDS = {"OK": "OK", "NON_STRICT": "NON_STRICT", "FAILED, known": "EXCUSED", "FAILED": "FAILED", "–": "UNIMPLEMENTED"}
CLIENT = "kafka-python"
UNCLEAR_MAX = 3


@contextmanager
def busy(cores: int) -> Iterator[None]:
    """Keep as many cores busy by processes that spin, with the priority of everybody else."""
    spinning = [subprocess.Popen([sys.executable, "-I", "-S", "-c", "while True: pass"]) for _ in range(cores)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


def quiet(client: str, coordinator: str) -> dict[str, str]:
    """Return the verdicts of the matrix of the documentation, by scenario."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in MATRIX.read_text("utf-8").splitlines() if line.startswith("| ")]
    column = next(number for number, cell in enumerate(rows[0]) if re.sub(r"<br>", " ", cell) == f"{client} {coordinator}")
    return {row[0].strip("`"): WORDS[row[column]] for row in rows[1:] if row[0].startswith("`")}


def test_the_matrix_can_be_read() -> None:
    by_name = quiet(CLIENT, "reference")

    assert len(by_name) > 50
    assert (by_name["slow-joiner"], by_name["topic-grows"]) == ("OK", "EXCUSED")


@pytest.mark.soak
@pytest.mark.network
def test_with_every_core_busy_the_verdicts_are_those_of_a_quiet_machine(tmp_path: Path) -> None:
    argv = [
        str(Path(sys.executable).with_name("groupproof")),
        "chaos",
        "run",
        "all",
        "--client",
        CLIENT,
        "--coordinator",
        "groupproof",
        "--output",
        str(tmp_path),
    ]
    with busy(os.cpu_count() or 1):
        subprocess.run(argv, check=False, capture_output=True)
    cases = json.loads((tmp_path / "report.json").read_text())["cases"]
    loaded = {case["id"].rpartition("/")[2]: case["verdict"] for case in cases}
    unclear = {name for name, verdict in loaded.items() if verdict == "INCONCLUSIVE"}

    assert {name: verdict for name, verdict in loaded.items() if name not in unclear} == {
        name: verdict for name, verdict in quiet(CLIENT, "reference").items() if name not in unclear
    }
    assert len(unclear) <= UNCLEAR_MAX, unclear
