"""The programs that fill the cache, and how their failures read. Fakes on PATH stand for Maven and Java; the real ones run in test_provision.py."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path

import pytest

from groupproof.clients.registry.install_cache import ProvisionError
from groupproof.clients.registry.installers import NoSuchRelease, compile_java, copy_artifacts, copy_pinned, install_wheels, java_release, java_tool


def _program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH beside the system's shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return folder


def test_no_java_says_how_to_get_one(bin_folder: Path) -> None:
    assert bin_folder.is_dir()
    with pytest.raises(ProvisionError, match="no javac here: install a JDK 17 or later"):
        java_tool("javac")


def test_no_maven_says_how_to_get_it(bin_folder: Path, tmp_path: Path) -> None:
    assert bin_folder.is_dir()
    with pytest.raises(ProvisionError, match="no mvn on PATH: install Maven"):
        copy_artifacts(["g:a:1"], tmp_path)


def test_java_home_goes_before_the_path(bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path, at_home = _program(bin_folder / "java", "exit 0"), _program(tmp_path / "jdk" / "bin" / "java", "exit 0")
    assert java_tool("java") == str(on_path)

    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert java_tool("java") == str(at_home)


def test_the_release_of_java_is_read_from_its_home(bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bin_folder.is_dir()
    _program(tmp_path / "jdk" / "bin" / "java", "exit 1")
    (tmp_path / "jdk" / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="21.0.2"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    assert java_release() == "21.0.2"


def test_the_release_of_java_is_asked_of_it_where_no_file_tells(bin_folder: Path) -> None:
    _program(bin_folder / "java", """echo 'openjdk version "1.8.0_402"' >&2""")

    assert java_release() == "1.8.0"


def test_maven_is_asked_for_the_artifacts_alone(bin_folder: Path, tmp_path: Path) -> None:
    _program(bin_folder / "mvn", f'read -r line < "$4"; echo "$line" > {tmp_path}/seen')
    copy_artifacts(["org.x:y:1.2", "org.z:w:3"], tmp_path)

    pom = (tmp_path / "seen").read_text()
    assert "<groupId>org.x</groupId><artifactId>y</artifactId><version>1.2</version><exclusions>" in pom
    assert "<artifactId>w</artifactId>" in pom
    assert not (tmp_path / "pom.xml").exists()


def test_maven_is_asked_for_what_the_artifacts_depend_on_where_that_is_wanted(bin_folder: Path, tmp_path: Path) -> None:
    _program(bin_folder / "mvn", f'read -r line < "$4"; echo "$line" > {tmp_path}/seen')
    copy_artifacts(["org.x:y:1.2"], tmp_path, with_dependencies=True)

    pom = (tmp_path / "seen").read_text()
    assert "<artifactId>y</artifactId>" in pom
    assert "exclusion" not in pom


def test_an_artifact_that_maven_cannot_find_is_no_such_release(bin_folder: Path, tmp_path: Path) -> None:
    _program(bin_folder / "mvn", "echo '[ERROR] Could not find artifact org.x:y:jar:9.9 in central'; exit 1")

    with pytest.raises(NoSuchRelease, match=r"org\.x:y:jar:9\.9"):
        copy_artifacts(["org.x:y:9.9"], tmp_path)


def test_maven_without_a_network_is_the_environments_fault(bin_folder: Path, tmp_path: Path) -> None:
    _program(bin_folder / "mvn", "echo '[ERROR] Could not transfer artifact org.x:y: Connection refused'; exit 1")

    with pytest.raises(ProvisionError, match=r"org\.x:y:1 could not be fetched: .*Connection refused.*reachable"):
        copy_artifacts(["org.x:y:1"], tmp_path)


def test_a_source_that_javac_refuses_is_told_with_its_first_error(bin_folder: Path, tmp_path: Path) -> None:
    _program(bin_folder / "javac", "echo 'Shim.java:3: error: cannot find symbol' >&2; exit 1")

    with pytest.raises(ProvisionError, match=r"javac refused Shim\.java with jars: .*cannot find symbol"):
        compile_java(tmp_path / "Shim.java", tmp_path / "jars", tmp_path)


def _fake_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    monkeypatch.setattr(sys, "executable", str(_program(tmp_path / "python", script)))


def test_a_release_that_the_index_does_not_have_is_told_with_those_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "ERROR: Could not find a version that satisfies the requirement x==9 (from versions: 1.0, 2.0)\nERROR: No matching distribution found for x==9"
    _fake_pip(monkeypatch, tmp_path, f"printf '%s\\n' '{said}' >&2; exit 1")

    with pytest.raises(NoSuchRelease, match="x==9") as caught:
        install_wheels(["x==9"], tmp_path / "site")
    assert caught.value.offered == ("1.0", "2.0")


def test_an_index_that_offers_nothing_at_all_is_the_environments_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "ERROR: Could not find a version that satisfies the requirement x==9 (from versions: none)\nERROR: No matching distribution found for x==9"
    _fake_pip(monkeypatch, tmp_path, f"printf '%s\\n' '{said}' >&2; exit 1")

    with pytest.raises(ProvisionError, match=r"x==9 could not be installed: .*from versions: none.*reachable"):
        install_wheels(["x==9"], tmp_path / "site")


def test_pip_is_told_to_take_wheels_alone_and_no_dependencies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_pip(monkeypatch, tmp_path, f'echo "$PIP_USER $*" > {tmp_path}/seen')
    install_wheels(["x==1", "y==2"], tmp_path / "site")

    seen = (tmp_path / "seen").read_text().split()
    assert seen[:3] == ["0", "-m", "pip"]
    assert seen[-2:] == ["x==1", "y==2"]
    assert {"--no-deps", "--only-binary", "--target"} <= set(seen)


def test_uv_installs_where_there_is_no_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_pip(monkeypatch, tmp_path, "exit 1")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    _program(tmp_path / "uv", f'echo "$*" > {tmp_path}/seen')
    install_wheels(["x==1"], tmp_path / "site")

    assert (tmp_path / "seen").read_text().startswith(f"--quiet pip install --python {tmp_path}/python --target")


def test_neither_pip_nor_uv_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_pip(monkeypatch, tmp_path, "exit 1")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", "")

    with pytest.raises(ProvisionError, match="neither pip nor uv is there"):
        install_wheels(["x==1"], tmp_path / "site")


def test_a_jar_that_is_not_the_one_that_was_pinned_is_refused_with_both_hashes(bin_folder: Path, tmp_path: Path) -> None:
    _program(bin_folder / "mvn", f"printf jar > {tmp_path}/a-1.jar")
    pinned = hashlib.sha256(b"jar").hexdigest()

    copy_pinned({"g:a:1": pinned}, tmp_path)
    with pytest.raises(ProvisionError, match=rf"g:a:1 is not the file that was pinned: its SHA-256 is {pinned}, not 00"):
        copy_pinned({"g:a:1": "00"}, tmp_path)
    with pytest.raises(ProvisionError, match="g:b:1 is not the file that was pinned: its SHA-256 is no file"):
        copy_pinned({"g:b:1": pinned}, tmp_path)
