"""Every command on the documentation's pages is run, in a fresh folder for each page, and does what the page says; what is not run says why."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from tests.docs.command_server import CommandServer
from tests.docs.following import Following, absent, why_not_run
from tests.docs.pages import MARKS, ROOT, Block, Page, pages, read_page
from tests.soaking import SOAKS

PAGES = [read_page(path) for path in pages()]


def _is_longer_in_the_soak(block: Block) -> bool:
    return "norun" not in block.marks and ("soak" in block.marks or "gate" in block.marks)


def _followed() -> Iterator[ParameterSet]:
    """The pages with anything to run; in the soak those with anything that the gate leaves out."""
    for page in PAGES:
        has_some = any(_is_longer_in_the_soak(block) if SOAKS else why_not_run(block, soaks=False) is None for block in page.blocks)
        if has_some:
            marks = [pytest.mark.network] if any("network" in block.needs for block in page.blocks) else []
            yield pytest.param(page, id=page.name, marks=[*marks, *([pytest.mark.soak] if SOAKS else [])])


def _left_out() -> Iterator[ParameterSet]:
    for page in PAGES:
        for block in page.blocks:
            reason = why_not_run(block, soaks=SOAKS)
            if reason is not None:
                yield pytest.param(page, block, reason, id=f"{page.name}:{block.line}", marks=[pytest.mark.soak] if SOAKS else [])


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A reader's empty folder; who reads the pages of a clone has its `.venv` and `docs` there."""
    place = tmp_path / "reader"
    place.mkdir()
    page = request.getfixturevalue("page")
    if page.name in ("README.md", "CONTRIBUTING.md") or page.name.startswith("docs/findings/"):
        (place / ".venv").symlink_to(sys.prefix)
        (place / "docs").symlink_to(ROOT / "docs")
    return place


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path | None]:
    """In the gate a `groupproof` that need not import itself again; the soak types the installed one."""
    if SOAKS or not hasattr(os, "pidfd_open"):
        yield None
        return
    server = CommandServer(tmp_path_factory.mktemp("commands"))
    yield server.folder
    server.close()


@pytest.mark.slow
@pytest.mark.parametrize("page", list(_followed()))
def test_what_a_page_says_to_type_does_what_the_page_says(page: Page, folder: Path, programs: Path | None) -> None:
    follower = Following(page=page, folder=folder, soaks=SOAKS, programs=programs)
    follower.all_steps()
    assert not list(folder.glob("core*")), "a program dumped its core"


@pytest.mark.parametrize(("page", "block", "reason"), list(_left_out()))
def test_a_block_that_this_run_leaves_out_is_reported(page: Page, block: Block, reason: str) -> None:
    assert block.commands, f"{page.name}:{block.line}"
    assert absent(block) or reason
    pytest.skip(f"{page.name}:{block.line}: $ {block.commands[0].text.splitlines()[0]}: {reason}")


def test_no_command_of_ours_stands_where_nobody_runs_it() -> None:
    assert [f"{page.name}:{line}" for page in PAGES for line in page.strays] == [], "write it into a `console` fence, behind a prompt"


def test_the_page_that_explains_the_marks_names_all_of_them() -> None:
    text = (ROOT / "docs/site/README.md").read_text()
    rows = [line.split('="')[0].removeprefix("| `") for line in text.splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted(MARKS)
