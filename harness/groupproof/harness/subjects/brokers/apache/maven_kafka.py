"""Apache Kafka out of its Maven artifacts: jars in the cache, one JVM for each node, and one for ZooKeeper where the release needs it."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import subprocess
import tempfile
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import SpecifierSet

from groupproof.clients.registry.install_cache import ProvisionError, Say, entry
from groupproof.clients.registry.toolchains.java_archives import copy_artifacts, java_release, java_tool
from groupproof.clients.registry.toolchains.programs import NoSuchRelease
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.subjects.brokers.apache.broker_releases import Needs, releases
from groupproof.harness.subjects.brokers.apache.layout import KafkaNode, Layout, rendered, zookeeper_properties
from groupproof.harness.subjects.brokers.slow_disk import control_of, prepared
from groupproof.harness.subjects.processes.broker_process import Command, guarded
from groupproof.harness.subjects.processes.folders import Folders

__all__ = ["Jars", "is_fetched", "key_of", "provision_maven"]

# A broker of a run lives for minutes: quick to start and small beats fast. Nothing that it writes must survive it.
JVM_OPTIONS = ("-Xms128m", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Djava.awt.headless=true")
LOG4J = """log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
log4j.logger.org.apache.zookeeper=WARN
"""
_FORMAT_S = 120
_META = "meta.properties"
_ARCHIVING = ">=13"


@dataclass(frozen=True, slots=True, kw_only=True)
class Jars:
    """A release in the cache; `formatted` is the storage of a new KRaft node, None where ZooKeeper keeps the metadata.

    `archive` is where the JVM's archive of loaded classes is, or will be (JEP 350), with which a broker starts in half the time; None where
    this JVM can't write one. A broker that `trains` writes it when it ends in order. With `slowing`, a library, its disk can be slowed.
    """

    release: str
    needs: Needs
    java: str
    jars: Path
    formatted: Path | None
    archive: Path | None = None
    trains: bool = False
    slowing: Path | None = None
    provided_by: str = "maven"

    def zookeeper(self, port: int, folders: Folders) -> Command:
        """Write ZooKeeper's configuration and return how to start it."""
        data = folders.data / "zookeeper"
        data.mkdir()
        file = folders.data / "zookeeper.properties"
        file.write_text(rendered(zookeeper_properties(port, data)), "utf-8")
        # It need not survive the machine's end: no waiting for the disk.
        argv = self._jvm("-Dzookeeper.forceSync=no", "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(file), heap="128m")
        return Command(title="ZooKeeper", argv=guarded(argv, remove=[data, file]), log=folders.logs / "zookeeper.log")

    def node(self, layout: Layout, node: KafkaNode, folders: Folders) -> Command:
        """Write the node's configuration and storage, and return how to start it."""
        file = folders.data / f"{node.node_id}.properties"
        file.write_text(rendered(layout.properties(node)), "utf-8")
        if self.formatted is not None:
            _adopt(self.formatted, node)
        argv = self._jvm(*self._archiving(), releases().main_class, str(file))
        remove = [node.data, file]
        if self.slowing is not None:
            control = control_of(folders, node.node_id)
            argv = ("env", *(f"{name}={value}" for name, value in prepared(self.slowing, control, node.data).items()), *argv)
            remove.append(control)
        return Command(title=node.title, argv=guarded(argv, remove=remove), log=folders.logs / f"{node.title.replace(' ', '-')}.log")

    @property
    def is_trained(self) -> bool:
        """Whether there is nothing to gain from training."""
        return self.archive is None or self.archive.is_file()

    def keep_archive(self) -> None:
        """Put what a training broker wrote where later ones look for it."""
        if self.archive is not None and self._draft.is_file():
            self._draft.replace(self.archive)

    @property
    def _draft(self) -> Path:
        assert self.archive is not None
        return self.archive.with_name(f".{self.archive.name}.{os.getpid()}")

    def _archiving(self) -> tuple[str, ...]:
        if self.trains:
            return (f"-XX:ArchiveClassesAtExit={self._draft}",)
        return (f"-XX:SharedArchiveFile={self.archive}",) if self.archive is not None and self.archive.is_file() else ()

    def _jvm(self, *arguments: str, heap: str = "512m") -> tuple[str, ...]:
        return (*_jvm(self.java, self.jars, self.needs), f"-Xmx{heap}", *arguments)


def _jvm(java: str, jars: Path, needs: Needs) -> tuple[str, ...]:
    logging = (f"-Dlog4j.configuration=file:{jars / 'log4j.properties'}",) if needs.log4j else ("-Dorg.slf4j.simpleLogger.showDateTime=true",)
    return (java, *JVM_OPTIONS, *logging, "-cp", f"{jars}{os.sep}*")


def is_fetched(release: str, cache: Path) -> bool:
    """Tell whether the release's jars are in the cache already."""
    return (cache / key_of(release)).is_dir()


def key_of(release: str) -> str:
    """Return the name of a release's jars in the cache; it changes with what the release needs."""
    return f"java/kafka-broker-{release}-{_digest(releases().needs_of(release).artifacts(release))}"


def provision_maven(release: str, cache: Path, say: Say) -> Jars:
    """Fetch a release into the cache unless it is there; raise `BrokenEnvironment`, or `WrongUsage` where there is no such release."""
    needs = releases().needs_of(release)
    try:
        java, jdk = java_tool("java"), java_release()
        if not needs.java.contains(jdk):
            raise BrokenEnvironment(f"apache-kafka@{release} needs Java {needs.java}, this is {jdk}: put such a JDK on PATH, or name it in JAVA_HOME")
        jars = entry(cache, key_of(release), lambda folder: _fetch(release, needs, folder, say), say)
        formatted = (
            None if needs.zookeeper else entry(cache, f"{key_of(release)}-storage", lambda folder: _format(java, jars, needs, folder, say), say)
        )
    except ProvisionError as error:
        raise BrokenEnvironment(str(error)) from error
    archive = jars.with_name(f"{jars.name}-jdk-{jdk}.jsa") if SpecifierSet(_ARCHIVING).contains(jdk) else None
    return Jars(release=release, needs=needs, java=java, jars=jars, formatted=formatted, archive=archive)


def _fetch(release: str, needs: Needs, folder: Path, say: Say) -> None:
    artifacts = needs.artifacts(release)
    say(f"fetching {' '.join(artifacts)}")
    try:
        copy_artifacts(artifacts, folder, with_dependencies=True)
    except NoSuchRelease as missing:
        raise WrongUsage(
            f"apache-kafka has no release {release}: the Maven repository has no {missing}; known are {', '.join(releases().numbers)}"
        ) from missing
    (folder / "log4j.properties").write_text(LOG4J, "utf-8")


def _format(java: str, jars: Path, needs: Needs, folder: Path, say: Say) -> None:
    """Let Kafka's own tool write the storage of a new node once: doing it for every run would cost a JVM each."""
    say(f"formatting the storage of {jars.name.rpartition('-')[0]}")
    with tempfile.TemporaryDirectory() as work:
        file = Path(work) / "server.properties"
        file.write_text(
            rendered({
                "process.roles": "broker,controller", "node.id": "1", "controller.quorum.voters": "1@127.0.0.1:1", "log.dirs": str(folder),
                "controller.listener.names": "CONTROLLER", "listeners": "PLAINTEXT://127.0.0.1:2,CONTROLLER://127.0.0.1:1",
            }), "utf-8",
        )  # fmt: skip
        argv = [*_jvm(java, jars, needs), "kafka.tools.StorageTool", "format", "-t", _new_id(), "-c", str(file)]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_FORMAT_S, check=False)
    if done.returncode != 0 or not (folder / _META).is_file():
        lines = (done.stdout + done.stderr).strip().splitlines()[-2:]
        raise ProvisionError(f"Kafka's StorageTool could not format a folder (status {done.returncode}): {' | '.join(lines)}")


def _adopt(formatted: Path, node: KafkaNode) -> None:
    """Give a node a copy of the formatted storage, under its own ids."""
    shutil.copytree(formatted, node.data, dirs_exist_ok=True)
    meta = node.data / _META
    own = {"node.id": str(node.node_id), "directory.id": _new_id()}
    lines = [_with_own(line, own) for line in meta.read_text("utf-8").splitlines() if not line.startswith("#")]
    meta.write_text("\n".join(lines) + "\n", "utf-8")


def _with_own(line: str, own: dict[str, str]) -> str:
    name, equals, _ = line.partition("=")
    return f"{name}={own[name]}" if equals and name in own else line


def _new_id() -> str:
    """Return a random UUID as Kafka writes them: base64, and without a leading hyphen, which its own tools would take for an option."""
    while (made := urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")).startswith("-"):
        pass
    return made


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:10]
