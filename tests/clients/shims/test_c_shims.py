"""The C shim: its JSON by itself, and librdkafka, built by its name, put through `shim check` and a case."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from tests.harness.commands.calling import called
from tests.project import ROOT

from groupproof.clients.registry.install_cache import default_cache
from groupproof.clients.registry.provision import ProvisionError, provision
from groupproof.clients.registry.registered_clients import resolve
from groupproof.clients.registry.shim_libraries import LIBRARIES
from groupproof.clients.registry.toolchains.toolchain import SHIMS

C = SHIMS / "c"
LIBRARY = LIBRARIES["c"]
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="absent: cc")


def _run(*argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False, timeout=550)


def _program(subject: str) -> str:
    try:
        return provision(resolve(subject), default_cache(), print).argv[0]
    except ProvisionError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a program that reads JSON and writes it again."""
    program = tmp_path_factory.mktemp("json") / "reader"
    built = _run("cc", *STRICT, "-o", str(program), str(LIBRARY / "json.c"), str(LIBRARY / "json_test.c"))
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
    assert json.loads(_run(reader, stdin=json.dumps(value, ensure_ascii=ascii_only) + "\n").stdout) == value


@needs_cc
@pytest.mark.parametrize("line", ["", "{", '{"a":1,}', '{"a" 1}', "[1,]", "[1 2]", '"open', '"\\x"', "nul", "{} {}", "[" * 40 + "]" * 40])
def test_what_is_no_json_is_not_read(reader: str, line: str) -> None:
    assert _run(reader, stdin=line + "\n").stdout == "none\n"


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a shim of a client in memory that stands on the library."""
    program = tmp_path_factory.mktemp("fake") / "fake"
    sources = [path for path in LIBRARY.glob("*.c") if path.stem != "json_test"]
    built = _run("cc", *STRICT, "-o", str(program), *map(str, sources), "-lpthread")
    assert built.returncode == 0, built.stderr
    return str(program)


def _shim_lines(fake: str, *commands: Mapping[str, object], options: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return what the shim says to these commands, from its hello to the end of its stdin."""
    asked = "".join(json.dumps({"id": place, **command}) + "\n" for place, command in enumerate(commands))
    ran = _run(fake, *options, stdin=asked)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def _answers(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line for line in lines if "id" in line]


def _names(lines: list[dict[str, Any]]) -> list[str | int]:
    return [line["name"] if "name" in line else line["id"] for line in lines]


SUBSCRIBE: Final[Mapping[str, object]] = {"command": "subscribe", "group": "g", "protocol": "classic", "instance_id": None}


@needs_cc
def test_the_library_says_who_it_is_and_what_nobody_took(fake: str) -> None:
    hello, *rest = _shim_lines(fake, {**SUBSCRIBE, "rack": "r", "client_id": "c"})

    assert hello == {"name": "hello", "contract": 1, "client": "fake", "version": "1.2.3", "language": "c", "capabilities": ["classic", "commit"]}
    assert _answers(rest) == [{"id": 0, "ok": True, "ignored": ["rack", "client_id"]}]
    assert _names(rest)[-3:] == ["partitions_revoked", "callback_done", "shutdown_complete"]


@needs_cc
def test_a_table_of_settings_takes_what_the_client_has(fake: str) -> None:
    fields = {**SUBSCRIBE, "client_id": "c", "session_timeout_ms": 6000}

    assert _answers(_shim_lines(fake, fields, options=["table"])) == [{"id": 0, "ok": True, "ignored": ["client_id", "session_timeout_ms"]}]


@needs_cc
@pytest.mark.parametrize(
    ("refuses", "event", "answer"),
    [
        ("0", {"success": True}, {"ok": True, "offsets": [["t", 1, 9]]}),
        (
            "27",
            {"success": False, "error": "REBALANCE_IN_PROGRESS"},
            {"error": "REBALANCE_IN_PROGRESS", "message": "the broker said so", "fatal": False},
        ),
        ("-150", {"success": False, "error": "_OWN"}, {"error": "_OWN", "message": "the broker said so", "fatal": False}),
        ("unknown", {"outcome": "unknown"}, {"ok": True, "outcome": "unknown", "offsets": [["t", 1, 9]]}),
    ],
)
def test_the_event_of_a_commit_precedes_its_answer(fake: str, refuses: str, event: dict[str, Any], answer: dict[str, Any]) -> None:
    lines = _shim_lines(fake, {**SUBSCRIBE, "refuses": refuses}, {"command": "commit", "mode": "sync", "offsets": [["t", 1, 9]]})
    commit_event = next(line for line in lines if line.get("name") == "offsets_committed")

    assert event.items() <= commit_event.items()
    assert commit_event["offsets"] == [{"topic": "t", "partition": 1, "offset": 9}]
    assert _answers(lines)[1] == {"id": 1, **answer}
    assert lines.index(commit_event) < lines.index(_answers(lines)[1])


