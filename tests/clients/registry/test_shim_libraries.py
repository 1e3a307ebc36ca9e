"""Each library is a package of its language, in the project's own release, and names Kafka's errors as the contract does."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

import pytest
from groupproof_shim import ERROR_NAMES as python_names

from groupproof.clients.registry.shim_libraries import LIBRARIES
from groupproof.protocol.vocabulary import ErrorCode

NODE, JAVA, PYTHON = (LIBRARIES[language] for language in ("node", "java", "python"))
POM = "{http://maven.apache.org/POM/4.0.0}"


def _node_names() -> dict[int, str]:
    table = re.search(r"ERROR_NAMES = \{(.*?)\n\}", (NODE / "problems.mjs").read_text("utf-8"), re.S)
    assert table is not None
    return {int(code): name for code, name in re.findall(r"'?(-?\d+)'?: '([A-Z_]+)'", table[1])}


def _go_names() -> dict[int, str]:
    table = (LIBRARIES["go"] / "shim" / "errors.go").read_text("utf-8").partition("codeNames = map")[2]
    return {int(code): name for code, name in re.findall(r'(-?\d+): "([A-Z_]+)"', table)}


def _rust_names() -> dict[int, str]:
    table = (LIBRARIES["rust"] / "src" / "problem.rs").read_text("utf-8").partition("const NAMES")[2].partition("];")[0]
    return {int(code): name for code, name in re.findall(r'\((-?\d+), "([A-Z_]+)"\)', table)}


def _c_names() -> dict[int, str]:
    table = (LIBRARIES["c"] / "values.c").read_text("utf-8").partition("names[] = {")[2].partition("};")[0]
    return {int(code): name for code, name in re.findall(r'\{(-?\d+), "([A-Z_]+)"\}', table)}


ERROR_NAMES = {"c": _c_names(), "go": _go_names(), "node": _node_names(), "python": python_names, "rust": _rust_names()}


@pytest.mark.parametrize("language", LIBRARIES)
def test_a_library_says_what_it_is(language: str) -> None:
    assert (LIBRARIES[language] / "README.md").read_text("utf-8").startswith("# groupproof for ")


def test_the_node_library_is_a_package_of_the_projects_release() -> None:
    package = json.loads((NODE / "package.json").read_text("utf-8"))

    assert (package["name"], package["version"]) == ("groupproof", version("groupproof"))
    assert [target for target in package["exports"].values() if not (NODE / target).is_file()] == []


def test_the_java_library_is_an_artifact_of_the_projects_release() -> None:
    project = ElementTree.parse(JAVA / "pom.xml").getroot()

    assert [project.findtext(f"{POM}{name}") for name in ("groupId", "artifactId", "version")] == ["groupproof", "groupproof", version("groupproof")]


def test_the_python_library_is_a_distribution_of_the_projects_release() -> None:
    project = tomllib.loads((PYTHON / "pyproject.toml").read_text("utf-8"))["project"]

    assert (project["name"], project["version"]) == ("groupproof-shim", version("groupproof"))
    assert "dependencies" not in project


@pytest.mark.soak
@pytest.mark.java
@pytest.mark.network
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("mvn") is None, reason="absent: mvn")
def test_the_java_library_passes_its_own_tests(tmp_path: Path) -> None:
    shutil.copytree(JAVA, tmp_path / "library", ignore=shutil.ignore_patterns("target"))
    ran = subprocess.run(["mvn", "-B", "test"], cwd=tmp_path / "library", capture_output=True, text=True, check=False, timeout=900)

    assert ran.returncode == 0, ran.stdout
    tests = sum(path.read_text("utf-8").count("@Test\n") for path in (JAVA / "src" / "test").rglob("*Test.java"))
    assert f"Tests run: {tests}, Failures: 0, Errors: 0, Skipped: 0" in ran.stdout


@pytest.mark.parametrize("language", ERROR_NAMES)
def test_an_error_code_has_kafkas_name(language: str) -> None:
    assert ERROR_NAMES[language] == {code.value: code.name for code in ErrorCode if code.value != 0}
