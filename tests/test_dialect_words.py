"""A dialect's name stands in one place of the code, its object; everything else asks the object."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.dialect_registry import dialects

ROOT = Path(__file__).parent.parent
SOURCES = sorted(path for part in ("protocol", "coordinator", "clients", "harness", "chaos") for path in (ROOT / part / "groupproof").rglob("*.py"))
ALLOWED = {
    "protocol/groupproof/protocol/rules/classic/classic_dialect.py": "the object",
    "protocol/groupproof/protocol/rules/datalink/datalink_dialect.py": "the object, and the profile called like it",
    "protocol/groupproof/protocol/relatives/datalink_messages.py": "the protocol type that DataLink's workers name in JoinGroup",
    "clients/groupproof/clients/shims/*": "a shim stands alone beside the client that it wraps: it says the contract's words",
    "harness/groupproof/harness/subjects/shims/strict_lines.py": "the capabilities, as the shim contract lists them",
    "harness/groupproof/harness/cases/coordinator/admin.py": "group types as a ListGroups request names them",
    "harness/groupproof/harness/relatives/datalink/*": "DataLink's own wing, which plays its profiles by name",
    "chaos/groupproof/chaos/relatives/*": "the same",
    "chaos/groupproof/chaos/commands.py": "the command `chaos datalink`",
    "harness/groupproof/harness/commands/base/command_tree.py": "the command `groupproof datalink`",
    "chaos/groupproof/chaos/scenarios/scenario_page.py": "a command line that the page shows",
}


def _texts(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield the strings of a module that are neither docstrings nor files of the sources."""
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body and isinstance(node.body[0], ast.Expr)
    }  # fmt: skip
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs)
    yield from (node for node in texts if not str(node.value).endswith(".py"))


def _names(path: Path) -> list[str]:
    """Return the strings that are a dialect's name, or hold it as a part of a case's id.

    The name of KIP-848's dialect is also Kafka's word for a client that reads records, and the protocol type of its classic groups: alone it names no dialect.
    """
    names = "|".join(dialect.name for dialect in dialects() if dialect is not CONSUMER)
    named = re.compile(rf"(^|/)({names})(/|$)|/{CONSUMER.name}/")
    text = path.read_text()
    if not re.search(rf"""(?<![\w.])({names})(?=[/"'{{\\])|/{CONSUMER.name}/""", text):
        return []  # so are most sources, and to read a tree takes long
    tree = ast.parse(text)
    return [f"{path.relative_to(ROOT)}:{node.lineno}: {node.value!r}" for node in _texts(tree) if named.search(str(node.value))]


@pytest.mark.slow
def test_no_source_names_a_dialect_in_a_string() -> None:
    others = (path for path in SOURCES if not str(path.relative_to(ROOT)).startswith(tuple(pattern.rstrip("*") for pattern in ALLOWED)))

    assert [name for path in others for name in _names(path)] == []


@pytest.mark.parametrize("pattern", ALLOWED)
def test_what_may_name_a_dialect_does_so(pattern: str) -> None:
    paths = [path for path in SOURCES if str(path.relative_to(ROOT)).startswith(pattern.rstrip("*"))]

    assert [name for path in paths for name in _names(path)] != []
