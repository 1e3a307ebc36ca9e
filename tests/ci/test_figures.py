from __future__ import annotations

import re
from pathlib import Path

import figures
import pytest

from groupproof.harness.cases.catalogue import cases_of
from groupproof.harness.judging.summary.grade import required_of
from groupproof.protocol.rules.coverage import judged


def test_the_pages_tell_the_figures_of_the_catalogue() -> None:
    assert [page.name for page in figures.PAGES if figures.corrected(page.read_text()) != page.read_text()] == [], "run: make docs"


@pytest.mark.parametrize("pattern", figures.figures())
def test_each_figure_stands_on_some_page(pattern: str) -> None:
    assert any(re.search(pattern, page.read_text()) for page in figures.PAGES)


def test_a_figure_is_put_right_and_all_else_stays() -> None:
    required = len(required_of(cases_of("client"), "info"))
    by_name = len({*judged()["client"], *judged()["coordinator"]})
    text = "PARTIAL 1/7  c 1.0\nleft: 8 cases that level info requires were left out; 0 of them are judged by name in a client or a coordinator, PARTIAL 2/7"

    assert figures.corrected(text) == (
        f"PARTIAL 1/{required}  c 1.0\nleft: {required - 1} cases that level info requires were left out; "
        f"{by_name} of them are judged by name in a client or a coordinator, PARTIAL 2/7"
    )


def test_the_check_names_the_page_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("PARTIAL 1/0\n")
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    monkeypatch.setattr(figures, "PAGES", (page,))

    assert figures.main(["--check"]) == 1
    assert capsys.readouterr().err == "page.md has figures that are not current; run: make docs\n"
    assert page.read_text() == "PARTIAL 1/0\n"
    assert figures.main([]) == 0
    assert figures.main(["--check"]) == 0
