"""The ordinary clients of the package registries, and the Java compiler: what fills an entry of the cache.

Each call runs one program, bounded in time, and turns its failure into one line that says what was met and what to do.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from groupproof.clients.registry.install_cache import ProvisionError

__all__ = ["NoSuchRelease", "compile_java", "copy_artifacts", "copy_pinned", "install_wheels", "java_release", "java_tool"]

INSTALL_S_MAX = 600
"""How long one installation may take."""

JDK_HINT = "install a JDK 17 or later (Debian: apt-get install openjdk-17-jdk-headless), or name one in JAVA_HOME"


class NoSuchRelease(Exception):
    """The package registry answered, and it has no such release; `offered` are those it named."""

    def __init__(self, wanted: str, offered: Sequence[str] = ()) -> None:
        super().__init__(wanted)
        self.offered = tuple(offered)


def install_wheels(requires: Sequence[str], folder: Path) -> None:
    """Install pinned requirements into `folder` without their dependencies; raise `NoSuchRelease` or `ProvisionError`."""
    done = _run([*_pip(), "--target", str(folder), "--no-deps", "--only-binary", ":all:", *requires], env={"PIP_USER": "0"})
    if done.returncode == 0:
        return
    missing = re.search(r"No matching distribution found for (\S+)|no version of (\S+)", done.stderr)
    offered = re.search(r"\(from versions: ([^)]*)\)", done.stderr)
    listed = [] if offered is None or offered[1] == "none" else offered[1].split(", ")
    if missing is not None and (listed or missing[2]):
        raise NoSuchRelease(missing[1] or missing[2], listed)
    raise ProvisionError(f"{' '.join(requires)} could not be installed: {_last_words(done.stderr)}; is the package index reachable?")


def copy_artifacts(artifacts: Sequence[str], folder: Path, *, with_dependencies: bool = False) -> None:
    """Copy the jars of Maven coordinates `group:artifact:version` into `folder`; raise `NoSuchRelease` or `ProvisionError`."""
    maven = shutil.which("mvn")
    if maven is None:
        raise ProvisionError("no mvn on PATH: install Maven (Debian: apt-get install maven); Kafka's Java client and its brokers come by it")
    pom = folder / "pom.xml"
    pom.write_text(_pom(artifacts, with_dependencies=with_dependencies), "utf-8")
    done = _run([maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"])
    pom.unlink()
    if done.returncode == 0:
        return
    said = done.stdout + done.stderr
    absent = re.search(r"(?:Could not find artifact|Failure to find) (\S+)", said)
    if absent is not None:
        raise NoSuchRelease(absent[1])
    raise ProvisionError(f"{artifacts[0]} could not be fetched: {_last_words(said)}; is the Maven repository reachable?")


def copy_pinned(artifacts: Mapping[str, str], folder: Path) -> None:
    """Copy the jars of Maven coordinates, and nothing that they depend on, into `folder`; each must have the SHA-256 that stands behind it.

    Raises `NoSuchRelease`, or `ProvisionError` where what came is another file than the one that was pinned.
    """
    copy_artifacts(list(artifacts), folder)
    for each, pinned in artifacts.items():
        _, name, version = each.split(":")
        jar = folder / f"{name}-{version}.jar"
        came = hashlib.sha256(jar.read_bytes()).hexdigest() if jar.is_file() else "no file"
        if came != pinned:
            raise ProvisionError(
                f"{each} is not the file that was pinned: its SHA-256 is {came}, not {pinned}; is the Maven repository a faithful one?"
            )


def compile_java(source: Path, jars: Path, classes: Path) -> None:
    """Compile one source file against the jars of a folder; raise `ProvisionError`."""
    done = _run([java_tool("javac"), "-nowarn", "-proc:none", "-cp", f"{jars}{os.sep}*", "-d", str(classes), str(source)])
    if done.returncode != 0:
        raise ProvisionError(f"javac refused {source.name} with {jars.name}: {_last_words(done.stderr)}")


def java_tool(name: str) -> str:
    """Return the path of `java` or `javac`; raise `ProvisionError` where there is none."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=str(Path(home) / "bin")) if home else None
    found = found or shutil.which(name)
    if found is None:
        raise ProvisionError(f"no {name} here: {JDK_HINT}")
    return found


def java_release() -> str:
    """Return the release of `java`, such as `17.0.15`; raise `ProvisionError` where there is none."""
    java = Path(java_tool("java"))
    described = java.resolve().parent.parent / "release"
    said = described.read_text("utf-8", "replace") if described.is_file() else _run([str(java), "-version"]).stderr
    found = re.search(r'(?:JAVA_VERSION=|version )"(\d+(?:\.\d+)*)', said)
    if found is None:
        raise ProvisionError(f"{java} does not tell its version: {JDK_HINT}")
    return found[1]


def _pip() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--no-input", "--no-compile"]
    beside = str(Path(sys.executable).parent)
    uv = shutil.which("uv", path=os.pathsep.join([beside, os.environ.get("PATH", "")]))
    if uv is None:
        raise ProvisionError(f"neither pip nor uv is there to install a client: {sys.executable} -m ensurepip brings pip")
    return [uv, "--quiet", "pip", "install", "--python", sys.executable]


def _pom(artifacts: Sequence[str], *, with_dependencies: bool) -> str:
    """Return a project that depends on the artifacts, and without `with_dependencies` on nothing that they depend on."""
    everything = "" if with_dependencies else "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>{everything}</dependency>"
        for group, artifact, version in (escape(each).split(":") for each in artifacts)
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"<groupId>groupproof</groupId><artifactId>client</artifactId><version>1</version><dependencies>{dependencies}</dependencies></project>"
    )


def _run(argv: Sequence[str], env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            argv, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=INSTALL_S_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        raise ProvisionError(f"{Path(argv[0]).name} took longer than {INSTALL_S_MAX} s: {' '.join(argv[1:4])} …") from None


def _last_words(said: str) -> str:
    """Return the first line that tells an error, or the last line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()] or ["nothing was said"]
    return next((line for line in lines if line.lstrip("[").upper().startswith("ERROR")), lines[-1])[:300]
