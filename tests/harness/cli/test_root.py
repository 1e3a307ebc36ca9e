from __future__ import annotations

import subprocess
import sys

import pytest
from tests.harness.cli.calling import Call

COMMANDS = [
    "certify",
    "diff",
    "fuzz",
    "replay",
    "simulate",
    "chaos",
    "serve",
    "datalink",
    "tap",
    "load",
    "compare",
    "analyze",
    "trace",
    "list",
    "explain",
    "expect",
    "shim",
    "report",
    "summary",
    "verify",
    "doctor",
]


def test_help_lists_every_command(groupproof: Call) -> None:
    called = groupproof("--help")

    assert called.code == 0
    assert [line.split()[0] for line in called.out.partition("Commands:\n")[2].splitlines()] == COMMANDS


@pytest.mark.parametrize(
    "words", [["certify", "client"], ["shim", "check"], ["trace", "check"], ["expect", "update"], ["replay"], ["list"], ["serve"]]
)
def test_every_command_has_help(words: list[str], groupproof: Call) -> None:
    called = groupproof(*words, "--help")

    assert called.code == 0
    assert called.out.startswith(f"Usage: groupproof {' '.join(words)} ")


def test_a_wrong_name_is_answered_with_the_nearest_right_ones(groupproof: Call) -> None:
    called = groupproof("certfy", "client", "kafka-python")

    assert called.code == 3
    assert "no command is called 'certfy'; did you mean certify" in called.complaint


def test_without_a_command_there_is_help_and_it_is_wrong_usage(groupproof: Call) -> None:
    called = groupproof()

    assert called.code == 3
    assert "Commands:" in called.err


def test_the_release_is_shown(groupproof: Call) -> None:
    assert groupproof("--version").out.startswith("groupproof ")


def test_help_loads_nothing_heavy() -> None:
    ask = "import sys; from groupproof.harness.cli.boundary import run; run(['--help']); print(sorted({'trio', 'kio', 'rich', 'jinja2'} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
