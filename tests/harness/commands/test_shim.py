from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.harness.commands.calling import Call, odd

from groupproof.clients.registry.shim_libraries import LIBRARIES

pytestmark = pytest.mark.slow


def test_each_problem_is_a_line_and_the_exit_code_4(groupproof: Call) -> None:
    called = groupproof("shim", "check", *odd("crashes on subscribe"))

    assert called.code == 4
    (problem,) = [line for line in called.out.splitlines() if line.startswith("problem: ")]
    assert problem == "problem: the shim exited with status 7 instead of answering subscribe; its last words: Segmentation fault (core dumped)"
    assert called.out.splitlines()[-1] == "1 problem"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 3, "behind --"),
        (["kafka-pyton"], 3, "did you mean kafka-python"),
        (["--profile", "kafka-9", *odd("cannot run here")], 3, "no profile is called 'kafka-9'"),
        (list(odd("cannot run here")), 4, "needs Windows"),
        (["--", "/no/such/program"], 4, "can't start /no/such/program"),
    ],
)
def test_what_cannot_be_checked_is_one_line(arguments: list[str], code: int, message: str, groupproof: Call) -> None:
    called = groupproof("shim", "check", *arguments)

    assert called.code == code
    assert message in called.complaint


def test_an_old_profile_is_played_by_the_coordinator(groupproof: Call, tmp_path: Path) -> None:
    groupproof("shim", "check", "--profile", "kafka-1.1", "--output", tmp_path, *odd("forgets callback_done"))

    frames = [json.loads(line) for line in (tmp_path / "trace.ndjson").read_text("utf-8").splitlines()]
    assert {frame["version"] for frame in frames if frame.get("api") == "JoinGroup" and frame["kind"] == "request"} == {2}


def test_a_library_is_a_folder_that_is_printed(groupproof: Call) -> None:
    called = groupproof("shim", "library", "node")

    assert called.code == 0
    assert (Path(called.out.strip()) / "package.json").is_file()


def test_all_libraries_are_listed(groupproof: Call) -> None:
    called = groupproof("shim", "library")

    assert [line.split()[0] for line in called.out.splitlines()] == list(LIBRARIES)


def test_a_wrong_language_is_answered_with_the_nearest(groupproof: Call) -> None:
    called = groupproof("shim", "library", "nodee")

    assert called.code == 3
    assert "did you mean node" in called.complaint
