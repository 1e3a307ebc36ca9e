"""Jars by Maven, and a shim compiled against them. Fakes on PATH stand for Maven and Java; the real ones run in the tests of the shims."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from tests.clients.registry.toolchains.fake_programs import fake_program

from groupproof.clients.registry.install_cache import ProvisionError
from groupproof.clients.registry.registered_clients import resolve
from groupproof.clients.registry.toolchains.java_archives import JavaArchives, compile_java, copy_artifacts, copy_pinned, java_release, java_tool
from groupproof.clients.registry.toolchains.programs import NoSuchRelease


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
    with pytest.raises(ProvisionError, match="no mvn here: install Maven"):
        copy_artifacts(["g:a:1"], tmp_path)


def test_java_home_goes_before_the_path(bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path, at_home = fake_program(bin_folder / "java", "exit 0"), fake_program(tmp_path / "jdk" / "bin" / "java", "exit 0")
    assert java_tool("java") == str(on_path)

    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    assert java_tool("java") == str(at_home)


def test_the_release_of_java_is_read_from_its_home(bin_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bin_folder.is_dir()
    fake_program(tmp_path / "jdk" / "bin" / "java", "exit 1")
    (tmp_path / "jdk" / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="21.0.2"\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    assert java_release() == "21.0.2"


def test_java_is_asked_for_its_release_if_no_file_has_it(bin_folder: Path) -> None:
    fake_program(bin_folder / "java", """echo 'openjdk version "1.8.0_402"' >&2""")

    assert java_release() == "1.8.0"


def test_maven_is_asked_for_the_artifacts_alone(bin_folder: Path, tmp_path: Path) -> None:
    fake_program(bin_folder / "mvn", f'read -r line < "$4"; echo "$line" > {tmp_path}/seen')
    copy_artifacts(["org.x:y:1.2", "org.z:w:3"], tmp_path)

    pom = (tmp_path / "seen").read_text()
    assert "<groupId>org.x</groupId><artifactId>y</artifactId><version>1.2</version><exclusions>" in pom
    assert "<artifactId>w</artifactId>" in pom
    assert not (tmp_path / "pom.xml").exists()


def test_maven_is_asked_for_what_the_artifacts_depend_on_where_that_is_wanted(bin_folder: Path, tmp_path: Path) -> None:
    fake_program(bin_folder / "mvn", f'read -r line < "$4"; echo "$line" > {tmp_path}/seen')
    copy_artifacts(["org.x:y:1.2"], tmp_path, with_dependencies=True)

    pom = (tmp_path / "seen").read_text()
    assert "<artifactId>y</artifactId>" in pom
    assert "exclusion" not in pom


def test_an_artifact_that_maven_cannot_find_is_no_such_release(bin_folder: Path, tmp_path: Path) -> None:
    fake_program(bin_folder / "mvn", "echo '[ERROR] Could not find artifact org.x:y:jar:9.9 in central'; exit 1")

    with pytest.raises(NoSuchRelease, match=r"org\.x:y:jar:9\.9"):
        copy_artifacts(["org.x:y:9.9"], tmp_path)


def test_maven_without_a_network_is_the_environments_fault(bin_folder: Path, tmp_path: Path) -> None:
    fake_program(bin_folder / "mvn", "echo '[ERROR] Could not transfer artifact org.x:y: Connection refused'; exit 1")

    with pytest.raises(ProvisionError, match=r"org\.x:y:1 could not be fetched: .*Connection refused.*reachable"):
        copy_artifacts(["org.x:y:1"], tmp_path)


def test_a_source_that_javac_refuses_is_reported_with_its_first_error(bin_folder: Path, tmp_path: Path) -> None:
    fake_program(bin_folder / "javac", "echo 'Shim.java:3: error: cannot find symbol' >&2; exit 1")

    with pytest.raises(ProvisionError, match=r"javac refused Shim\.java with jars: .*cannot find symbol"):
        compile_java(tmp_path / "Shim.java", tmp_path / "jars", tmp_path)


@pytest.fixture
def calls(bin_folder: Path, tmp_path: Path) -> Path:
    """Put a Java 17 and a Maven on PATH; return what they were asked."""
    fake_program(bin_folder / "java", """echo 'openjdk version "17.0.15"' >&2""")
    fake_program(bin_folder / "javac", f'echo "$*" >> {tmp_path}/seen')
    fake_program(bin_folder / "mvn", f'read -r line < "$4"; echo "$line" >> {tmp_path}/seen')
    return tmp_path / "seen"


def _argv(subject: str, cache: Path, **changed: str) -> tuple[str, ...]:
    client, toolchain = replace(resolve(subject), **changed), JavaArchives()  # type: ignore[arg-type] # only texts are changed
    installed = toolchain.install(client, cache, print)
    return toolchain.start(client, installed, toolchain.build(client, installed, cache, print)).argv


def test_a_program_that_the_jars_bring_is_started_as_it_is(calls: Path, tmp_path: Path) -> None:
    argv = _argv("java@3.9.1", tmp_path, shim="org.apache.kafka.tools.VerifiableConsumer")

    assert argv[-1] == "org.apache.kafka.tools.VerifiableConsumer"
    assert "/java/kafka-clients-3.9.1-" in argv[-2]
    assert "-sourcepath" not in calls.read_text()


def test_a_framework_comes_with_what_it_asks_for_itself_and_the_client_alone(calls: Path, tmp_path: Path) -> None:
    argv = _argv("spring-kafka@4.1.2", tmp_path)
    _argv("java@4.1.1", tmp_path)

    assert argv[-1] == "SpringShim"
    framework, shim, client = calls.read_text().splitlines()[:3]
    assert "exclusion" not in framework
    assert "/SpringShim.java" in shim
    assert "exclusion" in client


def test_a_jar_that_is_not_the_one_that_was_pinned_is_refused_with_both_hashes(bin_folder: Path, tmp_path: Path) -> None:
    fake_program(bin_folder / "mvn", f"printf jar > {tmp_path}/a-1.jar")
    pinned = hashlib.sha256(b"jar").hexdigest()

    copy_pinned({"g:a:1": pinned}, tmp_path)
    with pytest.raises(ProvisionError, match=rf"g:a:1 is not the file that was pinned: its SHA-256 is {pinned}, not 00"):
        copy_pinned({"g:a:1": "00"}, tmp_path)
    with pytest.raises(ProvisionError, match="g:b:1 is not the file that was pinned: its SHA-256 is no file"):
        copy_pinned({"g:b:1": pinned}, tmp_path)


def test_the_shim_of_each_framework_is_compiled_against_what_it_was_published_with(calls: Path, tmp_path: Path) -> None:
    argv = _argv("reactor-kafka@1.3.25", tmp_path)

    assert argv[-1] == "ReactorShim"
    framework, shim = calls.read_text().splitlines()[:2]
    assert "exclusion" not in framework
    assert "/ReactorShim.java" in shim
