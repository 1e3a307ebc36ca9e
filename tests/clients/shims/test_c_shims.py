"""The C shim: its JSON by itself, and librdkafka, built by its name, put through `shim check` and a case."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.registry.provision import ProvisionError, provision
from groupproof.clients.registry.registered_clients import resolve
from groupproof.clients.registry.toolchains.toolchain import SHIMS

C = SHIMS / "c"

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="absent: cc")


def _run(*argv: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, input=said, capture_output=True, text=True, check=False, timeout=550)


def _groupproof(*arguments: str) -> subprocess.CompletedProcess[str]:
    return _run(str(Path(sys.executable).with_name("groupproof")), *arguments)


def _program(subject: str) -> str:
    try:
        return provision(resolve(subject), default_cache(), print).argv[0]
    except ProvisionError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a program that reads JSON and writes it again."""
    program = tmp_path_factory.mktemp("json") / "reader"
    strict = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
    built = _run("cc", *strict, "-o", str(program), str(C / "json.c"), str(C / "json_test.c"))
    assert built.returncode == 0, built.stderr
    return str(program)


@needs_cc
@pytest.mark.parametrize(
    "value",
    [
        {"id": 1, "command": "subscribe", "topics": ["a", "b"], "offsets": [["t", 0, -1]], "on_revoked": {"sleep_ms": 0}},
        [],
        {},
        "",
        'q"\\/\n\t\x01',
        "äß€😀",
        True,
        None,
        -2.5,
    ],
    ids=json.dumps,
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_what_is_read_is_what_was_written(reader: str, value: object, ascii_only: bool) -> None:
    assert json.loads(_run(reader, said=json.dumps(value, ensure_ascii=ascii_only) + "\n").stdout) == value


@needs_cc
@pytest.mark.parametrize("line", ["", "{", '{"a":1,}', '{"a" 1}', "[1,]", "[1 2]", '"open', '"\\x"', "nul", "{} {}", "[" * 40 + "]" * 40])
def test_what_is_no_json_is_not_read(reader: str, line: str) -> None:
    assert _run(reader, said=line + "\n").stdout == "none\n"


@needs_cc
@pytest.mark.network
@pytest.mark.slow
def test_shim_check_finds_no_problem() -> None:
    checked = _groupproof("shim", "check", "--", _program("librdkafka"))

    assert checked.stdout.endswith("no problem found\n"), checked.stdout + checked.stderr


@needs_cc
@pytest.mark.network
@pytest.mark.slow
# The oldest is built of its sources, which takes a minute where the cache has it not.
@pytest.mark.parametrize("subject", ["librdkafka", pytest.param("librdkafka@1.8.2", marks=pytest.mark.soak)])
def test_a_release_is_certified_by_its_name(subject: str, tmp_path: Path) -> None:
    client = resolve(subject)
    _program(subject)
    certified = _groupproof("certify", "client", subject, "--only", "leave/classic/unknown-member-id", "--output", str(tmp_path))
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))

    assert [case["verdict"] for case in report["cases"]] == ["OK"], certified.stderr
    assert (report["subject"]["name"], report["subject"]["version"], report["subject"]["language"]) == ("librdkafka", client.release, "c")
