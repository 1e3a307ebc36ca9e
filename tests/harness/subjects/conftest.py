"""Programs that stand in for those of the machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.subjects.brokers.programs import program


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Only programs of this folder are found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return folder


@pytest.fixture
def docker(tmp_path: Path, bin_folder: Path) -> Path:
    """The only program on PATH is a docker that notes what it is told, and fails for what the file `refuses` begins with."""
    (tmp_path / "refuses").write_text("\n")
    script = f'echo "$*" >> {tmp_path}/told\nread -r word < {tmp_path}/refuses\n[ -n "$word" ] || exit 0\ncase "$*" in $word*) exit 1;; esac'
    program(bin_folder, "docker", script)
    return tmp_path
