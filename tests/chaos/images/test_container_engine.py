"""A container on a real engine: built from nothing, paused, killed, started again with what it wrote, and gone with its guard."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
from tests.chaos.engines import running_engine
from tests.harness.subjects.shims.leaving import ended_by

from groupproof.chaos.images.container_engine import Engine, engine
from groupproof.chaos.images.rootfs import RootFs
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.processes.broker_process import BrokerProcess, Command
from groupproof.harness.subjects.processes.images import LABEL, PLACE, contained, has_image, left, owned, place, sweep

__all__ = ["running_engine"]

IMAGE = f"groupproof/test-of-{os.getpid()}"
TELLING = 'echo "$0 after $(cat /tmp/told)"; echo up >/tmp/told; while :; do sleep 1; done'


@pytest.fixture(scope="module")
def image(running_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An image that has a shell, cat and sleep."""
    folder = tmp_path_factory.mktemp("image")
    files = RootFs(folder / "files.tar")
    for program in ("sh", "cat", "sleep"):
        found = shutil.which(program)
        assert found is not None
        files.add(Path(found), f"/bin/{program}")
    files.add_libraries()
    files.write()
    (folder / "Dockerfile").write_text('FROM scratch\nADD files.tar /\nENV PATH=/bin\nUSER 1000:1000\nENTRYPOINT ["/bin/sh", "-c"]\n')
    running_engine.build(IMAGE, folder)
    yield IMAGE
    subprocess.run(["docker", "rmi", "--force", IMAGE], check=True, capture_output=True)


def _state(name: str) -> str:
    argv = ["docker", "ps", "--all", "--filter", f"name=^{name}$", "--format", "{{.State}}"]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.docker
@pytest.mark.slow
def test_a_container_is_paused_killed_and_started_again_with_what_it_wrote_and_is_gone_with_its_guard(image: str, tmp_path: Path) -> None:
    name = f"groupproof-test-{os.getpid()}"
    command = Command(title="a container", argv=contained(name, [image, TELLING, "says"]), log=tmp_path / "log", speaks=True)

    async def main() -> None:
        process = await BrokerProcess.start(command)
        try:
            assert await process.next_line() == "says after "
            await process.order("pause")
            assert _state(name) == "paused"
            await process.order("resume")
            assert _state(name) == "running"
            await process.order("kill")
            assert (_state(name), process.death()) == ("exited", None)
            await process.order("start")
            assert await process.next_line() == "says after up"
            with pytest.raises(BrokenEnvironment, match=r"can't be made to resume: resume failed: .* is not paused"):
                await process.order("resume")
            await process.order("pause")
        finally:
            await process.kill(within_s=30)
        assert _state(name) == ""

    trio.run(main)


@pytest.mark.docker
@pytest.mark.slow
def test_leftovers_of_runs_are_removed_unless_their_run_continues_or_belongs_to_another_machine(image: str) -> None:
    with subprocess.Popen(["true"]) as gone:
        pass
    names = over, kept, other = tuple(f"groupproof-{age}-{os.getpid()}" for age in ("left", "kept", "other"))
    owners = dict(zip(names, (gone.pid, os.getpid(), gone.pid), strict=True))
    lines: list[str] = []
    try:
        for name, pid in owners.items():
            labels = ("--label", f"{LABEL}={pid}", "--label", f"{PLACE}={'elsewhere' if name == other else place()}")
            argv = ["docker", "run", "--detach", "--name", name, *labels, "--network", "none", image, "sleep 600"]
            subprocess.run(argv, check=True, capture_output=True)
        assert {name: pid for name, pid in owned().items() if name in owners} == {over: gone.pid, kept: os.getpid()}
        assert over in left()
        sweep(lines.append)
        assert f"removed {over}, a container that a killed run had left" in lines
        assert [_state(name) for name in names] == ["", "running", "running"]
    finally:
        subprocess.run(["docker", "rm", "--force", *owners], check=False, capture_output=True)


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.soak), signal.SIGKILL])
def test_a_run_that_is_ended_while_a_container_is_paused_leaves_none(image: str, tmp_path: Path, number: int) -> None:
    before = owned()
    had, _, left, has_folder = ended_by(number, tmp_path, image)

    assert (had > 6, left, has_folder) == (True, [], False)
    assert not [name for name in owned() if name.startswith("groupproof-kit-") and name not in before]


@pytest.mark.docker
@pytest.mark.slow
def test_an_image_that_cannot_be_built_is_reported_with_the_engines_words(running_engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY missing /\n")

    with pytest.raises(BrokenEnvironment, match=r"groupproof/none can't be built: .*missing"):
        running_engine.build("groupproof/none", tmp_path)
    assert not running_engine.has("groupproof/none")
    assert not has_image("groupproof/none", print, pulls=False)


def test_without_an_engine_it_is_said_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")

    with pytest.raises(BrokenEnvironment, match="no container engine answers: install Docker and start its daemon"), engine():
        pytest.fail("one answers")
