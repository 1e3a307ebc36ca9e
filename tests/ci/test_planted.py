"""How many bugs are planted: counted from the tables that the tests of power prove, and told on a page that is kept current."""

from __future__ import annotations

import planted
import pytest

STALE = f"Before.\n\n{planted.BEGINS}| counted long ago |\n{planted.ENDS}\nAfter.\n"


def test_every_bug_is_counted_once_by_what_the_cases_say_to_it() -> None:
    member, epochs, coordinator = planted.planted()

    assert member.line.startswith(f"| reference member | {member.bugs} | {member.failed} | {member.reported} | ")
    for item, at_least in ((member, 120), (epochs, 50), (coordinator, 650)):
        assert at_least <= item.failed <= item.failed + item.reported <= item.bugs


def test_what_is_counted_takes_the_place_of_what_was_and_of_nothing_else() -> None:
    page = planted.written(STALE)

    assert (page.split()[0], page.split()[-1]) == ("Before.", "After.")
    assert "counted long ago" not in page
    assert all(item.line in page for item in planted.planted())
    assert planted.written(page) == page
    with pytest.raises(ValueError, match=r"README.md has lost the lines"):
        planted.written("Before.\n")


def test_the_page_is_current() -> None:
    assert planted.main(["--check"]) == 0


def test_a_page_that_is_not_current_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(planted, "planted", list)

    assert planted.main(["--check"]) == 1
    assert "run: make docs" in capsys.readouterr().err
