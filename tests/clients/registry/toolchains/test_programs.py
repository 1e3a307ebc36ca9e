"""What toolchains run: bounded, and a missing program says how to get it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.clients.registry.toolchains.fake_programs import fake_program

from groupproof.clients.registry.install_cache import ProvisionError
from groupproof.clients.registry.toolchains import programs
from groupproof.clients.registry.toolchains.programs import NoSuchRelease, Tool, last_words, run

CARGO = Tool(name="rust", program="cargo", needed_for="Rust clients", remedy="install Rust (https://rustup.rs)")


def test_a_program_that_is_missing_says_what_it_is_for_and_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ProvisionError, match=r"no cargo here: install Rust \(https://rustup.rs\); it is needed for Rust clients"):
        CARGO.required()

    fake_program(tmp_path / "cargo", "exit 0")
    assert CARGO.required() == str(tmp_path / "cargo")


def test_a_program_that_does_not_end_is_the_environments_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "INSTALL_S_MAX", 0.05)
    program = fake_program(tmp_path / "npm", "exec sleep 30")

    with pytest.raises(ProvisionError, match=r"npm took longer than 0\.05 s: ci --silent …"):
        run([str(program), "ci", "--silent"])


def test_a_program_gets_its_folder_its_environment_and_no_input(tmp_path: Path) -> None:
    program = fake_program(tmp_path / "go", 'pwd; echo "$GOFLAGS"; read -r line || echo nothing')

    assert run([str(program)], env={"GOFLAGS": "-x"}, cwd=tmp_path).stdout.splitlines() == [str(tmp_path), "-x", "nothing"]


@pytest.mark.parametrize(
    ("text", "line"),
    [("a\n[ERROR] b\nc\n", "[ERROR] b"), ("a\n\n  c  \n", "c"), ("", "nothing was said"), ("x" * 400, "x" * 300)],
)
def test_of_what_a_program_printed_the_line_that_tells_the_error_is_kept(text: str, line: str) -> None:
    assert last_words(text) == line


def test_a_release_that_does_not_exist_comes_with_those_that_do() -> None:
    assert NoSuchRelease("x==9", ["1.0", "2.0"]).offered == ("1.0", "2.0")
