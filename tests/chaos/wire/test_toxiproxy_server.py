from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
import trio

from groupproof.chaos.wire import toxiproxy_server
from groupproof.chaos.wire.toxiproxy_server import IMAGE, OWN_IMAGE, Program, provision_toxiproxy, running_toxiproxy
from groupproof.harness.commands.work import environment
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.processes.images import place


@pytest.fixture(autouse=True)
def swept(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Nothing is removed here; what is swept is counted."""
    times: list[object] = []
    monkeypatch.setattr(toxiproxy_server, "sweep", times.append)
    return times


def no_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toxiproxy_server, "has_image", lambda *_, **__: False)


def test_the_official_image_is_used_where_an_engine_has_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, swept: list[object]) -> None:
    monkeypatch.setattr(toxiproxy_server, "has_image", lambda *_, **__: True)
    program = provision_toxiproxy(tmp_path, print)
    plan = json.loads(program.command(4711, 7, tmp_path / "log").argv[-1])

    assert (program.provided_by, len(swept)) == (f"docker ({IMAGE})", 1)
    assert plan["argv"] == [
        "docker", "run", "--name", "groupproof-toxiproxy-4711", "--label", f"groupproof.pid={os.getpid()}",
        "--label", f"groupproof.place={place()}", "--network", "host", IMAGE,
        "-host", "127.0.0.1", "-port", "4711", "-seed", "7", "-proxy-metrics",
    ]  # fmt: skip
    assert plan["after"] == [["docker", "rm", "--force", "--volumes", "groupproof-toxiproxy-4711"]]


def test_an_image_built_here_is_used_where_containers_are_required(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(toxiproxy_server, "has_image", lambda name, *_, **__: name == OWN_IMAGE)
    monkeypatch.setenv("GROUPPROOF_PROVIDER", "docker")
    assert provision_toxiproxy(tmp_path, print).provided_by == f"docker ({OWN_IMAGE})"

    no_image(monkeypatch)
    with pytest.raises(BrokenEnvironment, match="there is no image of Toxiproxy here"):
        provision_toxiproxy(tmp_path, print)


def test_else_the_program_on_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    no_image(monkeypatch)
    binary = tmp_path / "toxiproxy-server"
    binary.write_text("#!/bin/sh\n")
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert provision_toxiproxy(tmp_path, print) == Program(argv=(str(binary),), provided_by=f"PATH ({binary})")


def test_an_earlier_build_is_used_before_anything_is_pulled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pulled: list[bool] = []
    monkeypatch.setattr(toxiproxy_server, "has_image", lambda *_, pulls: pulled.append(pulls))
    monkeypatch.setenv("PATH", "")
    server = tmp_path / "go" / f"toxiproxy-{toxiproxy_server.RELEASE}" / "server"
    server.parent.mkdir(parents=True)
    server.touch()

    assert provision_toxiproxy(tmp_path, print) == Program(argv=(str(server),), provided_by=f"go (toxiproxy {toxiproxy_server.RELEASE})")
    assert pulled == [False]


def test_without_any_of_them_it_is_said_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    no_image(monkeypatch)
    monkeypatch.setenv("PATH", "")

    with pytest.raises(BrokenEnvironment, match=r"no go on PATH to build it with: install Go .* toxiproxy-server on PATH, or start a Docker engine"):
        provision_toxiproxy(tmp_path, print)


def test_a_server_that_ends_at_once_is_reported_with_its_last_words(tmp_path: Path) -> None:
    broken = Program(argv=("/bin/sh", "-c", "echo Error: no such port; exit 3", "sh"), provided_by="a test")

    async def whole() -> None:
        async with running_toxiproxy(broken, cache=tmp_path, logs=tmp_path):
            pytest.fail("it runs")

    with pytest.raises(BrokenEnvironment, match="toxiproxy ended with status 3; its last words: Error: no such port"):
        trio.run(whole)


def test_a_built_server_tells_its_version_and_is_gone_afterwards(program: Program, tmp_path: Path) -> None:
    async def whole() -> int:
        async with running_toxiproxy(program, cache=tmp_path, logs=tmp_path) as server:
            assert await server.version()
            return server.port

    port = trio.run(whole)

    async def connect() -> None:
        await trio.open_tcp_stream("127.0.0.1", port)

    with pytest.raises(OSError, match="all attempts to connect"):
        trio.run(connect)


def test_the_doctor_looks_for_the_same_images() -> None:
    assert environment._TOXIPROXY_IMAGES == (IMAGE, OWN_IMAGE)
