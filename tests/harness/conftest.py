"""The command line as a user calls it, in this process."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.commands.calling import Call, Called

from groupproof.harness.commands.base.boundary import run


@pytest.fixture
def groupproof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Return a function that calls `groupproof` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> Called:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Called(code=code, out=printed.out, err=printed.err)

    return call
