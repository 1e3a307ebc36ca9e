"""What mypyc asks of a module that Python does not: changed in a copy of the source, line by line as it was, so that a traceback names the same lines.

The source itself says nothing of it: each change would make the interpreted program slower, or import at run time what it needs for types alone.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from compiled_dataclass import Field, annotations_as_written, constructor, dataclasses_in, fields_of

__all__ = ["CompiledSet", "bases_in", "compilable", "fields_in"]

_NATIVE_BASES: Final = frozenset({"object", "dict", "Exception", "BaseException"})
"""The built-in classes that a native class can derive from."""

_NEVER_NATIVE: Final = frozenset({"NamedTuple", "Protocol", "TypedDict", "Enum", "IntEnum", "StrEnum", "Generic"})

_MARK_AT_RUN_TIME: Final = "MYPY = False; globals().update(mypyc_attr=__import__('typing').dataclass_transform)"
"""Where a class is not native, its decorators are called: this one takes any arguments and leaves the class what it is, but for a note."""


@dataclass(frozen=True, slots=True)
class CompiledSet:
    """What is compiled together: its `classes`, and the bases and own `fields` of its dataclasses, all as `module.Class`."""

    classes: Set[str]
    fields: Mapping[str, tuple[frozenset[str], tuple[Field, ...]]] = field(default_factory=dict)


class _Edit(NamedTuple):
    """New text for what stands from one place to another; lines count from 1, columns by bytes."""

    begin: tuple[int, int]
    end: tuple[int, int]
    text: str


def bases_in(source: str, module: str) -> dict[str, frozenset[str]]:
    """Return what each class of a module derives from, all as `module.Class`, as far as it is named plainly."""
    tree = ast.parse(source)
    named = _names(tree, module)
    return {f"{module}.{node.name}": frozenset(filter(None, map(named, node.bases))) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def fields_in(source: str, module: str) -> dict[str, tuple[frozenset[str], tuple[Field, ...]]]:
    """Return the bases and the own fields of each dataclass of a module whose fields can be read, as `module.Class`."""
    tree, bases = ast.parse(source), bases_in(source, module)
    read = {f"{module}.{node.name}": fields_of(node) for node, _ in dataclasses_in(tree)}
    return {name: (bases[name], fields) for name, fields in read.items() if fields is not None}


def _names(tree: ast.Module, module: str) -> Callable[[ast.expr], str | None]:
    """Return what says for a base that is named plainly which class it is, as `module.Class`."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    named = {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in imports for alias in node.names}
    return lambda base: named.get(base.id, f"{module}.{base.id}") if isinstance(base, ast.Name) else None


