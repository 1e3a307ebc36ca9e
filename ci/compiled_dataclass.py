"""What `dataclasses` would write for a class at run time, as text: mypyc compiles what it reads, and nothing else.

The `__init__` that `dataclasses` writes is interpreted, and sets each field of a frozen class by a call. One that stands in the class is native, and `dataclasses` leaves it what it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Field", "annotations_as_written", "constructor", "dataclasses_in", "fields_of"]

_SET_STATE: Final = "lambda made, state: [object.__setattr__(made, *item) for item in state.items()] and None"
"""Interpreted, for a compiled function is no method where a class gets it later."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a dataclass, as the source has it: texts."""

    name: str
    annotation: str
    default: str | None = None
    factory: str | None = None
    is_asked_for: bool = True

    @property
    def is_plain(self) -> bool:
        """Tell whether its parameter means the same in every module."""
        try:
            ast.literal_eval(self.default or "None")
        except ValueError:
            return False
        return True

    @property
    def parameter(self) -> str:
        if self.factory is not None:
            return f"{self.name}: {self.annotation} | None = None"
        return f"{self.name}: {self.annotation}" + (f" = {self.default}" if self.default is not None else "")

    @property
    def value(self) -> str:
        made = self.default if self.factory is None else f"({self.factory})()"
        if not self.is_asked_for:
            assert made is not None, f"nothing gives {self.name} a value"
            return made
        return self.name if self.factory is None else f"{made} if {self.name} is None else {self.name}"


def dataclasses_in(tree: ast.Module) -> Iterator[tuple[ast.ClassDef, ast.expr]]:
    """Yield a module's dataclasses, each with its decorator."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for decorator in node.decorator_list:
                if ast.unparse(decorator).partition("(")[0] == "dataclass":
                    yield node, decorator


def fields_of(node: ast.ClassDef) -> tuple[Field, ...] | None:
    """Return the fields that a dataclass adds to those of its bases; None where one of them is more than this reads."""
    fields = [_field(statement) for statement in node.body if isinstance(statement, ast.AnnAssign) and not _is_of_class(statement)]
    own_fields = [field for field in fields if field is not None]
    return tuple(own_fields) if len(own_fields) == len(fields) else None


def constructor(node: ast.ClassDef, decorator: ast.expr, inherited: Sequence[Field] | None = None) -> str | None:
    """Return the `__init__` of a dataclass on one line; None where it has one, or this cannot say what it is.

    `inherited` are the fields of its base, None where there is none.
    """
    fields, methods = fields_of(node), {statement.name for statement in node.body if isinstance(statement, ast.FunctionDef)}
    if fields is None or "__init__" in methods or not (fields or inherited):
        return None
    asked = [field for field in (*(inherited or ()), *fields) if field.is_asked_for]
    parameters, statements = [field.parameter for field in asked], list[str]()
    if parameters and _is_said(decorator, "kw_only"):
        parameters.insert(0, "*")
    if inherited is not None and any(field.is_asked_for and not field.is_plain for field in inherited):
        # A default of the base may be no name here. Such a class is rare: what is not its own goes on as it came. mypyc gives a native `super` no such arguments.
        parameters = ["*values", *(field.parameter for field in fields if field.is_asked_for), "**named"]
        statements.append(f"getattr({ast.unparse(node.bases[0])}, '__init__')(self, *values, **named)")
    elif inherited is not None:
        statements.append(f"super().__init__({', '.join(f'{field.name}={field.name}' for field in inherited if field.is_asked_for)})")
    statements += [f"self.{field.name} = {field.value}" for field in fields]
    if "__post_init__" in methods:
        statements.append("self.__post_init__()")
    # mypy takes the fields of a frozen class for read-only here too.
    return f"def __init__({', '.join(['self', *parameters])}) -> None: {'; '.join(statements)}  # type: ignore"


def annotations_as_written(nodes: Iterable[ast.ClassDef]) -> str:
    """Return the lines that give classes their annotations back, which mypyc leaves without what stands in brackets: messages are made by them.

    A copy of a frozen class gets its fields as `dataclasses` would set them; what mypyc writes assigns, which a frozen class refuses.
    """
    texts = {
        node.name: {s.target.id: ast.unparse(s.annotation) for s in node.body if isinstance(s, ast.AnnAssign) and isinstance(s.target, ast.Name)}
        for node in nodes
    }
    pairs = ", ".join(f"({name}, {text!r})" for name, text in texts.items())
    return "\n".join((
        f"_set_state = eval({_SET_STATE!r})",
        f"for _made, _texts in ({pairs},):",
        "    setattr(_made, '__setstate__', _set_state)",
        "    setattr(_made, '__annotations__', _texts)",
        "    for _field in getattr(_made, '__dataclass_fields__').values():",
        "        _field.type = _texts.get(_field.name, _field.type)",
        "",
    ))  # fmt: skip


def _is_said(decorator: ast.expr, word: str) -> bool:
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    return any(keyword.arg == word and ast.unparse(keyword.value) == "True" for keyword in keywords)


def _is_of_class(statement: ast.AnnAssign) -> bool:
    return ast.unparse(statement.annotation).startswith("ClassVar")


def _field(statement: ast.AnnAssign) -> Field | None:
    name, annotation, value = ast.unparse(statement.target), ast.unparse(statement.annotation), statement.value
    if annotation.startswith(("InitVar", "KW_ONLY")):
        return None
    if value is None or ast.unparse(value).partition("(")[0] != "field":
        return Field(name, annotation, None if value is None else ast.unparse(value))
    assert isinstance(value, ast.Call), f"{name}: field is called"
    arguments = {keyword.arg or "": ast.unparse(keyword.value) for keyword in value.keywords}
    if not arguments.keys() <= {"default", "default_factory", "init", "repr", "compare", "hash"}:
        return None
    asked, factory = arguments.get("init") != "False", arguments.get("default_factory")
    if (asked and factory is not None and "None" in annotation) or (not asked and factory is None and "default" not in arguments):
        return None
    return Field(name, annotation, arguments.get("default"), factory, asked)
