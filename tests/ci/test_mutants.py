"""What is drawn, how a mutant is told, and what counts: the machines' own mutants are tried by `make mutants`."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Any

import mutants
import pytest
from mutants import Mutant, mutated, refused, sampled, stale, summary_of, unexplained

ROOT = Path(__file__).parents[2]
SOURCE = """
def oversized(members: int, size_max: int) -> bool:
    return members > size_max


class Timers:
    def armed(self) -> int:
        armed = 3
        return armed
"""
OVERSIZED = Mutant(
    name="groupproof.coordinator.machine.guards.x_oversized__mutmut_1",
    function="groupproof.coordinator.machine.guards.oversized",
    was="return members > size_max",
    now="return members >= size_max",
)


def test_a_mutant_says_what_it_changed_and_in_which_function() -> None:
    code, made = mutated("groupproof.coordinator.machine.guards", SOURCE)

    assert OVERSIZED in made
    assert {(mutant.function, mutant.was) for mutant in made} >= {("groupproof.coordinator.machine.guards.Timers.armed", "armed = 3")}
    assert all(mutant.name.rpartition(".")[2] in code for mutant in made)


def test_a_seed_draws_the_same_sample_in_whatever_order_the_names_come() -> None:
    names = [f"m{number}" for number in range(100)]

    assert sampled(names, 10, 3) == sampled(reversed(names), 10, 3) != sampled(names, 10, 4)
    assert sorted(sampled(names, 1000, 3)) == sorted(names)


def test_an_explained_survivor_does_not_count_and_a_changed_one_does() -> None:
    explained: list[dict[str, Any]] = [
        {"function": OVERSIZED.function, "was": OVERSIZED.was, "now": ["return None", OVERSIZED.now], "because": "never reached"}
    ]

    assert unexplained([OVERSIZED], explained) == []
    assert unexplained([OVERSIZED], [explained[0] | {"now": ["return True"]}]) == [OVERSIZED]


def test_what_mypy_says_of_a_mutant_and_not_of_the_function_unharmed_refuses_it() -> None:
    code = "def x_f__mutmut_orig():\n    return 1\n\ndef x_f__mutmut_1():\n    return 2\n\ndef x_f__mutmut_2():\n    return None\n\ndef g(): pass\n"

    assert refused(code, [(2, "redundant"), (5, "redundant"), (8, "redundant"), (8, "not an int"), (10, "untyped")]) == {"x_f__mutmut_2"}


@pytest.mark.parametrize(("killed", "ill_typed", "code"), [(18, 1, 0), (18, 0, 1), (0, 0, 1)])
def test_one_open_survivor_in_twenty_is_the_most(killed: int, ill_typed: int, code: int) -> None:
    lines, ended = summary_of(killed, ill_typed, 3, [OVERSIZED])

    assert ended == code
    assert f"{killed} killed, {ill_typed} refused by mypy, 2 explained, 1 not" in lines[-1]
    assert OVERSIZED.now in lines[0]


def test_an_explanation_of_what_is_no_mutant_any_more_explains_nothing() -> None:
    explained: list[dict[str, Any]] = [{"function": OVERSIZED.function, "was": OVERSIZED.was, "now": [OVERSIZED.now], "because": "never reached"}]

    assert stale(explained, [OVERSIZED]) == []
    assert stale(explained, []) == [f"explains nothing  {OVERSIZED.function}\n  + {OVERSIZED.now}"]


def test_the_machines_are_there_and_each_explanation_says_why() -> None:
    paths = [ROOT / module.split(".")[1] / f"{module.replace('.', '/')}.py" for module in mutants.MACHINES]
    explained = tomllib.loads(mutants.EXPLAINED.read_text())["explained"]

    assert [path for path in paths if not path.exists()] == []
    assert [set(item) for item in explained] == [{"function", "was", "now", "because"}] * len(explained)
    assert [item for item in explained if len(item["because"].split()) < 4 or item["was"] in item["now"] or not item["now"]] == []


def _source_of(module: str, functions: set[str]) -> str:
    # What the module imports, and the functions that are named: the mutants of one don't depend on the others, and to make them takes a while.
    source = (ROOT / module.split(".")[1] / f"{module.replace('.', '/')}.py").read_text()
    lines = source.splitlines(keepends=True)
    kept: list[str] = []
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            kept += lines[node.lineno - 1 : node.end_lineno]
        elif isinstance(node, ast.FunctionDef) and f"{module}.{node.name}" in functions:
            kept += lines[_first(node) : node.end_lineno]
        elif isinstance(node, ast.ClassDef):
            methods = [item for item in node.body if isinstance(item, ast.FunctionDef) and f"{module}.{node.name}.{item.name}" in functions]
            kept += [f"class {node.name}:\n"] * bool(methods)
            kept += [line for method in methods for line in lines[_first(method) : method.end_lineno]]
    return "".join(kept)


def _first(function: ast.FunctionDef) -> int:
    return min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)]) - 1


@pytest.mark.slow
def test_each_explanation_is_of_a_mutant_that_the_code_has_today() -> None:
    explained = tomllib.loads(mutants.EXPLAINED.read_text())["explained"]
    functions = {explanation["function"] for explanation in explained}
    modules = {module for module in mutants.MACHINES if any(function.startswith(f"{module}.") for function in functions)}
    made = [mutant for module in modules for mutant in mutated(module, _source_of(module, functions))[1]]

    assert stale(explained, made) == []
    assert stale([{**explained[0], "now": ["nothing"]}], made) != []
