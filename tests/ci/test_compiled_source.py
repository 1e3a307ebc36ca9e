"""What mypyc asks of a source: each change on a small example, and no line goes elsewhere."""

from __future__ import annotations

from compiled_source import CompiledSet, bases_in, compilable, inherited

NOTHING = CompiledSet(frozenset(), frozenset())


def _changed(source: str, whole: CompiledSet = NOTHING) -> list[tuple[str, str]]:
    """Return the lines that the change made others, each with what it was."""
    before, after = source.split("\n"), compilable(source, module="m", compiled=whole).split("\n")
    assert len(before) == len(after)
    return [(old, new) for old, new in zip(before, after, strict=True) if old != new]


def test_a_dataclass_is_made_once() -> None:
    assert _changed("@dataclass(frozen=True, slots=True, kw_only=True)\nclass A:\n    x: int\n") == [
        ("@dataclass(frozen=True, slots=True, kw_only=True)", "@dataclass(frozen=True, kw_only=True)")
    ]


def test_a_call_over_many_lines_leaves_the_lines_below_where_they_were() -> None:
    assert _changed("@dataclass(\n    slots=True,\n)\nclass A:\n    x: int\n") == [
        ("@dataclass(", "@dataclass()"), ("    slots=True,", ""), (")", ""),
    ]  # fmt: skip


def test_annotations_of_named_tuples_and_protocols_are_not_evaluated() -> None:
    assert _changed("class A(NamedTuple):\n    x: Later | None\n") == [("    x: Later | None", "    x: 'Later | None'")]
    assert _changed("class A(Protocol[T]):\n    x: Later\n") == [("    x: Later", "    x: 'Later'")]
    assert _changed("class A:\n    x: Later\n") == []


IMPORTS = """from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from other import B, C

@dataclass
class A:
    b: B
"""


def test_a_name_imported_for_types_is_an_object_at_run_time() -> None:
    assert _changed(IMPORTS) == [("", "globals().update(dict.fromkeys(['B', 'C'], object))")]


def test_a_native_class_in_a_field_is_itself_at_run_time() -> None:
    whole = CompiledSet(frozenset({"other.B", "other.C"}), frozenset())
    assert _changed(IMPORTS, whole) == [("", "from other import B; globals().update(dict.fromkeys(['C'], object))")]


PLAIN = "from __future__ import annotations\n\nimport math\n\nx = 1\n\nclass A({}):\n    pass\n"
MARKED = [
    ("", "MYPY = False; globals().update(mypyc_attr=__import__('typing').dataclass_transform)"),
    ("", "if MYPY: from mypy_extensions import mypyc_attr"),
]


def test_a_class_below_a_built_in_one_is_not_native() -> None:
    assert _changed(PLAIN.format("AssertionError")) == [*MARKED, ("", "@mypyc_attr(native_class=False)")]
    assert _changed(PLAIN.format("Exception")) == []


def test_a_class_that_an_interpreted_one_derives_from_allows_it() -> None:
    whole = CompiledSet(frozenset({"m.A"}), frozenset({"m.A"}))
    assert _changed(PLAIN.format(""), whole) == [*MARKED, ("", "@mypyc_attr(allow_interpreted_subclasses=True)")]


def test_what_stands_above_a_class_that_is_derived_from_is_derived_from_too() -> None:
    compiled = bases_in("from base import Root\nclass A(Root): pass\nclass Other: pass\n", "m") | bases_in("class Root: pass\n", "base")
    assert inherited(compiled, bases_in("from m import A\nclass B(A, dict): pass\n", "n")) == {"m.A", "base.Root"}
