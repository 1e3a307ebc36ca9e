"""The page about a storm and its pictures are what the commands make of the recording."""

from __future__ import annotations

from pathlib import Path

import pytest
from storm import PAGE, PICTURES, page, picture


def test_the_page_has_what_the_commands_print() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_are_what_the_command_draws(name: str, tmp_path: Path) -> None:
    assert (PAGE.parent / "images" / name).read_text(encoding="utf-8") == picture(name, tmp_path)
