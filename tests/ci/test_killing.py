"""Trying mutants: what a test meets and fails is killed, and no more is run for a mutant than is affordable."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from killing import SUITE_S, affordable
from mutants import mutated

ROOT = Path(__file__).parents[2]
SOURCE = """
def oversized(members, size_max):
    return members > size_max


def doubled(members):
    return members * 2


def unmet(members):
    return members + 1
"""
TESTS = """
import ringed

def test_two_are_more_than_one():
    assert ringed.oversized(2, 1)

def test_two_are_doubled():
    assert ringed.doubled(2) == 4

def test_this_one_fails_whatever_is_mutated():
    assert not ringed.oversized(1, 2) and not ringed.oversized(2, 1)
"""


def test_the_fastest_tests_are_afforded_and_always_one() -> None:
    assert affordable([(SUITE_S, False), (0.1, False), (0.2, False)]) == [1, 2]
    assert affordable([(SUITE_S + 1, False)]) == [0]
    assert affordable([]) == []


def test_a_test_of_the_module_s_own_goes_before_others_ten_times_as_fast() -> None:
    assert affordable([(0.1, False), (0.9, True), (0.08, False), (0.3, True)]) == [3, 2, 1, 0]


@pytest.mark.slow
def test_a_mutant_lives_unless_a_test_that_passes_unharmed_fails_on_it(tmp_path: Path) -> None:
    code, made = mutated("ringed", SOURCE)
    drawn = [mutant.name for mutant in made]
    (tmp_path / "ringed.py").write_text(code)
    (tmp_path / "test_ringed.py").write_text(TESTS)
    (tmp_path / "pyproject.toml").write_text('[tool.mutmut]\nsource_paths = ["."]\n[tool.pytest.ini_options]\npythonpath = ["."]\n')
    (tmp_path / "drawn.json").write_text(json.dumps([*drawn, "ringed.x_oversized__mutmut_0"]))
    command = [sys.executable, "-m", "pytest", "-p", "killing", "-p", "no:randomly", "--drawn=drawn.json", "--outcomes=outcomes.json", "--jobs=2"]

    ended = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT / "ci")}, check=False, capture_output=True, text=True)

    assert (tmp_path / "outcomes.json").exists(), ended.stdout + ended.stderr
    outcomes = json.loads((tmp_path / "outcomes.json").read_text())
    assert outcomes["ringed.x_oversized__mutmut_0"] == "survived"  # what mutmut takes for the function unharmed
    assert {mutant.now: outcomes[mutant.name] for mutant in made} == {
        "return members >= size_max": "survived",
        "return members / 2": "killed",
        "return members * 3": "killed",
        "return members - 1": "survived",
        "return members + 2": "survived",
    }
