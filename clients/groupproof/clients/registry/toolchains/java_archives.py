"""Java: Maven copies jars into a folder, and the shim is compiled against them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from groupproof.clients.registry.install_cache import ProvisionError, Say, entry
from groupproof.clients.registry.registered_clients import RegisteredClient
from groupproof.clients.registry.toolchains.programs import NoSuchRelease, Tool, last_words, run
from groupproof.clients.registry.toolchains.toolchain import SHIMS, StartCommand, digest, refuse_other_runtimes

__all__ = ["JavaArchives", "compile_java", "copy_artifacts", "copy_pinned", "java_release", "java_tool"]

JDK_HINT: Final = "install a JDK 17 or later (Debian: apt-get install openjdk-17-jdk-headless), or name one in JAVA_HOME"

# A member's JVM lives for seconds and is one of many. A quick start and a small size matter more than speed.
JVM_OPTIONS: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx512m")

JAVA_LIBRARY: Final = SHIMS / "java" / "groupproof" / "src" / "main" / "java"
"""The sources of the shim library. They are compiled against the same release as the shim."""

MAVEN: Final = Tool(
    name="maven",
    program="mvn",
    needed_for="fetching releases of the Java client and of Apache Kafka",
    remedy="install Maven (Debian: apt-get install maven)",
)


class JavaArchives:
    """The toolchain for Java. A release is a folder of jars. The shim is compiled against it, or is a class in one of the jars."""

    def __init__(self) -> None:
        self.tools: tuple[Tool, ...] = (
            Tool(
                name="java",
                program="java",
                needed_for="the Java client and Apache Kafka",
                remedy=JDK_HINT,
                version=("-version",),
                find=lambda: _java_path("java"),
            ),
            Tool(
                name="javac",
                program="javac",
                needed_for="the Java client's shim",
                remedy=JDK_HINT,
                version=("-version",),
                find=lambda: _java_path("javac"),
            ),
            MAVEN,
        )

    def stem(self, client: RegisteredClient) -> str:
        return f"java/{str(client.package).partition(':')[2]}"

    def install(self, client: RegisteredClient, cache: Path, say: Say) -> Path:
        cure = "put such a JDK on PATH, or name it in JAVA_HOME"
        refuse_other_runtimes(client, running=java_release(), title="Java", cure=cure)
        pins = client.pins()

        def fetch(folder: Path) -> None:
            say(f"fetching {' '.join(pins)}")
            copy_artifacts(pins, folder, with_dependencies=client.environment.dependencies)

        return entry(cache, f"{self.stem(client)}-{client.release}-{digest(pins)}", fetch, say)

    def build(self, client: RegisteredClient, installed: Path, cache: Path, say: Say) -> Path:
        if not _is_source(client):
            return installed
        source = SHIMS / str(client.shim)

        def build(folder: Path) -> None:
            say(f"compiling the shim of {client}")
            compile_java(source, installed, folder)

        sources = sorted([*source.parent.glob("*.java"), *JAVA_LIBRARY.rglob("*.java")])
        recipe = digest([java_release(), source.name, *(path.read_text("utf-8") for path in sources), *client.pins()])
        return entry(cache, f"java/shim-{client.release}-{recipe}", build, say)

    def start(self, client: RegisteredClient, installed: Path, built: Path) -> StartCommand:
        path = os.pathsep.join([str(built), f"{installed}{os.sep}*"])
        main = Path(str(client.shim)).stem if _is_source(client) else str(client.shim)
        return StartCommand(argv=(java_tool("java"), *JVM_OPTIONS, "-cp", path, main))


def _is_source(client: RegisteredClient) -> bool:
    """Return whether the shim is a source file of this project. Otherwise it is a class in the client's jars."""
    return str(client.shim).endswith(".java")


def copy_artifacts(artifacts: Sequence[str], folder: Path, *, with_dependencies: bool = False) -> None:
    """Copy the jars of Maven coordinates `group:artifact:version` into `folder`. Raise `NoSuchRelease` or `ProvisionError`."""
    maven = MAVEN.required()
    pom = folder / "pom.xml"
    pom.write_text(_pom(artifacts, with_dependencies=with_dependencies), "utf-8")
    done = run([maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"])
    pom.unlink()
    if done.returncode == 0:
        return
    printed = done.stdout + done.stderr
    absent = re.search(r"(?:Could not find artifact|Failure to find) (\S+)", printed)
    if absent is not None:
        raise NoSuchRelease(absent[1])
    raise ProvisionError(f"{artifacts[0]} could not be fetched: {last_words(printed)}; is the Maven repository reachable?")


def copy_pinned(artifacts: Mapping[str, str], folder: Path) -> None:
    """Copy the jars of Maven coordinates, without dependencies, into `folder`. Each must have its pinned SHA-256.

    Raise `NoSuchRelease`, or `ProvisionError` if a jar differs from its pin.
    """
    copy_artifacts(list(artifacts), folder)
    for key, pinned in artifacts.items():
        _, name, version = key.split(":")
        jar = folder / f"{name}-{version}.jar"
        came = hashlib.sha256(jar.read_bytes()).hexdigest() if jar.is_file() else "no file"
        if came != pinned:
            raise ProvisionError(
                f"{key} is not the file that was pinned: its SHA-256 is {came}, not {pinned}; is the Maven repository a faithful one?"
            )


def compile_java(source: Path, jars: Path, classes: Path) -> None:
    """Compile a source file, with the neighbours and library sources that it uses, against the jars of a folder. Raise `ProvisionError`."""
    beside = ["-sourcepath", os.pathsep.join([str(source.parent), str(JAVA_LIBRARY)]), "-implicit:class"]
    done = run([java_tool("javac"), "-nowarn", "-proc:none", *beside, "-cp", f"{jars}{os.sep}*", "-d", str(classes), str(source)])
    if done.returncode != 0:
        raise ProvisionError(f"javac refused {source.name} with {jars.name}: {last_words(done.stderr)}")


def java_tool(name: str) -> str:
    """Return the path of `java` or `javac`. Raise `ProvisionError` if there is none."""
    path = _java_path(name)
    if path is None:
        raise ProvisionError(f"no {name} here: {JDK_HINT}")
    return path


def _java_path(name: str) -> str | None:
    home = os.environ.get("JAVA_HOME")
    at_home = shutil.which(name, path=str(Path(home) / "bin")) if home else None
    return at_home or shutil.which(name)


def java_release() -> str:
    """Return the release of `java`, such as `17.0.15`. Raise `ProvisionError` if there is none."""
    java = Path(java_tool("java"))
    described = java.resolve().parent.parent / "release"
    text = described.read_text("utf-8", "replace") if described.is_file() else run([str(java), "-version"]).stderr
    found = re.search(r'(?:JAVA_VERSION=|version )"(\d+(?:\.\d+)*)', text)
    if found is None:
        raise ProvisionError(f"{java} does not print its version: {JDK_HINT}")
    return found[1]


def _pom(artifacts: Sequence[str], *, with_dependencies: bool) -> str:
    """Return a project that depends on the artifacts. Without `with_dependencies` their own dependencies are excluded."""
    from xml.sax.saxutils import escape  # imported here because it loads an HTTP client

    everything = "" if with_dependencies else "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>{everything}</dependency>"
        for group, artifact, version in (escape(artifact).split(":") for artifact in artifacts)
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"<groupId>groupproof</groupId><artifactId>client</artifactId><version>1</version><dependencies>{dependencies}</dependencies></project>"
    )
