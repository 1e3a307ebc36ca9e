"""The newest release of a package, from the ordinary client of its registry: pip, npm, go, cargo or Maven, with their configured mirrors.

Pre-releases (alphas, candidates) do not count.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from groupproof.clients.registry.install_cache import ProvisionError
from groupproof.clients.registry.toolchains.by_language import TOOLCHAINS
from groupproof.clients.registry.toolchains.programs import last_words, run

__all__ = ["REGISTRIES", "newest_release"]

_UPDATES: Final = "org.codehaus.mojo:versions-maven-plugin:2.18.0:display-dependency-updates"
_NO_RELEASE: Final = r".*[-.](?i:alpha|beta|rc|m|cr|snapshot).*"
_POM: Final = (
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>a</artifactId><version>1</version>'
    "<dependencies><dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{release}</version></dependency></dependencies></project>"
)


def newest_release(language: str, package: str, *, registered: str) -> str | None:
    """Return the newest release of a package, or None if its language has no registry here. Raise `ProvisionError` if the registry fails.

    `registered` is a release that the registry has. Maven looks for newer ones.
    """
    ask = REGISTRIES.get(language)
    return None if ask is None else ask(package, registered)


def _pip(package: str, _: str) -> str:
    printed = _printed([sys.executable, "-m", "pip", "--disable-pip-version-check", "index", "versions", package])
    return _found(rf"^{re.escape(package)} \((\S+)\)", printed, package)


def _npm(package: str, _: str) -> str:
    return _found(r"^(\d\S*)$", _printed([_program("javascript", "npm"), "view", package, "version"]), package)


def _go(package: str, _: str) -> str:
    return _found(r"^v(\d\S*)", _printed([_program("go", "go"), "list", "-m", "-f", "{{.Version}}", f"{package}@latest"]), package)


def _cargo(package: str, _: str) -> str:
    return _found(r"^version: (\S+)", _printed([_program("rust", "cargo"), "info", package]), package)


def _maven(package: str, registered: str) -> str:
    group, artifact = package.split(":")
    with tempfile.TemporaryDirectory() as folder:
        pom, updates = Path(folder) / "pom.xml", Path(folder) / "updates"
        pom.write_text(_POM.format(group=group, artifact=artifact, release=registered), "utf-8")
        options = [f"-Dmaven.version.ignore={_NO_RELEASE}", f"-Dversions.outputFile={updates}"]
        _printed([_program("java", "mvn"), "-B", "-q", "-f", str(pom), _UPDATES, *options])
        newer = re.search(r"-> (\S+)", updates.read_text("utf-8"))
    return newer[1] if newer is not None else registered


def _program(language: str, name: str) -> str:
    return next(tool for tool in TOOLCHAINS[language].tools if tool.program == name).required()


def _printed(argv: list[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        done = run(argv, cwd=Path(folder))
    if done.returncode != 0:
        raise ProvisionError(f"the registry could not be asked: {last_words(done.stderr or done.stdout)}")
    return done.stdout


def _found(pattern: str, printed: str, package: str) -> str:
    found = re.search(pattern, printed, re.MULTILINE)
    if found is None:
        raise ProvisionError(f"the registry names no release of {package}: {last_words(printed)}")
    return found[1]


REGISTRIES: Final[Mapping[str, Callable[[str, str], str]]] = {"python": _pip, "javascript": _npm, "go": _go, "rust": _cargo, "java": _maven}
"""The registry client for each language. C has none: librdkafka comes in crates, wheels and Debian packages."""
