"""What mypyc asks of a source: each change on a small example, and no line goes elsewhere."""

from __future__ import annotations

from compiled_source import CompiledSet, bases_in, compilable, fields_in

NOTHING = CompiledSet(frozenset())
HEAD = "from __future__ import annotations\n\nimport math\n\nx = 1\n\n"
PLAIN = HEAD + "class A({}):\n    pass\n"
MADE = HEAD + "@dataclass({})\nclass A:\n    y: int\n\n\nz = 2\n"
MARKED = [
    ("", "MYPY = False; globals().update(mypyc_attr=__import__('typing').dataclass_transform)"),
    ("", "if MYPY: from mypy_extensions import mypyc_attr"),
]
ALLOWS = ("", "@mypyc_attr(allow_interpreted_subclasses=True)")


def _changed(source: str, whole: CompiledSet = NOTHING) -> list[tuple[str, str]]:
    """Return the lines that the change made others, each with what it was; what comes behind the last one is left out."""
    before, after = source.split("\n"), compilable(source, module="m", compiled=whole).split("\n")
    return [(old, new) for old, new in zip(before[:-1], after, strict=False) if old != new]


def test_a_dataclass_is_made_once_and_its_init_stands_in_it() -> None:
    init = ("", "    def __init__(self, *, y: int) -> None: self.y = y  # type: ignore")
    assert _changed(MADE.format("frozen=True, slots=True, kw_only=True")) == [
        *MARKED, ALLOWS, ("@dataclass(frozen=True, slots=True, kw_only=True)", "@dataclass(frozen=True, kw_only=True)"), init,
    ]  # fmt: skip


def test_a_call_over_many_lines_leaves_the_lines_below_where_they_were() -> None:
    init = ("", "    def __init__(self, y: int) -> None: self.y = y  # type: ignore")
    assert _changed(MADE.format("\n    slots=True,\n")) == [
        *MARKED, ALLOWS, ("@dataclass(", "@dataclass()"), ("    slots=True,", ""), (")", ""), init,
    ]  # fmt: skip


def test_a_class_at_the_end_gets_its_init_behind_the_last_line() -> None:
    source = MADE.format("").removesuffix("\n\nz = 2\n")
    assert compilable(source, module="m", compiled=NOTHING).split("\n")[len(source.split("\n")) - 1].startswith("    def __init__(self, y: int)")


def test_what_a_base_holds_is_given_to_it() -> None:
    base = "@dataclass\nclass Base:\n    a: int\n    b: int = -1\n"
    source = HEAD + "from base import Base\n\n@dataclass\nclass A(Base):\n    c: int = 2\n\n"
    whole = CompiledSet(frozenset({"base.Base"}), fields_in(base, "base"))
    text = "def __init__(self, a: int, b: int = -1, c: int = 2) -> None: super().__init__(a=a, b=b); self.c = c  # type: ignore"
    assert ("", f"    {text}") in _changed(source, whole)


def test_annotations_of_named_tuples_and_protocols_are_not_evaluated() -> None:
    assert _changed("class A(NamedTuple):\n    x: Later | None\n") == [("    x: Later | None", "    x: 'Later | None'")]
    assert _changed("class A(Protocol[T]):\n    x: Later\n") == [("    x: Later", "    x: 'Later'")]


IMPORTS = """from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from other import B, C

x = 1

@dataclass
class A:
    b: B
"""


def test_a_name_imported_for_types_is_an_object_at_run_time() -> None:
    assert ("", "globals().update(dict.fromkeys(['B', 'C'], object))") in _changed(IMPORTS)


def test_a_native_class_in_a_field_is_itself_at_run_time() -> None:
    whole = CompiledSet(frozenset({"other.B", "other.C"}))
    assert ("", "from other import B; globals().update(dict.fromkeys(['C'], object))") in _changed(IMPORTS, whole)


def test_a_class_below_a_built_in_one_is_not_native() -> None:
    assert _changed(PLAIN.format("AssertionError")) == [*MARKED, ("", "@mypyc_attr(native_class=False)")]
    assert _changed(PLAIN.format("Exception")) == [*MARKED, ALLOWS]


def test_a_class_can_be_derived_from() -> None:
    assert _changed(PLAIN.format("")) == [*MARKED, ALLOWS]
    assert _changed(PLAIN.format("Enum")) == []


def test_bases_are_described_by_their_origin() -> None:
    assert bases_in("from base import Root\nclass A(Root): pass\nclass B(A, dict): pass\n", "m") == {
        "m.A": frozenset({"base.Root"}), "m.B": frozenset({"m.A", "m.dict"}),
    }  # fmt: skip