@needs_cc
def test_a_record_that_was_pushed_waits_for_the_news_of_its_partition(fake: str) -> None:
    lines = _shim_lines(fake, {**SUBSCRIBE, "pushes": True}, {"command": "pause"}, {"command": "commit"}, {"command": "position"})

    assert _names(lines)[1:4] == ["partitions_assigned", "callback_done", "records_consumed"]
    # Of t-0, which was not read unless a poll came before the pause, the position is what is committed or what was read.
    assert _answers(lines)[2]["offsets"][-1] == ["t", 1, 8]
    assert ["t", 1, 8] in _answers(lines)[3]["offsets"]


@needs_cc
@pytest.mark.parametrize(
    ("command", "unimplemented"),
    [
        ({"command": "frobnicate"}, "this shim knows no such command"),
        ({"command": "unsubscribe"}, "this client leaves its group when it is closed"),
        ({"command": "commit", "mode": "async"}, "this client's commits wait for their end"),
        ({"command": "close", "leave": False}, "this client leaves its group as a dynamic member, and stays as a static one"),
    ],
)
def test_what_the_client_has_not_is_unimplemented_and_the_member_stays_open(fake: str, command: dict[str, object], unimplemented: str) -> None:
    answers = _answers(_shim_lines(fake, SUBSCRIBE, command, {"command": "resubscribe", "topics": ["u"]}))

    assert answers[1:] == [{"id": 1, "unimplemented": unimplemented}, {"id": 2, "ok": True}]


@needs_cc
def test_a_member_subscribes_once_and_is_none_before(fake: str) -> None:
    lines = _shim_lines(
        fake, {"command": "position"}, {"command": "subscribe", "group": "", "protocol": "classic"}, SUBSCRIBE, SUBSCRIBE, {"command": "close"}
    )
    answers = _answers(lines)

    assert [answer.get("error") for answer in answers] == ["ILLEGAL_STATE", "INVALID_GROUP_ID", None, "ILLEGAL_STATE", None]
    assert _names(lines)[-2:] == ["shutdown_complete", 4]


@needs_cc
def test_a_protocol_that_nobody_claimed_is_unimplemented(fake: str) -> None:
    assert _answers(_shim_lines(fake, {**SUBSCRIBE, "group_protocol": "consumer"})) == [
        {"id": 0, "unimplemented": "this client has no such protocol"}
    ]


@needs_cc
@pytest.mark.network
@pytest.mark.slow
def test_the_pages_shim_keeps_the_contract(tmp_path: Path) -> None:
    _program("librdkafka")
    client = resolve("librdkafka")
    installed = next((default_cache() / "c").glob(f"librdkafka-{client.release}-*"))
    sources = [ROOT / "examples/shims/c/shim.c", *(LIBRARY / f"{part}.c" for part in ("host", "member", "values", "json"))]
    linked = [*map(str, (installed / "lib").glob("librdkafka*")), "-lpthread", f"-Wl,-rpath,{installed / 'lib'}", "-Wl,--allow-shlib-undefined"]
    includes = [f"-I{installed / 'include'}", f"-I{LIBRARY}"]
    built = _run("cc", *STRICT, "-Wno-unused-parameter", *includes, "-o", str(tmp_path / "shim"), *map(str, sources), *linked)
    assert built.returncode == 0, built.stderr
    checked = called("shim", "check", "--", str(tmp_path / "shim"))

    assert checked.out.endswith("no problem found\n"), checked.out + checked.err


@needs_cc
@pytest.mark.network
@pytest.mark.slow
def test_shim_check_finds_no_problem() -> None:
    checked = called("shim", "check", "--", _program("librdkafka"))

    assert checked.out.endswith("no problem found\n"), checked.out + checked.err


@needs_cc
@pytest.mark.network
@pytest.mark.slow
# The oldest is built of its sources, which takes a minute where the cache has it not.
@pytest.mark.parametrize("subject", ["librdkafka", pytest.param("librdkafka@1.8.2", marks=pytest.mark.soak)])
def test_a_release_is_certified_by_its_name(subject: str, tmp_path: Path) -> None:
    client = resolve(subject)
    _program(subject)
    certified = called("certify", "client", subject, "--only", "leave/classic/unknown-member-id", "--output", str(tmp_path))
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))

    assert [case["verdict"] for case in report["cases"]] == ["OK"], certified.err
    assert (report["subject"]["name"], report["subject"]["version"], report["subject"]["language"]) == ("librdkafka", client.release, "c")


@pytest.mark.skipif(shutil.which("c++") is None, reason="absent: c++")
def test_a_program_in_cpp_is_linked_with_what_a_compiler_of_c_made(tmp_path: Path) -> None:
    (tmp_path / "shim.cpp").write_text(
        '#include "groupproof.h"\nint main() { return gp_code_name(27) == nullptr || json_read("{}") == nullptr; }\n', "utf-8"
    )
    objects = [str(tmp_path / f"{name}.o") for name in ("host", "member", "values", "json")]
    for target in objects:
        assert _run("cc", "-std=c99", "-c", str(LIBRARY / Path(target).with_suffix(".c").name), "-o", target).returncode == 0
    built = _run("c++", "-std=c++17", "-o", str(tmp_path / "shim"), str(tmp_path / "shim.cpp"), *objects, f"-I{LIBRARY}", "-lpthread")

    assert built.returncode == 0, built.stderr
    assert _run(str(tmp_path / "shim")).returncode == 0
