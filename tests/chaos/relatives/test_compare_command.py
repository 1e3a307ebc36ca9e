from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from groupproof.chaos.relatives.compare_command import command
from groupproof.harness.relatives.zookeeper_comparison.comparison import Comparison

ARGUMENTS = ["--real", "", "--simulated", "4", "--runs", "0"]


def test_a_comparison_is_printed_drawn_and_written(tmp_path: Path) -> None:
    called = CliRunner().invoke(command, [*ARGUMENTS, "--output", str(tmp_path / "out")])

    assert called.exit_code == 0, called.output
    assert "join          4  simulated zookeeper" in called.stdout
    assert called.stdout.splitlines()[-1] == f"{tmp_path}/out/comparison.html"
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"comparison.html", "comparison.json", "comparison.svg"}
    assert len(Comparison.from_json(json.loads((tmp_path / "out" / "comparison.json").read_text())).rows) == 6


def test_with_json_stdout_holds_nothing_else(tmp_path: Path) -> None:
    called = CliRunner().invoke(command, [*ARGUMENTS, "--json", "--output", str(tmp_path)])
    assert json.loads(called.stdout)["schema"] == "groupproof.comparison/1"


@pytest.mark.parametrize(("sizes", "message"), [("4,x", "are no sizes; write numbers"), ("1", "from 2 to 10,000"), ("4,20000", "from 2 to 10,000")])
def test_what_is_no_size_is_refused(sizes: str, message: str) -> None:
    called = CliRunner().invoke(command, ["--simulated", sizes])
    assert called.exit_code == 2
    assert message in called.output


def test_a_library_that_is_missing_is_reported_with_how_to_get_it() -> None:
    program = "import sys; sys.modules['kazoo'] = None; from groupproof.harness.commands.base.boundary import run; sys.exit(run(sys.argv[1:]))"
    done = subprocess.run([sys.executable, "-c", program, "compare", *ARGUMENTS], capture_output=True, text=True, timeout=300, check=False)

    assert done.returncode == 4
    assert "groupproof compare needs kazoo, which is not installed; get it with: " in done.stderr
    assert done.stderr.endswith("-m pip install 'groupproof[chaos,zookeeper]'\n")
