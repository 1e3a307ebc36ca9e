from __future__ import annotations

from pathlib import Path

import pytest

from groupproof.harness.brokers.images import has_image

NAME = "apache/kafka:4.1.0"


def told(docker: Path) -> list[str]:
    return [line.split()[0] for line in (docker / "told").read_text().splitlines()]


def test_an_image_that_is_here_is_not_pulled(docker: Path) -> None:
    assert has_image(NAME, print, pulls=True)
    assert told(docker) == ["version", "image"]


def test_an_image_that_is_not_here_is_pulled_where_that_is_allowed(docker: Path) -> None:
    (docker / "refuses").write_text("image\n")
    said: list[str] = []

    assert has_image(NAME, said.append, pulls=True)
    assert said == [f"pulling {NAME}"]
    assert not has_image(NAME, said.append, pulls=False)
    assert told(docker) == ["version", "image", "pull", "version", "image"]


def test_without_an_engine_there_is_no_image(docker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (docker / "refuses").write_text("version\n")
    assert not has_image(NAME, print, pulls=True)
    assert told(docker) == ["version"]

    monkeypatch.setenv("PATH", "")
    assert not has_image(NAME, print, pulls=True)


def test_a_registry_out_of_reach_is_told(docker: Path) -> None:
    program = docker / "bin" / "docker"
    program.write_text(program.read_text().replace('case "$*" in', 'case "$*" in pull*) exit 1;;'))
    (docker / "refuses").write_text("image\n")
    said: list[str] = []

    assert not has_image(NAME, said.append, pulls=True)
    assert said[-1] == f"{NAME} can't be pulled here"
