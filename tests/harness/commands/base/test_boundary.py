from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from groupproof.harness.commands.base import boundary
from groupproof.harness.commands.base.boundary import run
from groupproof.harness.model.errors import BrokenEnvironment, BrokenShim, WrongUsage


def raising(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the only command there is raise `error`."""

    @click.command()
    def command() -> None:
        raise error

    monkeypatch.setattr(boundary, "root", command)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (WrongUsage("no such thing"), 3),
        (BrokenShim("no such thing"), 4),
        (BrokenEnvironment("no such thing"), 4),
        (ExceptionGroup("inside a nursery", [BrokenEnvironment("no such thing")]), 4),
    ],
)
def test_each_kind_of_trouble_is_one_line_and_its_own_exit_code(
    error: Exception, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    raising(error, monkeypatch)

    assert run([]) == code
    assert capsys.readouterr().err == "groupproof: no such thing\n"


def test_a_package_that_is_missing_is_reported_with_its_cure(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    raising(ExceptionGroup("inside a nursery", [ModuleNotFoundError("No module named 'requests'", name="requests")]), monkeypatch)

    assert run([]) == 4
    printed = capsys.readouterr().err
    assert printed.startswith("groupproof: this needs requests, which is not installed; get it with: ")
    assert printed.endswith("pip install 'groupproof[chaos]'\n")


def test_a_failure_of_the_kit_says_where_its_traceback_lies(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    raising(ZeroDivisionError("division by zero"), monkeypatch)

    assert run([]) == 5
    printed = capsys.readouterr().err
    kept = re.search(r"report it with (\S+)", printed)
    assert "groupproof itself failed: ZeroDivisionError: division by zero" in printed
    assert kept is not None
    text = Path(kept[1]).read_text()
    Path(kept[1]).unlink()
    assert "Traceback" in text
    assert "ZeroDivisionError" in text


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort(), BaseExceptionGroup("in a nursery", [KeyboardInterrupt()])])
def test_an_interruption_is_130(error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    raising(error, monkeypatch)

    assert run([]) == 130
    assert capsys.readouterr().err.strip() == "groupproof: interrupted"


def test_wrong_usage_names_the_help_that_explains_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--port", "many"]) == 3
    assert capsys.readouterr().err.endswith("(see groupproof serve --help)\n")


def test_a_command_s_process_looks_for_garbage_seldom() -> None:
    asked = "import gc, sys; from groupproof.harness.commands import main; sys.argv = ['groupproof', '--version']\ntry: main()\nfinally: print(gc.get_threshold()[0])"
    done = subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, text=True)

    assert done.stdout.splitlines()[-1] == "50000"
