from __future__ import annotations

import signal
from pathlib import Path

import pytest

from groupproof.harness.subjects.shims.container import Container

RUN = ("docker", "run", "--rm", "--interactive", "image")


def test_a_container_gets_a_name_of_its_own_unless_the_user_gave_it_one() -> None:
    argv, container = Container.of(RUN)
    _, other = Container.of(RUN)

    assert container is not None
    assert argv == ("docker", "run", "--name", container.name, "--rm", "--interactive", "image")
    assert other is not None
    assert other.name != container.name
    for options in (("--name", "mine"), ("--name=mine",)):
        argv, container = Container.of(("/usr/bin/docker", "run", *options, "image"))
        assert (argv, container and container.name) == (("/usr/bin/docker", "run", *options, "image"), "mine")


@pytest.mark.parametrize("argv", [("python", "run", "image"), ("docker", "exec", "c", "shim"), ("docker", "run")])
def test_another_program_is_none(argv: tuple[str, ...]) -> None:
    assert Container.of(argv) == (argv, None)


def test_signals_are_said_in_dockers_words_and_only_what_is_paused_is_unpaused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docker = tmp_path / "docker"
    docker.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/told\nexit 1\n')
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    container = Container("c")
    for number in (signal.SIGCONT, signal.SIGSTOP, signal.SIGTERM, signal.SIGCONT, signal.SIGKILL):
        container.signal(number)
    container.remove()

    assert (tmp_path / "told").read_text().splitlines() == ["pause c", "unpause c", "kill c", "rm --force --volumes c"]


def test_without_docker_there_is_nothing_to_remove(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    container = Container("c")
    container.remove()

    assert container.name == "c"
