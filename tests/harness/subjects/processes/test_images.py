from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.subjects.processes.images import PLACE, PROVIDER, contained, has_image, left, owned, place, sweep, wants_containers

NAME = "apache/kafka:4.1.0"


def docker_commands(docker: Path) -> list[str]:
    return [line.split()[0] for line in (docker / "told").read_text().splitlines()]


def test_an_image_that_is_here_is_not_pulled(docker: Path) -> None:
    assert has_image(NAME, print, pulls=True)
    assert docker_commands(docker) == ["version", "image"]


def test_an_image_that_is_not_here_is_pulled_where_that_is_allowed(docker: Path) -> None:
    (docker / "refuses").write_text("image\n")
    notes: list[str] = []

    assert has_image(NAME, notes.append, pulls=True)
    assert notes == [f"pulling {NAME}"]
    assert not has_image(NAME, notes.append, pulls=False)
    assert docker_commands(docker) == ["version", "image", "pull", "version", "image"]


def test_without_an_engine_there_is_no_image(docker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (docker / "refuses").write_text("version\n")
    assert not has_image(NAME, print, pulls=True)
    assert docker_commands(docker) == ["version"]

    monkeypatch.setenv("PATH", "")
    assert not has_image(NAME, print, pulls=True)


def test_a_registry_out_of_reach_is_reported(docker: Path) -> None:
    program = docker / "bin" / "docker"
    program.write_text(program.read_text().replace('case "$*" in', 'case "$*" in pull*) exit 1;;'))
    (docker / "refuses").write_text("image\n")
    notes: list[str] = []

    assert not has_image(NAME, notes.append, pulls=True)
    assert notes[-1] == f"{NAME} can't be pulled here"


@pytest.mark.parametrize(("choice", "wanted"), [(None, None), ("", None), ("docker", True), ("local", False)])
def test_a_user_chooses_between_containers_and_processes(monkeypatch: pytest.MonkeyPatch, choice: str | None, wanted: bool | None) -> None:
    monkeypatch.delenv(PROVIDER, raising=False)
    if choice is not None:
        monkeypatch.setenv(PROVIDER, choice)

    assert wants_containers() is wanted


def test_another_word_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROVIDER, "podman")
    with pytest.raises(WrongUsage, match="GROUPPROOF_PROVIDER=podman: say docker, or local"):
        wants_containers()


def test_a_container_is_paused_killed_and_started_again_by_its_name_and_goes_with_its_guard() -> None:
    plan = json.loads(contained("c1", ["image", "--flag"], options=["--env", "A=b"], remove=[Path("/d")])[-1])

    assert plan["argv"][-4:] == ["--env", "A=b", "image", "--flag"]
    assert plan["orders"] == {"pause": ["docker", "pause", "c1"], "resume": ["docker", "unpause", "c1"], "kill": ["docker", "kill", "c1"]}
    assert plan["again"] == ["docker", "start", "--attach", "c1"]
    assert (plan["after"], plan["remove"]) == ([["docker", "rm", "--force", "--volumes", "c1"]], ["/d"])


def test_the_containers_of_runs_that_are_over_are_removed_and_no_others(docker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", ""]) as gone:
        pass
    program = docker / "bin" / "docker"
    program.write_text(f'{program.read_text()}case "$1" in ps) echo "{gone.pid} over"; echo "{os.getpid()} kept"; echo "1 of-init";; esac\n')
    (docker / "refuses").write_text("none\n")
    notes: list[str] = []

    assert owned() == {"over": gone.pid, "kept": os.getpid(), "of-init": 1}
    assert left() == ["over"]
    sweep(notes.append)
    assert notes == ["removed over, a container that a killed run had left"]
    lines = (docker / "told").read_text().splitlines()
    assert [line for line in lines if line.startswith("rm")] == ["rm --force --volumes over"]
    assert all(f"label={PLACE}={place()}" in line for line in lines if line.startswith("ps"))
    monkeypatch.setenv("PATH", "")
    assert owned() == {}
