from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from _pytest.config import _iter_rewritable_modules
from tests.project import ROOT

NAMES = ("clients", "harness", "coordinator", "chaos")

pytest_plugins = ["pytester"]

HEAVY = "import sys, groupproof_pytest; print(sorted({name.split('.')[0] for name in sys.modules} & {'trio', 'kio', 'jinja2', 'click', 'rich', 'groupproof'}))"


def test_pytest_knows_the_plugin_by_the_projects_name() -> None:
    (found,) = [entry_point for entry_point in entry_points(group="pytest11") if entry_point.name == "groupproof"]

    assert found.value == "groupproof_pytest"


def test_the_front_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", HEAVY], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_pytest_takes_no_folder_of_anybody_elses_for_a_package_of_the_plugins(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)], cwd=ROOT, capture_output=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")

    marked = set(_iter_rewritable_modules(zipfile.ZipFile(wheel).namelist()))

    assert marked == {"groupproof_pytest", "pyspark_groupproof"}  # the latter by its name is what Spark looks for


def _untouched(pytester: pytest.Pytester) -> None:
    """Make a repository that has nothing to do with groups of consumers, and names what it likes as it likes."""
    for name in NAMES:
        package = pytester.mkpydir(name)
        (package / "work.py").write_text(f"NAME = {name!r}\n")
    pytester.makeconftest(
        "import clients.work\nimport pytest\n@pytest.fixture\ndef group(): return 'mine'\n@pytest.fixture\ndef trace(group): return group\n"
    )
    tests = pytester.mkpydir("checks")
    (tests / "conftest.py").write_text("import pytest\n@pytest.fixture(params=['a', 'b'])\ndef coordinator(request): return request.param\n")
    (tests / "test_work.py").write_text(
        "import importlib\nimport pytest\n"
        f"@pytest.mark.parametrize('name', {NAMES!r})\n"
        "def test_names(name, group, trace, coordinator):\n"
        "    assert importlib.import_module(f'{name}.work').NAME == name\n    assert group == trace == 'mine'\n    assert coordinator in 'ab'\n"
    )


@pytest.mark.parametrize("mode", ["prepend", "append", "importlib"])
def test_a_repository_with_such_names_is_not_interfered_with(pytester: pytest.Pytester, mode: str) -> None:
    _untouched(pytester)
    pytester.makeini("[pytest]\npythonpath = .\n")

    result = pytester.runpytest_inprocess("-p", "no:randomly", "-W", "error", "--strict-config", "--strict-markers", f"--import-mode={mode}")

    result.assert_outcomes(passed=8)
    assert "groupproof" not in "".join(line for line in result.outlines if not line.startswith("plugins:"))


def test_the_fixtures_all_carry_the_projects_name(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--fixtures", "-v", "-p", "no:randomly")

    own = [line.split(" ")[0] for line in result.outlines if "groupproof_pytest.py" in line]
    assert sorted(own) == ["groupproof_coordinator", "groupproof_group", "groupproof_toxiproxy", "groupproof_trace"]


def test_the_marker_is_registered(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("--markers", "-p", "no:randomly")

    assert [line for line in result.outlines if line.startswith("@pytest.mark.groupproof(profile=")]


def test_the_front_is_left_out_on_demand(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_inprocess("-p", "no:groupproof", "--groupproof-client", "groupproof")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*unrecognized arguments: --groupproof-client*"])
