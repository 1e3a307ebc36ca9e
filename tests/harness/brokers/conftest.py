"""A docker that only notes what it is told."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only program on PATH is a docker that notes what it is told, and fails for what the file `refuses` begins with."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    (tmp_path / "refuses").write_text("\n")
    script = (
        f'#!/bin/sh\necho "$*" >> {tmp_path}/told\nread -r word < {tmp_path}/refuses\n[ -n "$word" ] || exit 0\ncase "$*" in $word*) exit 1;; esac\n'
    )
    (folder / "docker").write_text(script)
    (folder / "docker").chmod(0o755)
    return tmp_path
