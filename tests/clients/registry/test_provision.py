"""From a registered client to a command line: what is started, and which errors are whose."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.project import ROOT

from groupproof.clients.registry.provision import Launch, ProvisionError, level0_arguments, provision
from groupproof.clients.registry.registered_clients import UnknownClient, WrongPairing, resolve
from groupproof.clients.registry.toolchains import java_archives, python_wheels
from groupproof.clients.registry.toolchains.programs import NoSuchRelease
from groupproof.clients.registry.toolchains.toolchain import SHIMS
from groupproof.clients.shims import reference

SUBSCRIBE = {
    "bootstrap": "h:1,h:2", "group": "g", "topics": ["t", "u"], "client_id": "m0", "instance_id": None, "assignors": ["range", "roundrobin"],
    "session_timeout_ms": 6000, "auto_commit": False, "auto_offset_reset": "earliest", "heartbeat_interval_ms": 300,
}  # fmt: skip


def _installing(monkeypatch: pytest.MonkeyPatch, *, offered: tuple[str, ...] | None = None) -> list[list[str]]:
    """Let an installation leave a file, or the registry answer that there is no such release; return what was asked for."""
    asked: list[list[str]] = []

    def install(requires: tuple[str, ...], folder: Path, **_kept: object) -> None:
        asked.append(list(requires))
        if offered is not None:
            raise NoSuchRelease(requires[0], offered)
        (folder / "installed").write_text("")

    monkeypatch.setattr(python_wheels, "install_wheels", install)
    return asked


def test_a_python_client_runs_under_the_kits_interpreter_without_the_kits_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _installing(monkeypatch)
    launch = provision(resolve("kafka-python@2.2.3"), tmp_path, print)

    assert launch.argv[:2] == (sys.executable, "-S")
    assert launch.argv[2].endswith("clients/groupproof/clients/shims/python/kafka_python_shim.py")
    assert (Path(launch.env["PYTHONPATH"]) / "installed").exists()
    assert (launch.level, launch.multi, launch.members_max) == (1, True, 24)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="absent: a Python that aiokafka 0.8.1 runs on")
def test_a_release_is_installed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _installing(monkeypatch)
    lines: list[str] = []
    first, second = (provision(resolve("aiokafka@0.8.1"), tmp_path, lines.append) for _ in range(2))

    assert first == second
    assert [item[:2] for item in asked] == [["aiokafka==0.8.1", "kafka-python==2.0.2"]]
    assert lines == ["installing " + " ".join(asked[0])]


def test_two_releases_do_not_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _installing(monkeypatch)
    folders = {provision(resolve(f"kafka-python@{release}"), tmp_path, print).env["PYTHONPATH"] for release in ("2.2.3", "2.2.4")}

    assert len(folders) == 2


def test_a_release_that_needs_another_python_is_a_wrong_pairing(tmp_path: Path) -> None:
    with pytest.raises(WrongPairing, match=r"aiokafka@0\.7\.1 needs Python <3\.10,>=3\.8, this is 3"):
        provision(resolve("aiokafka@0.7.1"), tmp_path, print)


def test_a_release_that_does_not_exist_is_answered_with_its_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _installing(monkeypatch, offered=("3.0.11", "3.0.12"))

    with pytest.raises(
        UnknownClient, match=r"kafka-python has no release 3\.0\.3; the nearest known are 3\.0\.1, 3\.0\.2, 3\.0\.4, 3\.0\.5; the reg"
    ):
        provision(resolve("kafka-python@3.0.3"), tmp_path, print)


def test_a_listed_release_that_is_not_available_is_the_environments_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _installing(monkeypatch, offered=("1.0",))

    with pytest.raises(ProvisionError, match="is not available here"):
        provision(resolve("kafka-python@2.2.3"), tmp_path, print)


def test_a_java_client_without_java_is_the_environments_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)

    with pytest.raises(ProvisionError, match="no java here: install a JDK 17 or later"):
        provision(resolve("java"), tmp_path, print)


def test_a_java_client_with_an_old_java_is_a_wrong_pairing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java_archives, "java_release", lambda: "11.0.2")

    with pytest.raises(WrongPairing, match=r"java@4\.4\.0 needs Java >=17, this is 11\.0\.2"):
        provision(resolve("java"), tmp_path, print)


def test_a_changed_java_shim_is_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Path] = []
    monkeypatch.setattr(java_archives, "java_release", lambda: "17.0.1")
    monkeypatch.setattr(java_archives, "java_tool", lambda name: f"/jdk/{name}")
    monkeypatch.setattr(java_archives, "copy_artifacts", lambda _artifacts, folder, **_kept: (folder / "x.jar").write_text(""))
    monkeypatch.setattr(java_archives, "compile_java", lambda source, _jars, _classes: compiled.append(source))
    monkeypatch.setattr(java_archives, "SHIMS", tmp_path / "shims")
    source = tmp_path / "shims" / "java" / "Shim.java"
    source.parent.mkdir(parents=True)
    launches: list[Launch] = []
    for text in ("first", "first", "second"):
        source.write_text(text)
        launches.append(provision(resolve("java@2.2.2"), tmp_path, print))

    assert compiled == [source, source]
    assert launches[0] == launches[1] != launches[2]
    assert launches[0].argv[-1] == "Shim"


def test_the_reference_member_runs_from_wherever_the_kit_is() -> None:
    launch = provision(resolve("groupproof"), Path("nowhere"), print)
    found = "from importlib.util import find_spec; print(find_spec('groupproof.clients.shims.reference').origin)"
    printed = subprocess.run([launch.argv[0], "-c", found], env={**os.environ, **launch.env}, cwd="/", capture_output=True, text=True, check=True)

    assert launch.argv[1:] == ("-m", "groupproof.clients.shims.reference")
    assert Path(printed.stdout.strip()).samefile(Path(str(reference.__file__)))


def test_level_0_gets_the_fields_of_subscribe_as_its_own_options() -> None:
    made = level0_arguments(resolve("verifiable-confluent").arguments, SUBSCRIBE)

    assert made[:10] == ["--topic", "t", "--topic", "u", "--broker-list", "h:1,h:2", "--group-id", "g", "--session-timeout", "6000"]
    assert ("--assignment-strategy", "range,roundrobin") in itertools.pairwise(made)
    assert made[-2:] == ["-X", "conf_heartbeat.interval.ms=300"]
    assert "--group-instance-id" not in made
    assert "--enable-autocommit" not in made


def test_level_0_gets_a_flag_without_a_value() -> None:
    made = level0_arguments(resolve("verifiable-confluent").arguments, {"auto_commit": True, "instance_id": "i-0"})

    assert made == ["--group-instance-id", "i-0", "--enable-autocommit"]


def test_everything_a_shim_needs_at_run_time_ships_with_the_package() -> None:
    packed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]

    assert "clients/groupproof" in packed
    assert SHIMS.is_relative_to(ROOT / "clients" / "groupproof")
    for name in ("kafka-python", "aiokafka", "confluent-kafka", "verifiable-confluent", "java"):
        assert (SHIMS / str(resolve(name).shim)).is_file()


@pytest.mark.network
@pytest.mark.slow
def test_a_client_is_installed_from_its_registry_and_can_be_imported(tmp_path: Path) -> None:
    try:
        launch = provision(resolve("kafka-python@2.2.3"), tmp_path, print)
    except ProvisionError as unreachable:
        pytest.skip(str(unreachable))
    printed = subprocess.run(
        [*launch.argv[:2], "-c", "import kafka; print(kafka.__version__)"],
        env={**os.environ, **launch.env}, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert printed.stdout.strip() == "2.2.3"
    with pytest.raises(UnknownClient, match=r"kafka-python has no release 99\.0"):
        provision(resolve("kafka-python@99.0"), tmp_path, print)
