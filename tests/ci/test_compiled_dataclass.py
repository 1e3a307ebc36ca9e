"""The `__init__` that is written out does what that of `dataclasses` does: each form of a field, called alike."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any, ClassVar, get_type_hints

import compiled_dataclass
import pytest

NAMES: dict[str, Any] = {"dataclass": dataclass, "field": field, "ClassVar": ClassVar, "Any": Any, "KW_ONLY": KW_ONLY}
BODY = """
    a: int
    b: str = "b"
    c: dict[str, int] = field(default_factory=dict)
    d: int = field(default=4, init=False)
    e: list[int] = field(default_factory=lambda: [1], init=False)
    api: ClassVar[int] = 3

    def __post_init__(self) -> None:
        self.e.append(self.a)
"""


def _init_of(source: str) -> str | None:
    ((node, decorator),) = compiled_dataclass.dataclasses_in(ast.parse(source))
    return compiled_dataclass.constructor(node, decorator)


def _class(source: str) -> Any:
    space = dict(NAMES)
    exec(compile(source, "A", "exec", dont_inherit=True), space)
    return space["A"]


@pytest.mark.parametrize("decorator", ["@dataclass", "@dataclass(kw_only=True)"])
@pytest.mark.parametrize("call", [lambda made: made(a=1), lambda made: made(a=1, b="x", c={"y": 2}), lambda made: made(1), lambda made: made(b="x")])
def test_both_take_the_same_and_make_the_same(decorator: str, call: Callable[[Any], Any]) -> None:
    source = f"{decorator}\nclass A:{BODY}"
    init = _init_of(source)
    assert init is not None
    theirs, ours = _class(source), _class(f"{source}\n    {init}\n")
    outcomes = []
    for made in (theirs, ours):
        try:
            item = call(made)
            outcomes.append([getattr(item, column.name) for column in fields(item)])
        except TypeError:
            outcomes.append(["refused"])

    assert outcomes[0] == outcomes[1]
    assert list(inspect.signature(theirs).parameters) == list(inspect.signature(ours).parameters)


@pytest.mark.parametrize("body", ["    _: KW_ONLY\n", "    x: int = field(kw_only=True)\n", "    def __init__(self) -> None: ...\n", "    pass\n"])
def test_what_it_does_not_read_it_leaves(body: str) -> None:
    assert _init_of(f"@dataclass\nclass A:\n{body}") is None


def test_annotations_are_what_the_source_says() -> None:
    source = "@dataclass\nclass A:\n    x: tuple[int, ...] | None\n"
    made = _class(source)
    made.__annotations__, made.__dataclass_fields__["x"].type = {"x": object}, object
    nodes = [node for node, _ in compiled_dataclass.dataclasses_in(ast.parse(source))]
    exec(compiled_dataclass.annotations_as_written(nodes), {"A": made})

    assert get_type_hints(made) == {"x": tuple[int, ...] | None}
    assert fields(made)[0].type == "tuple[int, ...] | None"


def test_a_copy_of_a_frozen_one_has_its_fields() -> None:
    source = "@dataclass(frozen=True)\nclass A:\n    x: int\n"
    made = _class(source)
    exec(compiled_dataclass.annotations_as_written(node for node, _ in compiled_dataclass.dataclasses_in(ast.parse(source))), {"A": made})
    blank = made.__new__(made)
    blank.__setstate__({"x": 3})

    assert blank == made(3)
