"""The cache: an entry is built once, whole or not at all."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from groupproof.clients.registry.install_cache import ProvisionError, default_cache, entry


def _fill(folder: Path) -> None:
    (folder / "jar").write_text("bytes")


def _must_not_run(folder: Path) -> None:
    pytest.fail(f"{folder} was built again")


def test_an_entry_that_is_there_is_not_built_again(tmp_path: Path) -> None:
    first = entry(tmp_path, "java/x-1", _fill, print)

    assert entry(tmp_path, "java/x-1", _must_not_run, print) == first == tmp_path / "java" / "x-1"
    assert (first / "jar").read_text() == "bytes"


def test_a_build_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def broken(folder: Path) -> None:
        _fill(folder)
        raise ProvisionError("no network")

    with pytest.raises(ProvisionError, match="no network"):
        entry(tmp_path, "x-1", broken, print)

    assert [path.name for path in tmp_path.iterdir()] == [".x-1.lock"]
    assert entry(tmp_path, "x-1", _fill, print).is_dir()


def test_an_entry_is_seen_only_when_it_is_whole(tmp_path: Path) -> None:
    entries: list[bool] = []
    entry(tmp_path, "x-1", lambda _folder: entries.append((tmp_path / "x-1").exists()), print)

    assert entries == [False]


def test_the_second_caller_waits_for_the_first_and_builds_nothing(tmp_path: Path) -> None:
    building, waiting = threading.Event(), threading.Event()
    lines: list[str] = []

    def slow(folder: Path) -> None:
        building.set()
        assert waiting.wait(120)
        _fill(folder)

    def say(line: str) -> None:
        lines.append(line)
        waiting.set()

    first = threading.Thread(target=entry, args=(tmp_path, "x-1", slow, print))
    first.start()
    assert building.wait(120)
    found = entry(tmp_path, "x-1", _must_not_run, say)
    first.join(120)

    assert lines == ["waiting for another process that is installing x-1"]
    assert (found / "jar").exists()


def test_a_cache_that_cannot_be_written_is_the_environments_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ProvisionError, match=r"the cache .*file cannot be used: .*; set GROUPPROOF_CACHE"):
        entry(tmp_path / "file", "x-1", _fill, print)


def test_the_cache_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GROUPPROOF_CACHE", str(tmp_path))
    assert default_cache() == tmp_path

    monkeypatch.delenv("GROUPPROOF_CACHE")
    assert default_cache().name == "groupproof"
