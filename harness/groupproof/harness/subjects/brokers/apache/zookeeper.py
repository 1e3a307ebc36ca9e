"""A ZooKeeper for the run: pinned jars out of Maven, Debian's package, or the official image; one server on the loopback, and what it counts.

Its sessions may be as short as a second, so that a run needn't wait long for the end of one.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path
from typing import Any, Final

import trio
from packaging.specifiers import SpecifierSet

from groupproof.clients.registry.install_cache import ProvisionError, Say, entry
from groupproof.clients.registry.toolchains.java_archives import copy_pinned, java_release, java_tool
from groupproof.clients.registry.toolchains.programs import NoSuchRelease
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.brokers.apache.layout import rendered, zookeeper_properties
from groupproof.harness.subjects.networks.broker_address import Address
from groupproof.harness.subjects.networks.ports import LOOPBACK, reserve_port
from groupproof.harness.subjects.processes.broker_process import BrokerProcess, Command, guarded
from groupproof.harness.subjects.processes.folders import Folders, folders
from groupproof.harness.subjects.processes.images import contained, has_image, sweep, wants_containers

__all__ = ["RunningZooKeeper", "ZooKeeperRuntime", "provision_zookeeper", "running_zookeeper", "zookeeper_at_hand", "zookeeper_release"]

_TABLE: Final = Path(__file__).with_name("zookeeper.toml")
_JVM: Final = ("-Xms64m", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Djava.awt.headless=true")
_IMAGE_CONFIG: Final = "/conf/zoo.cfg"
_IMAGE_DATA: Final = "/data"
_UP_S: Final = 60.0
_ANSWER_S: Final = 10.0
_COMMANDS: Final = "mntr, srvr, wchs"


@once
def _table() -> Mapping[str, Any]:
    return tomllib.loads(_TABLE.read_text("utf-8"))


def zookeeper_release() -> str:
    """Return the release whose jars and whose image are taken."""
    return str(_table()["release"])


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperRuntime:
    """What runs it: a class path of this machine's Java, or an image; `provided_by` says which to a person."""

    provided_by: str
    java: str = ""
    classpath: str = ""
    image: str = ""

    def command(self, port: int, own: Folders) -> Command:
        """Write the configuration, and return how to start the server; it ends with its standard input."""
        data = own.data / "zookeeper"
        data.mkdir()
        config = own.data / "zookeeper.cfg"
        properties = zookeeper_properties(port, Path(_IMAGE_DATA) if self.image else data) | {"4lw.commands.whitelist": _COMMANDS}
        config.write_text(rendered(properties), "utf-8")
        log = own.logs / "zookeeper.log"
        if self.image:
            config.chmod(0o644)
            own.data.chmod(0o755)
            options = ("--volume", f"{config}:{_IMAGE_CONFIG}:ro", "--env", "JVMFLAGS=-Dzookeeper.forceSync=no")
            return Command(title="ZooKeeper", argv=contained(f"{own.data.name}-zookeeper", [self.image], options=options, remove=[config]), log=log)
        # It need not survive the machine's end: no waiting for the disk.
        argv = (self.java, *_JVM, "-Dzookeeper.forceSync=no", "-cp", self.classpath, _table()["main_class"], str(config))
        return Command(title="ZooKeeper", argv=guarded(argv, remove=[data, config]), log=log)


def provision_zookeeper(cache: Path, say: Say) -> ZooKeeperRuntime:
    """Return what is there first: jars in the cache, Debian's package, else jars fetched, pinned by hash; the image alone where containers are wanted.

    Raises `BrokenEnvironment`.
    """
    if wants_containers():
        image = _table()["image"].format(release=zookeeper_release())
        if not has_image(image, say, pulls=True):
            raise BrokenEnvironment(f"there is no image of ZooKeeper here: start a container engine that can pull {image}")
        sweep(say)
        return ZooKeeperRuntime(provided_by=f"docker ({image})", image=image)
    try:
        java, jdk = java_tool("java"), java_release()
        if not SpecifierSet(_table()["java"]).contains(jdk):
            raise BrokenEnvironment(f"ZooKeeper needs Java {_table()['java']}, this is {jdk}: put such a JDK on PATH, or name it in JAVA_HOME")
        return _at_hand(java, cache) or _fetched(java, cache, say)
    except ProvisionError as error:
        raise BrokenEnvironment(str(error)) from error


