from __future__ import annotations

import json
import re
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
from tests.harness.subjects.brokers.programs import folders_in, program

from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.registry.toolchains.java_archives import java_tool
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.apache import zookeeper
from groupproof.harness.subjects.brokers.apache.zookeeper import (
    RunningZooKeeper,
    ZooKeeperRuntime,
    provision_zookeeper,
    running_zookeeper,
    zookeeper_at_hand,
    zookeeper_release,
)


@pytest.fixture
def bare(bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Only programs of this folder are found, no package of Debian's, and no choice for containers."""
    monkeypatch.delenv("GROUPPROOF_PROVIDER", raising=False)
    table = {**zookeeper._table(), "debian_jar": str(tmp_path / "debian.jar")}
    monkeypatch.setattr(zookeeper, "_table", lambda: table)
    return bin_folder


def test_jars_that_are_not_those_pinned_are_not_kept(bare: Path, tmp_path: Path) -> None:
    program(bare, "java", "echo 'openjdk version \"17.0.1\"' >&2")
    program(bare, "mvn", "exit 0")
    with pytest.raises(BrokenEnvironment, match="is not the file that was pinned"):
        provision_zookeeper(tmp_path / "cache", print)
    assert zookeeper_at_hand(tmp_path / "cache") is None


def test_jars_in_the_cache_go_before_debians_and_debians_before_fetching(bare: Path, tmp_path: Path) -> None:
    program(bare, "java", "echo 'openjdk version \"17.0.1\"' >&2")
    (tmp_path / "debian.jar").touch()
    cache = tmp_path / "cache"
    debians = provision_zookeeper(cache, print)
    (cache / zookeeper._key()).mkdir(parents=True)
    cached = provision_zookeeper(cache, print)

    assert (debians.classpath, debians.provided_by) == (str(tmp_path / "debian.jar"), f"Debian's package ({tmp_path}/debian.jar)")
    assert cached.classpath == f"{cache / zookeeper._key()}/*"
    assert zookeeper_at_hand(cache) == cached.provided_by == f"maven (zookeeper {zookeeper_release()})"


def test_without_java_it_is_said_what_to_install(bare: Path, tmp_path: Path) -> None:
    assert bare.is_dir()
    with pytest.raises(BrokenEnvironment, match="no java here: install a JDK"):
        provision_zookeeper(tmp_path, print)
    assert zookeeper_at_hand(tmp_path) is None


def test_a_java_that_is_too_old_is_reported(bare: Path, tmp_path: Path) -> None:
    program(bare, "java", "echo 'java version \"1.7.0\"' >&2")
    with pytest.raises(BrokenEnvironment, match=r"ZooKeeper needs Java >=8, this is 1\.7\.0"):
        provision_zookeeper(tmp_path, print)


def test_where_containers_are_wanted_it_is_the_official_image_or_nothing(docker: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GROUPPROOF_PROVIDER", "docker")
    provided = provision_zookeeper(tmp_path / "cache", print)
    command = provided.command(9001, folders_in(tmp_path))
    plan = json.loads(command.argv[-1])

    assert provided.provided_by == f"docker (zookeeper:{zookeeper_release()})"
    assert plan["argv"][:2] == ["docker", "run"]
    assert plan["argv"][-1] == f"zookeeper:{zookeeper_release()}"
    assert f"{tmp_path}/data/zookeeper.cfg:/conf/zoo.cfg:ro" in plan["argv"]
    assert "dataDir=/data\n" in (tmp_path / "data" / "zookeeper.cfg").read_text()

    (docker / "refuses").write_text("\n".join(["image"]) + "\n")
    (docker / "bin" / "docker").write_text(f'#!/bin/sh\necho "$*" >> {docker}/told\n[ "$1" = version ]\n')
    with pytest.raises(BrokenEnvironment, match="there is no image of ZooKeeper here: start a container engine that can pull zookeeper"):
        provision_zookeeper(tmp_path / "cache", print)


def test_its_configuration_lets_sessions_be_a_second_long_and_its_counters_be_asked_for(tmp_path: Path) -> None:
    command = ZooKeeperRuntime(provided_by="x", java="/j/java", classpath="/jars/*").command(9001, folders_in(tmp_path))
    plan = json.loads(command.argv[-1])
    config = dict(line.split("=", 1) for line in (tmp_path / "data" / "zookeeper.cfg").read_text().splitlines())

    assert (config["clientPort"], config["minSessionTimeout"], config["dataDir"]) == ("9001", "1000", str(tmp_path / "data" / "zookeeper"))
    assert "mntr" in config["4lw.commands.whitelist"]
    assert plan["argv"][-3:] == ["/jars/*", "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(tmp_path / "data" / "zookeeper.cfg")]
    assert set(plan["remove"]) == {str(tmp_path / "data" / "zookeeper"), str(tmp_path / "data" / "zookeeper.cfg")}


def test_one_that_does_not_start_is_reported_with_its_last_words(bare: Path, tmp_path: Path) -> None:
    program(bare, "java", "echo 'Error: no heap'; exit 1")
    provided = ZooKeeperRuntime(provided_by="x", java=str(bare / "java"), classpath="/jars/*")

    async def start() -> None:
        async with running_zookeeper(provided, cache=tmp_path / "cache", logs=tmp_path / "logs"):
            pass

    with pytest.raises(BrokenEnvironment, match=r"ZooKeeper ended with status 1; its last words: Error: no heap"):
        trio.run(start)


DEBIANS = Path(str(zookeeper._table()["debian_jar"]))


@pytest.mark.java
@pytest.mark.network
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None or shutil.which("mvn") is None, reason="no Java or no Maven here")
def test_a_real_one_comes_up_counts_what_it_is_asked_and_comes_back_after_a_kill(tmp_path: Path) -> None:
    async def work(running: RunningZooKeeper) -> None:
        first = await running.counted()
        second = await running.counted()
        assert second["zk_packets_received"] > first["zk_packets_received"]
        assert second["zk_watch_count"] == 0
        assert f"version: {zookeeper_release()}" in await running.ask("srvr")
        await running.order("kill")
        with pytest.raises(OSError, match="all attempts to connect"):
            await running.ask("srvr")
        await running.order("start")
        await running.wait_until_up()

    _with_one(zookeeper._fetched(java_tool("java"), default_cache(), print), tmp_path, work)


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None or not DEBIANS.is_file(), reason="no Java here, or not Debian's package")
def test_debians_package_comes_up_too(tmp_path: Path) -> None:
    async def work(running: RunningZooKeeper) -> None:
        assert re.search(r"version: 3\.([89]|\d\d)\.", await running.ask("srvr"))

    _with_one(ZooKeeperRuntime(provided_by="Debian", java=java_tool("java"), classpath=str(DEBIANS)), tmp_path, work)


def _with_one(provided: ZooKeeperRuntime, logs: Path, work: Callable[[RunningZooKeeper], Awaitable[None]]) -> None:
    async def live() -> None:
        async with running_zookeeper(provided, cache=default_cache(), logs=logs) as running:
            await work(running)

    trio.run(live)
