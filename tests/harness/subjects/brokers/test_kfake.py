from __future__ import annotations

import shutil
import tomllib
from importlib import resources
from pathlib import Path

import pytest
import trio

from groupproof.clients.registry.install_cache import default_cache
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.cluster import RunningCluster
from groupproof.harness.subjects.brokers.kfake import Kfake, build_kfake, pinned
from groupproof.harness.subjects.networks.request_connection import asking
from groupproof.protocol.vocabulary import Api


def _go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    (tmp_path / "go").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "go").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))


def test_it_is_built_once_of_the_pinned_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _go(tmp_path, monkeypatch, f'echo "$GOFLAGS $*" >> {tmp_path}/told; : > kfake')
    lines: list[str] = []
    program = build_kfake(tmp_path / "cache", lines.append)

    assert build_kfake(tmp_path / "cache", lines.append) == program
    assert lines == [f"building kfake {pinned()}"]
    assert (tmp_path / "told").read_text() == "-mod=mod build -o kfake .\n"
    assert {path.name for path in program.parent.iterdir()} == {"go.mod", "main.go", "kfake"}


def test_what_is_known_of_it_is_known_of_the_pinned_version() -> None:
    file = next(path for path in resources.files("groupproof.harness").joinpath("expected_of_coordinators").iterdir() if path.name == "kfake.toml")

    assert {load["subject"] for load in tomllib.loads(file.read_text())["known"]} == {f"==={pinned()}"}


def test_without_go_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BrokenEnvironment, match="no go on PATH, which builds kfake: install Go"):
        build_kfake(tmp_path, print)


def test_a_build_that_fails_is_reported_with_its_last_lines_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _go(tmp_path, monkeypatch, "echo 'go: downloading x' >&2; echo 'dial tcp: no route' >&2; exit 1")
    with pytest.raises(BrokenEnvironment, match=r"could not be built: dial tcp: no route; is the Go module proxy reachable"):
        build_kfake(tmp_path / "cache", print)
    assert not any(path.is_dir() for path in (tmp_path / "cache" / "go").iterdir())


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="no Go here")
def test_it_coordinates_and_a_killed_broker_takes_its_connections_along(tmp_path: Path) -> None:
    settings = {"group.initial.rebalance.delay.ms": 0, "group.min.session.timeout.ms": 100, "no.such": 1}

    async def work(running: RunningCluster) -> None:
        assert set(running.unmet) == {"no.such"}
        async with asking(await running.connect(*running.addresses[0])) as asker:
            topics = (await asker.ask(Api.METADATA, {"topics": ({"name": "t"},)}, newest=8))["topics"]
            assert len(topics[0]["partitions"]) == 4
        stream = await running.connect(*running.addresses[1])
        async with asking(stream):
            await running.stop(1)
            with trio.fail_after(120):
                assert await stream.receive_some() == b""
        assert len(running.addresses) == 1

    async def main() -> None:
        kfake = Kfake(cache=default_cache(), say=print, profile="kafka-4.1", logs=tmp_path)
        async with kfake.cluster(settings=settings, brokers=2, topics={"t": 4}) as running:
            await work(running)

    trio.run(main)
