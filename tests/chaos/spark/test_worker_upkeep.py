from __future__ import annotations

import importlib
import sys
import zipfile
import zipimport
from pathlib import Path

import pytest

from groupproof.chaos.spark import worker_upkeep
from groupproof.chaos.spark.worker_upkeep import spare_next_task


@pytest.fixture(autouse=True)
def aside(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what was called in place of the collector, which would keep this process's garbage for good."""
    calls: list[str] = []
    monkeypatch.setattr(worker_upkeep, "set_aside", lambda: calls.append("set aside"))
    worker_upkeep._set_modules_aside.cache_clear()
    return calls


def archive(folder: Path, *names: str) -> Path:
    path = folder / "archive.zip"
    with zipfile.ZipFile(path, "w") as opened:
        for name in names:
            opened.writestr(f"{name}.py", f"NAME = {name!r}\n")
    return path


def test_what_a_worker_has_loaded_is_set_aside_once(aside: list[str]) -> None:
    for _ in range(3):
        spare_next_task()

    assert aside == ["set aside"]


def test_an_archive_on_the_path_is_not_read_again_and_still_imported_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    read = zipimport._read_directory  # type: ignore[attr-defined]  # CPython's own, up to 3.13

    def counted(path: str) -> object:
        reads.append(path)
        return read(path)

    monkeypatch.setattr(zipimport, "_read_directory", counted)
    monkeypatch.syspath_prepend(archive(tmp_path, "groupproof_first", "groupproof_second"))
    monkeypatch.setattr(sys, "path_importer_cache", dict(sys.path_importer_cache))
    importlib.import_module("groupproof_first")
    before = len(reads)

    spare_next_task()
    importlib.invalidate_caches()

    assert len(reads) == before
    assert importlib.import_module("groupproof_second").NAME == "groupproof_second"
    assert len(reads) == before
