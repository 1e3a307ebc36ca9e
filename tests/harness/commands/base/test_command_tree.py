from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.harness.commands.calling import Call

from groupproof.harness.commands.base import command_tree as command_tree_module
from groupproof.harness.commands.base.command_tree import root

COMMANDS = [
    "certify",
    "diff",
    "fuzz",
    "replay",
    "simulate",
    "rehearse",
    "chaos",
    "serve",
    "datalink",
    "tap",
    "watch",
    "load",
    "compare",
    "analyze",
    "history",
    "trace",
    "list",
    "explain",
    "expect",
    "shim",
    "museum",
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


def test_a_command_of_a_package_above_is_listed_where_it_is_installed(monkeypatch: pytest.MonkeyPatch, groupproof: Call) -> None:
    monkeypatch.setattr(command_tree_module, "plugin_names", lambda group: frozenset({"chaos", "datalink", "bench"}))
    called = groupproof("--help")

    listed = [name for name in COMMANDS if name not in ("load", "compare", "analyze", "history")]
    assert root.list_commands(click.Context(root)) == [*listed, "bench"]
    assert "  load " not in called.out
    assert "no command is called 'load'" in groupproof("load").err


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
    ask = "import sys; from groupproof.harness.commands.base.boundary import run; run(['--help']); print(sorted({'trio', 'kio', 'rich', 'jinja2'} & set(sys.modules)))"

    done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"


BARE = Path(__file__).with_name("bare_python.py")
SPEC = ("certify", "client", "groupproof", "--only", "heartbeat/classic/steady", "--only", "heartbeat/classic/rebalance-in-progress")
PLAN = "run/cases/heartbeat/classic/steady/plan.json"
TRACE = "run/cases/heartbeat/classic/steady/trace.ndjson"
OFFLINE = ("--bootstrap", "127.0.0.1:9")

WITHOUT_EXTRAS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (2, (*SPEC, "--output", "run", "--bundle", "run.tar.zst")),
    (2, ("certify", "coordinator", "groupproof", "--only", "heartbeat/classic/no-group")),
    (0, ("diff", "groupproof", "groupproof", "--only", "heartbeat/classic/no-group")),
    (4, ("diff", "groupproof", "groupproof", "--steps", "10")),
    (4, ("fuzz", "client", "groupproof", "--plans", "1")),
    (4, ("fuzz", "coordinator", "groupproof", "--steps", "10")),
    (0, ("replay", PLAN)),
    (0, ("simulate", "--members", "3", "--duration", "10s")),
    (4, ("simulate", "--members", "3", "--duration", "10s", "--seeds", "1..2", "--jobs", "1", "--observations", "pieces")),
    (3, ("rehearse", "no-such.properties")),
    (0, ("chaos", "list")),
    (0, ("chaos", "run", "commit-in-a-rebalance")),
    (4, ("chaos", "run", "thin-network", "--client", "groupproof")),
    (4, ("chaos", "spark", "all")),
    (0, ("chaos", "datalink", "fenced-worker-cut-off")),
    (0, ("serve", "--port", "0")),
    (0, ("datalink", "simulate", "--seeds", "1..1", "--events", "2")),
    (0, ("datalink", "measure", "--seeds", "1..1", "--events", "2")),
    (0, ("datalink", "switch")),
    (0, ("datalink", "worker", "--group", "g", *OFFLINE)),
    (0, ("tap", "--upstream", "127.0.0.1:9")),
    (4, ("load", "--members", "2")),
    (4, ("compare",)),
    (4, ("analyze", TRACE)),
    (4, ("history", "127.0.0.1:1")),
    (0, ("trace", "check", TRACE)),
    (4, ("trace", "check", "--engine", "spark", TRACE)),
    (0, ("trace", "explain", TRACE)),
    (4, ("trace", "watch", TRACE)),
    (3, ("watch", "no-such-folder", "--once")),
    (3, ("trace", "import", TRACE)),
    (0, ("list", "requirements")),
    (0, ("explain", "HB-03")),
    (0, ("expect", "update", "run", "--file", "known.toml", "--dry-run")),
    (0, ("shim", "check", "groupproof")),
    (0, ("shim", "library", "python")),
    (0, ("museum", "--list")),
    (0, ("report", "run", "--output", "joined")),
    (0, ("summary", "run")),
    (2, ("verify", "run.tar.zst")),
    (0, ("doctor",)),
)
"""The exit code of each command where no extra is installed; 4 is told with what brings it."""


def leaves(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if not isinstance(command, click.Group):
        yield words
        return
    with click.Context(command) as context:
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from leaves(found, (*words, name))


def test_each_command_is_tried_without_the_extras() -> None:
    tried = {words for _, words in WITHOUT_EXTRAS}

    assert [leaf for leaf in leaves(root) if not any(words[: len(leaf)] == leaf for words in tried)] == []


@pytest.mark.slow
def test_without_the_extras_each_command_works_or_ends_with_4_and_the_cure(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(BARE)], cwd=tmp_path, input=json.dumps([words for _, words in WITHOUT_EXTRAS]), capture_output=True, text=True, timeout=300, check=True
    )  # fmt: skip
    came = [json.loads(line) for line in done.stdout.splitlines()]

    assert [(item["code"], tuple(item["words"]), item["said"]) for item in came if item["code"] == 5] == []
    assert [(item["code"], tuple(item["words"])) for item in came] == list(WITHOUT_EXTRAS)
    assert [item for item in came if item["code"] == 4 and "pip install 'groupproof[" not in item["said"]] == []
    (shim_checked,) = (item["said"] for item in came if item["words"] == ["shim", "check", "groupproof"])  # nine processes, started here alone
    assert shim_checked.splitlines()[-1] == "no problem found"
