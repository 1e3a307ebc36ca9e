"""Wheels by pip or uv. Fakes stand for both; the real ones run in test_provision.py."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from tests.clients.registry.toolchains.fake_programs import fake_program

from groupproof.clients.registry.install_cache import ProvisionError
from groupproof.clients.registry.registered_clients import resolve
from groupproof.clients.registry.toolchains.programs import NoSuchRelease
from groupproof.clients.registry.toolchains.python_wheels import PythonWheels, install_wheels


def _fake_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    monkeypatch.setattr(sys, "executable", str(fake_program(tmp_path / "python", script)))


def test_a_release_that_the_index_does_not_have_is_reported_with_those_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complaint = "ERROR: Could not find a version that satisfies the requirement x==9 (from versions: 1.0, 2.0)\nERROR: No matching distribution found for x==9"
    _fake_pip(monkeypatch, tmp_path, f"printf '%s\\n' '{complaint}' >&2; exit 1")

    with pytest.raises(NoSuchRelease, match="x==9") as caught:
        install_wheels(["x==9"], tmp_path / "site")
    assert caught.value.offered == ("1.0", "2.0")


def test_an_index_that_offers_nothing_at_all_is_the_environments_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    complaint = (
        "ERROR: Could not find a version that satisfies the requirement x==9 (from versions: none)\nERROR: No matching distribution found for x==9"
    )
    _fake_pip(monkeypatch, tmp_path, f"printf '%s\\n' '{complaint}' >&2; exit 1")

    with pytest.raises(ProvisionError, match=r"x==9 could not be installed: .*from versions: none.*reachable"):
        install_wheels(["x==9"], tmp_path / "site")


def test_pip_installs_only_wheels_and_no_dependencies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_pip(monkeypatch, tmp_path, f'echo "$PIP_USER $*" > {tmp_path}/seen')
    install_wheels(["x==1", "y==2"], tmp_path / "site")

    lines = (tmp_path / "seen").read_text().split()
    assert lines[:3] == ["0", "-m", "pip"]
    assert lines[-2:] == ["x==1", "y==2"]
    assert {"--no-deps", "--only-binary", "--target"} <= set(lines)


def test_a_package_without_wheels_is_built_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_pip(monkeypatch, tmp_path, f'echo "$*" > {tmp_path}/seen')
    install_wheels(["x==1", "y==2"], tmp_path / "site", sources=["y"])

    assert (tmp_path / "seen").read_text().endswith("--only-binary :all: --no-binary y x==1 y==2\n")


def test_uv_installs_where_there_is_no_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_pip(monkeypatch, tmp_path, "exit 1")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    fake_program(tmp_path / "uv", f'echo "$*" > {tmp_path}/seen')
    install_wheels(["x==1"], tmp_path / "site")

    assert (tmp_path / "seen").read_text().startswith(f"--quiet pip install --python {tmp_path}/python --target")


def test_neither_pip_nor_uv_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_pip(monkeypatch, tmp_path, "exit 1")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", "")

    with pytest.raises(ProvisionError, match="neither pip nor uv is there"):
        install_wheels(["x==1"], tmp_path / "site")


def test_what_installs_python_clients_is_pip_or_else_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (installer,) = PythonWheels().tools
    _fake_pip(monkeypatch, tmp_path, "exit 1")
    assert installer.path() == f"{tmp_path}/python -m pip"

    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setenv("PATH", "")
    assert installer.path() is None
    fake_program(tmp_path / "uv", "exit 0")
    assert installer.path() == str(tmp_path / "uv")


def test_a_client_keeps_its_bytecode_also_where_the_environment_lets_nobody_write_any(tmp_path: Path) -> None:
    (tmp_path / "made_up.py").write_text("")
    start = PythonWheels().start(resolve("kafka-python"), tmp_path, tmp_path)
    env = {"PYTHONDONTWRITEBYTECODE": "1", **start.env}

    subprocess.run([start.argv[0], "-S", "-c", "import made_up"], env=env, check=True)

    assert [file.name for file in (tmp_path / "__pycache__").iterdir()] == [f"made_up.{sys.implementation.cache_tag}.pyc"]