def compilable(source: str, *, module: str, compiled: CompiledSet) -> str:
    """Return the module as mypyc takes it."""
    tree = ast.parse(source)
    edits = [edit for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for edit in _of_class(node)]
    edits += _of_dataclasses(tree, source, module, compiled)
    marks = [edit for node in tree.body if isinstance(node, ast.ClassDef) for edit in _of_native_class(node)]
    if marks:
        edits += [*marks, *_of_the_mark(tree)]
    block = next((node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"), None)
    if block is not None:
        edits += _of_type_imports(tree, block, compiled)
    return _edited(source, edits)


def _of_class(node: ast.ClassDef) -> Iterator[_Edit]:
    bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
    if bases & {"NamedTuple", "Protocol"}:
        # mypyc evaluates these annotations when the class is made, whatever `from __future__` says.
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign):
                yield _replacing(statement.annotation, repr(ast.unparse(statement.annotation)))
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "dataclass":
            # `slots` makes the class a second time, which a native class refuses; it has slots anyway.
            kept = [keyword for keyword in decorator.keywords if keyword.arg != "slots"]
            yield _replacing(decorator, ast.unparse(ast.Call(decorator.func, decorator.args, kept)))


def _of_dataclasses(tree: ast.Module, source: str, module: str, compiled: CompiledSet) -> Iterator[_Edit]:
    """Write out on the blank line below a dataclass what would be interpreted, and behind the last line of all what its fields are."""
    made, named = [*dataclasses_in(tree)], _names(tree, module)
    end, last = source.count("\n") + 1, ""
    for node, decorator in made:
        bases = [base for base in map(named, node.bases) if base is not None and base in compiled.fields]
        text, line = constructor(node, decorator, _inherited_fields(bases[0], compiled) if bases else None), (node.end_lineno or 0) + 1
        if text is not None and line < end:
            yield _line(line, f"    {text}")
        elif text is not None:
            last = f"    {text}\n"
    if made:
        yield _line(end, last + annotations_as_written(node for node, _ in made))


def _inherited_fields(name: str, compiled: CompiledSet) -> tuple[Field, ...]:
    bases, own = compiled.fields[name]
    return (*(field for base in bases if base in compiled.fields for field in _inherited_fields(base, compiled)), *own)


def _of_native_class(node: ast.ClassDef) -> Iterator[_Edit]:
    """Mark a class on the blank line above it."""
    line = min((node.lineno, *(decorator.lineno for decorator in node.decorator_list))) - 1
    bases = {ast.unparse(base).partition("[")[0] for base in node.bases}
    if any(hasattr(builtins, base) and base not in _NATIVE_BASES for base in bases):
        yield _line(line, "@mypyc_attr(native_class=False)")  # mypyc derives from few built-in classes
    elif not bases & _NEVER_NATIVE:
        # Else Python refuses to derive from it, and makes a copy by `__init__`, without what that asks for.
        yield _line(line, "@mypyc_attr(allow_interpreted_subclasses=True)")


def _of_the_mark(tree: ast.Module) -> Iterator[_Edit]:
    """Import the mark where mypy reads and nothing runs: who installs the wheel has no mypy_extensions. mypy takes `MYPY` for true."""
    first, *_, last = (node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
    yield _line((first.end_lineno or 0) + 1, _MARK_AT_RUN_TIME)
    yield _line((last.end_lineno or 0) + 1, "if MYPY: from mypy_extensions import mypyc_attr")


def _of_type_imports(tree: ast.Module, block: ast.If, compiled: CompiledSet) -> Iterator[_Edit]:
    """Give names that are imported for types alone a value at run time: mypyc looks up those in annotations of dataclasses.

    The native classes among them have to be the true ones, for mypyc takes their type from there. `object` stands in for all others.
    """
    imported = {alias.asname or alias.name: node.module or "" for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    needed = {name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for name in _outermost(node)}
    true = {name: module for name, module in imported.items() if name in needed and f"{module}.{name}" in compiled.classes}
    at_run_time = [f"from {module} import {name}" for name, module in sorted(true.items())]
    others = sorted({*imported} - {*true})
    if others:
        at_run_time.append(f"globals().update(dict.fromkeys({others}, object))")
    yield _line((block.end_lineno or 0) + 1, "; ".join(at_run_time))


def _outermost(node: ast.ClassDef) -> Iterator[str]:
    """Return the names that the fields of a dataclass are of, without what stands in brackets."""
    if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign):
                yield ast.unparse(statement.annotation).partition("[")[0]


def _line(number: int, text: str) -> _Edit:
    """Fill a line that is blank."""
    return _Edit((number, 0), (number, 0), text)


def _replacing(node: ast.expr, text: str) -> _Edit:
    return _Edit((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0), text)


def _edited(source: str, edits: list[_Edit]) -> str:
    lines = [line.encode() for line in source.split("\n")]
    for (line, column), (end_line, end_column), text in sorted(edits, reverse=True):
        whole = lines[line - 1][:column] + text.encode() + lines[end_line - 1][end_column:]
        lines[line - 1 : end_line] = [whole, *[b""] * (end_line - line)]
    return b"\n".join(lines).decode()
