"""The Rust shims: the library by its own tests under cargo, and each client, built by its name, put through `shim check` and a case."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.harness.commands.calling import called
from tests.project import ROOT

from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.registry.provision import ProvisionError, provision
from groupproof.clients.registry.registered_clients import resolve
from groupproof.clients.registry.shim_libraries import LIBRARIES
from groupproof.clients.registry.toolchains.toolchain import SHIMS

RUST = SHIMS / "rust"
LIBRARY = LIBRARIES["rust"]
CLIENTS = {"rust-rdkafka": "rdkafka", "krafka": "krafka"}

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="absent: cargo")


def _run(*argv: str, cwd: Path = RUST) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CARGO_TARGET_DIR": str(default_cache() / "rust" / "compiled-tests")}
    return subprocess.run(argv, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=900)


@needs_cargo
def test_the_shims_and_the_pages_shim_are_formatted() -> None:
    sources = [path for folder in (RUST, ROOT / "examples/shims/rust") for path in folder.rglob("*.rs") if "target" not in path.parts]

    assert len(sources) > 10
    assert _run("rustfmt", "--check", "--edition", "2021", *map(str, sources)).stdout == ""


def _program(name: str) -> str:
    try:
        return provision(resolve(name), default_cache(), print).argv[0]
    except ProvisionError as missing:
        pytest.skip(str(missing))


def _locked(text: str, crate: str) -> str:
    found = re.search(rf'^name = "{crate}"\nversion = "([^"]+)"\nsource', text, re.M)
    assert found is not None
    return found[1]


@needs_cargo
@pytest.mark.network
@pytest.mark.slow
def test_the_library_passes_its_own_tests() -> None:
    ran = _run("cargo", "test", "--locked", "--package", "groupproof", "--package", "groupproof-testing")
    counted = [
        sum(path.read_text("utf-8").count("#[test]") for path in folder.glob("*.rs")) for folder in (LIBRARY / "src", LIBRARY / "testing" / "src")
    ]

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert [f"test result: ok. {count} passed" in ran.stdout for count in counted] == [True, True]


@pytest.mark.parametrize(("name", "crate"), CLIENTS.items())
def test_each_listed_release_has_a_lock_file_of_its_own(name: str, crate: str) -> None:
    listed = resolve(name).releases
    locks = {release: (RUST / "locks" / f"{name}-{release}.lock").read_text("utf-8") for release in listed}

    assert {release: _locked(lock, crate) for release, lock in locks.items()} == {release: release for release in listed}


def test_the_workspace_of_the_shims_has_the_newest_release_of_each_client() -> None:
    lock = (RUST / "Cargo.lock").read_text("utf-8")

    assert {name: _locked(lock, crate) for name, crate in CLIENTS.items()} == {name: resolve(name).release for name in CLIENTS}


# A client is compiled for minutes where the cache has it not.
@needs_cargo
@pytest.mark.network
@pytest.mark.soak
@pytest.mark.parametrize("name", CLIENTS)
def test_shim_check_finds_no_problem(name: str) -> None:
    checked = called("shim", "check", "--", _program(name))

    assert checked.out.endswith("no problem found\n"), checked.out + checked.err


@needs_cargo
@pytest.mark.network
@pytest.mark.soak
@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_is_certified_by_its_name(name: str, tmp_path: Path) -> None:
    client = resolve(name)
    _program(name)
    certified = called("certify", "client", name, "--only", "leave/classic/unknown-member-id", "--output", str(tmp_path))
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))

    assert [case["verdict"] for case in report["cases"]] == ["OK"], certified.err
    assert (report["subject"]["name"], report["subject"]["version"], report["subject"]["language"]) == (name, client.release, "rust")
