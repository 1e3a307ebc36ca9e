"""Spark's Kafka connector: its jars from the Maven repository, in the cache, each with a pinned hash."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from groupproof.clients.registry.install_cache import ProvisionError, Say, entry
from groupproof.clients.registry.toolchains.java_archives import copy_artifacts
from groupproof.clients.registry.toolchains.programs import NoSuchRelease
from groupproof.harness.model.errors import BrokenEnvironment

__all__ = ["Connector", "Jar", "connector", "connector_jars", "fetched_connector"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Jar:
    """One jar: Maven coordinates `group:artifact:version`, and the SHA-256 of the file."""

    artifact: str
    sha256: str

    @property
    def file(self) -> str:
        _, name, version = self.artifact.split(":")
        return f"{name}-{version}.jar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Connector:
    """A set of jars that work together, and its minor release of PySpark."""

    pyspark: str
    jars: tuple[Jar, ...]

    @property
    def key(self) -> str:
        """Return the name of the jars' cache entry. It changes with the pinned jars."""
        pinned = "\n".join(f"{jar.artifact} {jar.sha256}" for jar in self.jars)
        return f"java/spark-kafka-{self.release}-{hashlib.sha256(pinned.encode()).hexdigest()[:10]}"

    @property
    def release(self) -> str:
        return self.jars[0].artifact.rpartition(":")[2]

    def __str__(self) -> str:
        return ", ".join(jar.file.removesuffix(".jar") for jar in self.jars)


@cache
def connector() -> Connector:
    """Return the pinned connector."""
    table = tomllib.loads((files("groupproof.harness") / "spark_connector.toml").read_text("utf-8"))
    return Connector(pyspark=table["pyspark"], jars=tuple(Jar(**item) for item in table["jar"]))


def fetched_connector(cache: Path) -> Path | None:
    """Return the folder of the jars if they are already in the cache, else None."""
    folder = cache / connector().key
    return folder if folder.is_dir() else None


def connector_jars(cache: Path, say: Say = lambda _: None, *, pinned: Connector | None = None) -> tuple[Path, ...]:
    """Return the connector's jars, fetched into the cache if needed. Raise `BrokenEnvironment` where they cannot be fetched, or their hashes
    differ."""
    wanted = pinned or connector()
    try:
        folder = entry(cache, wanted.key, lambda into: _fetch(wanted, into, say), say)
    except ProvisionError as error:
        raise BrokenEnvironment(str(error)) from error
    return tuple(folder / jar.file for jar in wanted.jars)


def _fetch(wanted: Connector, folder: Path, say: Say) -> None:
    artifacts = [jar.artifact for jar in wanted.jars]
    say(f"fetching {' '.join(artifacts)}")
    try:
        copy_artifacts(artifacts, folder)
    except NoSuchRelease as missing:
        raise ProvisionError(f"the Maven repository has no {missing}, which Spark's Kafka connector needs") from missing
    for jar in wanted.jars:
        digest = hashlib.sha256((folder / jar.file).read_bytes()).hexdigest()
        if digest != jar.sha256:
            raise ProvisionError(
                f"{jar.artifact} is not the jar that is pinned: its SHA-256 is {digest}, not {jar.sha256}; ask who runs the Maven repository"
            )
