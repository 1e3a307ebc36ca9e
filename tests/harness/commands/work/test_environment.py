"""What `groupproof doctor` looks at, part by part."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

from groupproof.clients.registry.toolchains.by_language import TOOLCHAINS
from groupproof.harness.commands.work import environment
from groupproof.harness.commands.work.environment import Part


def test_containers_of_killed_runs_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_answer", lambda argv: None)
    monkeypatch.setattr(environment, "left", lambda: ["groupproof-1", "groupproof-2"])
    text = next(part.found for part in environment.examine() if part.name == "leftovers")

    assert text == "groupproof-1, groupproof-2; the next run with containers removes them"


def test_a_toxiproxy_is_found_as_a_run_would_take_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there: dict[str, str] = {}
    monkeypatch.setattr(environment, "_answer", lambda argv: there.get(argv[0]))
    monkeypatch.setattr(shutil, "which", lambda name, path=None: there.get(name))
    monkeypatch.setenv("GROUPPROOF_CACHE", str(tmp_path))

    def found() -> str | None:
        return next(part.found for part in environment.examine() if part.name == "toxiproxy")

    lines = [found()]
    there["go"] = "/usr/bin/go"
    lines.append(found())
    server = tmp_path / "go" / "toxiproxy-2.12.0" / "server"
    server.parent.mkdir(parents=True)
    server.touch()
    lines.append(found())
    there["toxiproxy-server"] = "toxiproxy-server version 2.12.0, /usr/bin/toxiproxy-server"
    lines.append(found())
    there["docker"] = "sha256:1, /usr/bin/docker"
    lines.append(found())

    by_go = f"built by Go, {server}"
    assert lines == [None, "built by Go when it is first needed", by_go, there["toxiproxy-server"], "image ghcr.io/shopify/toxiproxy:2.12.0"]


def test_every_program_of_every_toolchain_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_answer", lambda argv: None)
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    found = list(environment.examine())
    parts = {part.name: part for part in found}

    assert len(parts) == len(found)
    for toolchain in TOOLCHAINS.values():
        for tool in toolchain.tools:
            assert (parts[tool.name].found, parts[tool.name].remedy) == (None, tool.remedy)


def test_a_cache_that_cannot_be_made_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    monkeypatch.setenv("GROUPPROOF_CACHE", "/proc/groupproof")

    cache: Part = next(part for part in environment.examine() if part.name == "cache")

    assert cache.found is None
    assert "set GROUPPROOF_CACHE to a folder that is" in cache.remedy


@pytest.mark.parametrize(("status", "printed", "found"), [(0, "go 1.26\nmore", "go 1.26, /bin/go"), (1, "broken", None), (0, "", None)])
def test_a_program_counts_when_it_answers(status: int, printed: str, found: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, path=None: f"/bin/{name}")

    assert environment._answer(("go", "version"), lambda *_, **__: subprocess.CompletedProcess([], status, printed, "")) == found
