"""What a command loads before it does anything: a count of modules, which tells the same on a loaded machine as on a quiet one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from typing import Final

import pytest

PROGRAM: Final = """
import sys
from groupproof.harness.commands import main

sys.argv = ["groupproof", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
print(*sorted(sys.modules), file=sys.stderr)
"""

HEAVY: Final = frozenset({"hypothesis", "http.client", "jinja2", "jsonschema", "kio", "msgspec", "packaging", "pytest", "rich", "trio"})


def loaded(arguments: Sequence[str]) -> frozenset[str]:
    """Return the names of the modules that a command has loaded when it ends."""
    ended = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True)
    return frozenset(ended.stderr.splitlines()[-1].split())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "modules_max", "packages"),
    [
        (("--help",), 46, frozenset()),
        (("certify", "client", "--help"), 16, frozenset()),
        (("list",), 250, frozenset({"kio", "msgspec"})),
        (("list", "clients"), 42, frozenset({"msgspec", "packaging"})),
    ],
    ids=["help", "help-of-a-command", "cases", "clients"],
)
def test_a_command_loads_what_it_needs_and_no_more(arguments: tuple[str, ...], modules_max: int, packages: frozenset[str]) -> None:
    names = loaded(arguments)

    own = {name for name in names if name.partition(".")[0] == "groupproof"}
    assert "groupproof.harness.commands" in own, "the count is of a command that ran"
    assert len(own) <= modules_max
    assert names & HEAVY <= packages
