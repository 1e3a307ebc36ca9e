"""The Go shims: the library by its own tests under Go, and each client, built by its name, put through `shim check` and a case."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.harness.commands.calling import called
from tests.power.shares import in_turn, parts

from groupproof.clients.registry.install_cache import default_cache, entry
from groupproof.clients.registry.provision import ProvisionError, provision
from groupproof.clients.registry.registered_clients import resolve
from groupproof.clients.registry.shim_libraries import LIBRARIES
from groupproof.clients.registry.toolchains.toolchain import SHIMS

GO = SHIMS / "go"
LIBRARY = LIBRARIES["go"]
EXAMPLE = Path(__file__).parents[3] / "examples" / "shims" / "go"
CLIENTS = ["franz-go", "sarama", "kafka-go", "confluent-kafka-go"]
OLDER = ["franz-go@1.15.3", "sarama@1.41.3", "kafka-go@0.4.42", "confluent-kafka-go@2.3.0"]
PATCHED = "kafka-go, patched"
# kafka-go as it is cannot lead a group with others in it (segmentio/kafka-go#1128), which the check asks of its shim.
LEADERS = ["franz-go", "sarama", "confluent-kafka-go", PATCHED]
CHECKED = in_turn(LEADERS)
"""The client that is put through `shim check` with this commit; the others are certified, one of the older releases too, and `make soak` does the rest of both."""
CERTIFIED = [*(name for name in CLIENTS if name != CHECKED), in_turn(OLDER)]
# A case that each is known to fail, where one is.
KNOWN = {
    "franz-go": (),
    "sarama": ("--only", "commit/classic/not-coordinator"),
    "kafka-go": ("--only", "join/classic/subscription"),
    "confluent-kafka-go": (),
}

needs_go = pytest.mark.skipif(shutil.which("go") is None, reason="absent: go")
needs_patch = pytest.mark.skipif(shutil.which("patch") is None, reason="absent: patch")


def _run(*argv: str, cwd: Path = GO) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False, timeout=550)


def _command(name: str) -> str:
    """Return the program of a registered client, or the one of kafka-go with two lines of it mended."""
    if name == PATCHED:
        if shutil.which("patch") is None:
            pytest.skip("absent: patch")
        return str(_patched() / "program")
    try:
        return provision(resolve(name), default_cache(), print).argv[0]
    except ProvisionError as missing:
        pytest.skip(str(missing))


def _patched() -> Path:
    def build(folder: Path) -> None:
        done = _run(str(GO / "patched" / "build.sh"), str(folder / "program"))
        assert done.returncode == 0, done.stderr

    sources = [path for path in sorted(GO.rglob("*")) if path.is_file() and not path.name.endswith("_test.go")]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:10]
    return entry(default_cache(), f"go/patched-{digest}", build, print)


@needs_go
@pytest.mark.slow
def test_the_library_passes_its_own_tests() -> None:
    ran = _run("go", "test", "-count=1", "-v", "./...", cwd=LIBRARY)
    passed = set(re.findall(r"^--- PASS: (\w+)", ran.stdout, re.M))
    written = {name for path in LIBRARY.rglob("*_test.go") for name in re.findall(r"^func (Test[A-Z]\w+)\(t", path.read_text("utf-8"), re.M)}

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert passed == written - {"TestInner"}  # which others run
    assert _run("go", "vet", "./...", cwd=LIBRARY).stderr == ""


def test_the_library_needs_no_other_module() -> None:
    assert "require" not in (LIBRARY / "go.mod").read_text("utf-8")


@needs_go
def test_the_shims_are_formatted_as_go_has_it() -> None:
    assert _run("gofmt", "-l", ".", str(EXAMPLE)).stdout == ""


@needs_go
@pytest.mark.network
@pytest.mark.slow
def test_go_vet_finds_nothing_in_the_shims() -> None:
    assert _run("go", "mod", "download").returncode == 0

    assert _run("go", "vet", "./...").stderr == ""


def test_the_module_of_the_shims_requires_the_newest_release_of_each_client() -> None:
    required = dict(re.findall(r"^\s(\S+) v(\S+)$", (GO / "go.mod").read_text("utf-8"), re.M))

    assert {name: required[str(resolve(name).package)] for name in CLIENTS} == {name: resolve(name).release for name in CLIENTS}


@needs_go
@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("name", parts([(name,) for name in LEADERS], lambda row: row == (CHECKED,)))
def test_shim_check_finds_no_problem(name: str) -> None:
    checked = called("shim", "check", "--", _command(name))

    assert checked.out.endswith("no problem found\n"), checked.out + checked.err


def _verdicts(folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    report = json.loads((folder / "report.json").read_text("utf-8"))
    return {case["id"]: case["verdict"] for case in report["cases"]}, report["subject"]


@needs_go
@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("subject", parts([(subject,) for subject in (*CLIENTS, *OLDER)], lambda row: row[0] in CERTIFIED))
def test_a_client_is_certified_by_its_name_and_its_known_failures_are_excused(subject: str, tmp_path: Path) -> None:
    client = resolve(subject)
    _command(subject)
    failures = KNOWN[client.name] if client.release == client.default_release else ()
    certified = called("certify", "client", subject, "--only", "leave/classic/unknown-member-id", *failures, "--output", str(tmp_path))

    verdicts, found = _verdicts(tmp_path)
    assert verdicts.pop("leave/classic/unknown-member-id") == "OK", certified.err
    assert set(verdicts.values()) <= {"EXCUSED"}, certified.err
    assert (found["name"], found["version"], found["language"]) == (client.name, client.release, "go")


@needs_go
@needs_patch
@pytest.mark.network
@pytest.mark.slow
def test_a_patched_client_says_so(tmp_path: Path) -> None:
    certified = called("certify", "client", "--only", "leave/classic/unknown-member-id", "--output", str(tmp_path), "--", _command(PATCHED))

    verdicts, found = _verdicts(tmp_path)
    assert verdicts == {"leave/classic/unknown-member-id": "OK"}, certified.err
    assert (found["name"], found["version"]) == ("kafka-go", resolve("kafka-go").release + "+patched")
