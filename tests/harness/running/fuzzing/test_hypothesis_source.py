from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from groupproof.harness.running.fuzzing.choice_source import ChoiceSource
from groupproof.harness.running.fuzzing.hypothesis_source import drawn


def three(choices: ChoiceSource) -> tuple[int, bool, str]:
    return choices.number(3, 9), choices.chance(2), choices.one_of("abc")


def test_the_same_seed_draws_the_same_and_another_something_else() -> None:
    assert drawn(three, seed=1, count=20) == drawn(three, seed=1, count=20)
    assert drawn(three, seed=1, count=20) != drawn(three, seed=2, count=20)


def test_what_is_drawn_keeps_to_its_bounds() -> None:
    made = drawn(three, seed=3, count=40)

    assert len(made) == 40
    assert {number for number, _, _ in made} <= set(range(3, 10))
    assert {chance for _, chance, _ in made} == {True, False}
    assert {letter for _, _, letter in made} == set("abc")


def test_what_is_drawn_is_the_same_whatever_modules_are_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ten(choices: ChoiceSource) -> list[int]:
        return [choices.number(1_000, 100_000) for _ in range(10)]

    before = drawn(ten, seed=4, count=50)
    (tmp_path / "own_numbers.py").write_text("NUMBERS = [" + ", ".join(str(number) for number in range(70_001, 70_400, 7)) + "]\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    __import__("own_numbers")
    try:
        assert drawn(ten, seed=4, count=50) == before
    finally:
        del sys.modules["own_numbers"]


def test_importing_it_in_the_middle_of_a_run_prints_nothing() -> None:
    program = "import gc, trio; gc.freeze(); import groupproof.harness.running.fuzzing.hypothesis_source"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert (ran.stdout, ran.stderr) == ("", "")
