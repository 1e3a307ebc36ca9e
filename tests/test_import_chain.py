"""How deep the product's modules stand on one another: the longest chain of imports that a start must load one by one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.project import ROOT

COMPONENTS = ("protocol", "coordinator", "clients", "harness", "chaos")
CHAIN_MAX = 20

Imports = Mapping[str, frozenset[str]]


def _modules() -> dict[str, Path]:
    """Return the product's modules with their files."""
    found = {}
    for component in COMPONENTS:
        for path in (ROOT / component / "groupproof").rglob("*.py"):
            parts = path.relative_to(ROOT / component).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def _at_import(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that are carried out when the module is: not those for types alone, and not those within functions."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If):
            yield from () if "TYPE_CHECKING" in ast.unparse(node.test) else _at_import(node.body)
            yield from _at_import(node.orelse)
        elif isinstance(node, ast.Try):
            yield from _at_import([*node.body, *(statement for handler in node.handlers for statement in handler.body)])
        elif isinstance(node, ast.With):
            yield from _at_import(node.body)


def _imported(source: str, module_names: frozenset[str]) -> frozenset[str]:
    """Return which of the `known` modules a source imports: the submodule where a package is asked for one."""
    names: set[str] = set()
    for node in _at_import(ast.parse(source).body):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        else:
            names |= {inner if (inner := f"{node.module}.{name.name}") in module_names else str(node.module) for name in node.names}
    return frozenset(names & module_names)


def _longest_chain(imports: Imports) -> tuple[str, ...]:
    @cache
    def below(module: str) -> tuple[str, ...]:
        chains = (below(name) for name in sorted(imports[module] - {module}))
        return (module, *max(chains, key=len, default=()))

    return max(map(below, sorted(imports)), key=len)


def test_the_longest_chain_of_imports_is_no_longer_than_a_reader_can_follow() -> None:
    modules = _modules()
    module_names = frozenset(modules)
    chain = _longest_chain({name: _imported(path.read_text(), module_names) for name, path in modules.items()})

    assert len(modules) > 500, "the product was found"
    assert len(chain) <= CHAIN_MAX, f"{len(chain)} modules: {' > '.join(chain)}"


def test_a_chain_counts_what_is_imported_when_the_module_is() -> None:
    module_names = frozenset({"a", "b", "c", "p.q"})
    source = "import a\nfrom p import q\nif TYPE_CHECKING:\n    import b\ndef f():\n    import c\n"

    assert _imported(source, module_names) == {"a", "p.q"}
    assert _longest_chain({"a": frozenset(), "b": frozenset("a"), "c": frozenset("ab")}) == ("c", "b", "a")
