"""The Go shims: what they share by its own tests under Go, and each client's shim built from its lock file and put through `shim check` and a case."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from groupproof.clients.registry.install_cache import default_cache, entry
from groupproof.clients.registry.toolchains.toolchain import SHIMS

GO = SHIMS / "go"
MODULES = {"franz": "github.com/twmb/franz-go", "sarama": "github.com/IBM/sarama", "kafkago": "github.com/segmentio/kafka-go"}
PATCHED = "kafkago-patched"

needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="absent: go")
needs_patch = pytest.mark.skipif(shutil.which("patch") is None, reason="absent: patch")

SHIM_PARAMETERS = [*MODULES, pytest.param(PATCHED, marks=needs_patch)]


def _run(*argv: str, cwd: Path = GO) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False, timeout=550)


def _built() -> Path:
    """Return a folder with the programs, kept between runs."""

    def build(folder: Path) -> None:
        for shim in MODULES:
            done = _run("go", "build", "-o", str(folder / shim), f"./{shim}")
            assert done.returncode == 0, done.stderr
        if shutil.which("patch"):
            done = _run(str(GO / "patched" / "build.sh"), str(folder / PATCHED))
            assert done.returncode == 0, done.stderr

    sources = [path for path in sorted(GO.rglob("*")) if path.is_file() and not path.name.endswith("_test.go")]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:10]
    return entry(default_cache(), f"go/shims-{digest}-{'patch' if shutil.which('patch') else 'plain'}", build, print)


def _groupproof(*arguments: str) -> subprocess.CompletedProcess[str]:
    return _run(str(Path(sys.executable).with_name("groupproof")), *arguments)


@needs_go
@pytest.mark.slow
def test_what_the_shims_share_passes_its_own_tests() -> None:
    ran = _run("go", "test", "-count=1", "-v", "./shim")

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert len(re.findall(r"^--- PASS: ", ran.stdout, re.M)) == (GO / "shim" / "shim_test.go").read_text("utf-8").count("\nfunc Test")


@needs_go
def test_the_shims_are_formatted_as_go_has_it() -> None:
    assert _run("gofmt", "-l", ".").stdout == ""


@needs_go
@pytest.mark.network
@pytest.mark.slow
def test_go_vet_finds_nothing_in_the_shims() -> None:
    assert _run("go", "vet", "./...").stderr == ""


def _released(module: str) -> str:
    found = re.search(rf"^\s{re.escape(module)} v(\S+)$", (GO / "go.mod").read_text("utf-8"), re.M)
    assert found is not None
    return found[1]


@needs_go
@pytest.mark.network
@pytest.mark.slow
# kafka-go as it is cannot lead a group with others in it (segmentio/kafka-go#1128), which the check asks of its shim.
@pytest.mark.parametrize("shim", ["franz", "sarama", pytest.param(PATCHED, marks=needs_patch)])
def test_shim_check_finds_no_problem(shim: str) -> None:
    checked = _groupproof("shim", "check", "--", str(_built() / shim))

    assert checked.stdout.endswith("no problem found\n"), checked.stdout + checked.stderr


@needs_go
@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("shim", SHIM_PARAMETERS)
def test_a_case_passes_and_the_release_is_what_was_built(shim: str, tmp_path: Path) -> None:
    certified = _groupproof("certify", "client", "--only", "leave/classic/unknown-member-id", "--output", str(tmp_path), "--", str(_built() / shim))

    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    module = MODULES[shim.removesuffix("-patched")]
    assert [case["verdict"] for case in report["cases"]] == ["OK"], certified.stderr
    assert (report["subject"]["name"], report["subject"]["language"]) == (module.split("/")[-1], "go")
    assert report["subject"]["version"] == _released(module) + ("+patched" if shim == PATCHED else "")