def zookeeper_at_hand(cache: Path) -> str | None:
    """Return what can be had without fetching anything, in a few words; None where there is nothing."""
    try:
        found = _at_hand(java_tool("java"), cache)
    except ProvisionError:
        return None
    return found.provided_by if found is not None else None


def _at_hand(java: str, cache: Path) -> ZooKeeperRuntime | None:
    debian = Path(_table()["debian_jar"])
    if not (cache / _key()).is_dir() and debian.is_file():
        return ZooKeeperRuntime(provided_by=f"Debian's package ({debian})", java=java, classpath=str(debian))
    return _of_jars(java, cache / _key()) if (cache / _key()).is_dir() else None


def _fetched(java: str, cache: Path, say: Say) -> ZooKeeperRuntime:
    def fetch(folder: Path) -> None:
        say(f"fetching ZooKeeper {zookeeper_release()}")
        try:
            copy_pinned(_table()["jars"], folder)
        except NoSuchRelease as missing:
            raise ProvisionError(f"the Maven repository has no {missing}, which ZooKeeper needs") from missing

    return _of_jars(java, entry(cache, _key(), fetch, say))


def _of_jars(java: str, jars: Path) -> ZooKeeperRuntime:
    return ZooKeeperRuntime(provided_by=f"maven (zookeeper {zookeeper_release()})", java=java, classpath=f"{jars}{os.sep}*")


def _key() -> str:
    """Return the name of the jars in the cache, which changes with any of them."""
    pins = "\n".join(f"{name} {pin}" for name, pin in _table()["jars"].items())
    return f"java/zookeeper-{zookeeper_release()}-{hashlib.sha256(pins.encode()).hexdigest()[:10]}"


class RunningZooKeeper:
    """The server while it runs."""

    def __init__(self, process: BrokerProcess, address: Address, provided_by: str) -> None:
        self.process, self.address, self.provided_by = process, address, provided_by

    async def ask(self, command: str) -> str:
        """Return its answer to a command of four letters; raise `OSError`, or `trio.TooSlowError` where none comes within ten seconds."""
        with trio.fail_after(_ANSWER_S):
            stream = await trio.open_tcp_stream(*self.address)
            async with stream:
                await stream.send_all(command.encode())
                return b"".join([bytes(some) async for some in stream]).decode("utf-8", "replace")

    async def counted(self) -> dict[str, int]:
        """Return its own counters, such as `zk_packets_received` and `zk_watch_count` (command mntr); fractions are left out."""
        rows = (line.split("\t", 1) for line in (await self.ask("mntr")).splitlines() if "\t" in line)
        return {name: int(value) for name, value in rows if value.strip().lstrip("-").isdigit()}

    async def order(self, order: str) -> None:
        """Have it paused, resumed, killed or started again with what it wrote; raise `BrokenEnvironment` where it can't be."""
        await self.process.order(order)

    async def wait_until_up(self) -> None:
        """Return when it answers; raise `BrokenEnvironment` with its last words where it ends, or does not within a minute."""
        deadline = trio.current_time() + _UP_S
        while trio.current_time() < deadline:
            if (death := self.process.death()) is not None:
                raise BrokenEnvironment(death)
            try:
                if "Mode:" in await self.ask("srvr"):
                    return
            except (OSError, trio.TooSlowError, trio.BrokenResourceError):
                pass
            await trio.sleep(0.05)
        raise BrokenEnvironment(f"ZooKeeper did not answer within {_UP_S:g} s (log: {self.process.log})")


@asynccontextmanager
async def running_zookeeper(provided: ZooKeeperRuntime, *, cache: Path, logs: Path | None = None) -> AsyncIterator[RunningZooKeeper]:
    """Run a server for as long as the context lasts; raise `BrokenEnvironment` where it does not come up."""
    port = reserve_port()
    with folders("zookeeper", cache=cache, logs=logs) as own:
        process = await BrokerProcess.start(provided.command(port, own))
        try:
            running = RunningZooKeeper(process, (LOOPBACK, port), provided.provided_by)
            await running.wait_until_up()
            yield running
        finally:
            await process.kill()
