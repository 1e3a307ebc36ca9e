"""`ci/find_python` chooses the Python of `.venv` among programs on the path that describe themselves as it asks."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

FIND_PYTHON = Path(__file__).parents[2] / "ci/find_python"


class Folders:
    """Folders of the path, in their order, each with one Python."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._folders: list[Path] = []

    def add(self, description: str, *, name: str = "python3") -> Path:
        """Add a Python that describes itself so; an empty description is that of a Python that is too old."""
        program = self._root / str(len(self._folders)) / name
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{f'echo {description}' if description else 'exit 1'}\n")
        program.chmod(0o755)
        self._folders.append(program.parent)
        return program

    def find(self, python: str = "") -> subprocess.CompletedProcess[str]:
        bash = Path(self._root / "bash")
        bash.mkdir(exist_ok=True)
        (bash / "bash").symlink_to("/bin/bash")
        path = os.pathsep.join(map(str, [*self._folders, bash]))
        return subprocess.run([FIND_PYTHON], env={"PATH": path, "PYTHON": python}, capture_output=True, text=True, check=False)


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


def test_the_first_python_that_is_new_enough_is_chosen(folders: Folders) -> None:
    folders.add("")
    first = folders.add("3.12 optimised")
    folders.add("3.12 optimised")
    assert folders.find().stdout.strip() == str(first)


def test_a_plain_python_gives_way_to_an_optimised_one_of_its_version(folders: Folders) -> None:
    folders.add("3.11 plain")
    folders.add("3.12 optimised")
    optimised = folders.add("3.11 optimised", name="python3.11")
    assert folders.find().stdout.strip() == str(optimised)


def test_a_plain_python_does_not_give_way_to_another_version(folders: Folders) -> None:
    first = folders.add("3.11 plain")
    folders.add("3.12 optimised")
    assert folders.find().stdout.strip() == str(first)


def test_the_python_that_is_named_is_chosen(folders: Folders) -> None:
    folders.add("3.11 optimised")
    plain = folders.add("3.11 plain")
    assert folders.find(str(plain)).stdout.strip() == str(plain)


def test_without_a_python_that_is_new_enough_the_error_says_what_to_do(folders: Folders) -> None:
    old = folders.add("")
    found = folders.find(str(old))
    assert found.returncode == 4
    assert found.stderr == (
        f"groupproof needs Python 3.11 or newer with venv, which these are not: {old}; "
        "install one (on Debian and Ubuntu: python3 python3-venv), or name it: make setup PYTHON=/path/to/python3\n"
    )
