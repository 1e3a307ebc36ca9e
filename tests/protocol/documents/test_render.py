from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.project import ROOT

from groupproof.protocol.documents.render import documents, main, requirements_markdown, stale
from groupproof.protocol.rules.requirements import by_id, requirements
from groupproof.protocol.vocabulary import Level

DOCS = ROOT / "docs"


def test_the_committed_documents_are_current() -> None:
    assert stale(DOCS / "spec") == [], "a generated document is not current; run: make docs"


def test_the_catalogue_shows_every_requirement_once_with_its_level() -> None:
    text = documents()["requirements.md"].split("## Reasons of the levels")[0]

    for requirement in requirements():
        assert text.count(f"| {requirement.id} | {requirement.level.value} |") == 1, requirement.id


def test_every_reason_is_shown_at_the_id_or_at_its_family() -> None:
    reasons = documents()["requirements.md"].split("## Reasons of the levels")[1]

    for requirement in requirements():
        rows = {
            f"| {requirement.id} | {requirement.level.value} | {requirement.reason} |",
            f"| {requirement.family}-… | {requirement.level.value} | {requirement.reason} |",
        }
        assert any(row in reasons for row in rows), requirement.id


def test_a_bar_in_a_sentence_does_not_end_its_cell() -> None:
    barred = by_id("WTASK-01")

    line = next(line for line in requirements_markdown([barred]).splitlines() if line.startswith("| WTASK-01 | "))

    assert "|" in barred.observe
    assert line.replace("\\|", "").count("|") == 7


def test_the_head_counts_by_level() -> None:
    must = sum(requirement.level is Level.MUST for requirement in requirements())

    assert f"{len(requirements())} requirements: {must} MUST" in documents()["requirements.md"]


def test_a_document_that_is_missing_or_changed_is_stale_until_it_is_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "spec")

    assert main(["--check", folder]) == 1
    assert "run: make docs" in capsys.readouterr().out

    assert main([folder]) == 0
    assert main(["--check", folder]) == 0

    (tmp_path / "spec" / "requirements.md").write_text("by hand")
    assert stale(Path(folder)) == ["requirements.md"]


def test_wrong_usage_is_reported_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 3
    assert "usage" in capsys.readouterr().err


def test_each_discrepancy_that_a_source_names_is_explained() -> None:
    explained = (DOCS / "discrepancies.md").read_text()
    named = {
        word.strip(":(),;.") for requirement in requirements() for word in (requirement.source + " " + requirement.text).split() if "DISC-" in word
    }

    assert named
    assert not {name for name in named if f"| {name} |" not in explained}


def test_the_contents_name_every_page() -> None:
    made = documents()

    assert [name for name in made if name.endswith(".md") and f"]({name})" not in made["README.md"]] == ["README.md"]
    for text in made.values():
        assert not [link for link in re.findall(r"\]\(([\w-]+\.\w+)[#)]", text) if link not in made]


def test_a_file_that_is_no_longer_a_page_is_reported(tmp_path: Path) -> None:
    assert main([str(tmp_path)]) == 0
    (tmp_path / "old.md").write_text("")

    assert stale(tmp_path) == ["old.md"]
