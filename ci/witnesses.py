"""Find the witnesses of each requirement among the tests, and write their names down as data of the package (`make docs`).

A test says what it is a witness of by `@pytest.mark.requirement("JOIN-01")`, or `reading("DISC-01")`. Tests that the gate leaves out (soak,
network, java) prove nothing here. What once had a witness keeps one: an id that has lost its last fails the gate until a test has it again,
or until `unwitnessed.toml` says why not. With `--check` nothing is written.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from groupproof.protocol.rules.coverage import everything, unexplained

__all__ = ["DATA", "found", "main", "troubles"]

ROOT: Final = Path(__file__).parents[1]
DATA: Final = ROOT / "protocol/groupproof/protocol/rules/witnesses.json"
MARKS: Final = frozenset({"requirement", "reading"})
LEFT_OUT: Final = frozenset({"soak", "network", "java"})


Witnesses = Mapping[str, Sequence[str]]


def found(tests: Path) -> dict[str, list[str]]:
    """Return the witnesses of each id that a test under `tests` is marked with, in the catalogue's order."""
    marked: dict[str, list[str]] = {}
    for path in sorted(tests.rglob("test_*.py")):
        text = path.read_text()
        for name, ids in _marked(ast.parse(text)) if any(f"mark.{mark}(" in text for mark in MARKS) else ():
            for id in ids:
                marked.setdefault(id, []).append(f"{path.relative_to(tests.parent).as_posix()}::{name}")
    cited = [name for name in everything() if name in marked]
    return {name: marked[name] for name in [*cited, *sorted(marked.keys() - set(cited))]}


def troubles(now: Witnesses, before: Witnesses) -> list[str]:
    """Return what is wrong with the witnesses as they are now, when those of `before` were written down; no id may lose its last one."""
    unknown = [f"{tests[0]}: there is no requirement {key}" for key, tests in now.items() if key not in everything()]
    return [*unknown, *(_unexplained(name, now, before) for name in unexplained(now))]


def _unexplained(id: str, now: Witnesses, before: Witnesses) -> str:
    if id in now:
        return f"{id} has a witness, {now[id][0]}: take it out of unwitnessed.toml"
    if id in before:
        return f"{id} had a witness, {before[id][0]}, and has none now: bring it back, or say why not in unwitnessed.toml"
    return f"{id} has neither a witness nor a reason in unwitnessed.toml, or two"


def _marked(module: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """Yield the tests of a module that the gate runs, each with the ids that its marks name."""
    marks_of_all = [node.value for node in module.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"]
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            marks = list(_marks([*marks_of_all, *node.decorator_list]))
            ids = [text for name, cited in marks if name in MARKS for text in cited]
            if ids and not LEFT_OUT & {name for name, _ in marks}:
                yield node.name, ids


def _marks(expressions: list[ast.expr]) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the strings of each `pytest.mark.NAME(…)` within."""
    for part in (part for expression in expressions for part in ast.walk(expression)):
        if isinstance(part, ast.Call) and (name := _mark(part.func)):
            yield name, [argument.value for argument in part.args if isinstance(argument, ast.Constant) and isinstance(argument.value, str)]
        elif name := _mark(part):
            yield name, []


def _mark(part: ast.AST) -> str:
    text = ast.unparse(part) if isinstance(part, ast.Attribute) else ""
    return text.removeprefix("pytest.mark.") if text.startswith("pytest.mark.") else ""


def main(arguments: list[str]) -> int:
    """Write the witnesses down, or with `--check` compare; return the exit status."""
    now, before = found(ROOT / "tests"), json.loads(DATA.read_text())
    wrong = troubles(now, before)
    if "--check" in arguments and now != before:
        wrong.append("the names of the witnesses are not current; run: make docs")
    if "--check" not in arguments and not wrong:
        DATA.write_text(json.dumps(now, indent=1) + "\n")
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
