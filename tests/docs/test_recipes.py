"""The changes that a recipe prints are read as they stand, and one that no longer fits is noticed."""

from __future__ import annotations

import pytest
from tests.docs.recipes import PAGE, Change, StaleRecipe, changed, changes_of
from tests.project import ROOT

PAGE_OF_TWO = """
## One

1. Do:

    ```diff title="a.py"
     kept
    -old
    +new
    ```

## Two

```toml title="b.toml"
x = 1
```
"""


def change(*lines: str) -> Change:
    return Change(path="a.py", lines=lines, is_new=False)


def test_the_changes_of_one_section_are_read_without_their_indent() -> None:
    assert changes_of("One", PAGE_OF_TWO) == [change(" kept", "-old", "+new")]
    assert changes_of("Two", PAGE_OF_TWO) == [Change(path="b.toml", lines=("x = 1",), is_new=True)]


def test_lines_come_and_go_at_their_place() -> None:
    assert changed("a\nkept\nold\nz\n", change(" kept", "-old", "+new", "+more")) == "a\nkept\nnew\nmore\nz\n"


@pytest.mark.parametrize("text", ["a\nold\n", "kept\nold\nkept\nold\n", "old\nkept\n", "    kept\nold\n"])
def test_a_change_whose_place_is_not_there_or_not_the_only_one_is_stale(text: str) -> None:
    with pytest.raises(StaleRecipe, match=r"a\.py has these lines [02] times, not once"):
        changed(text, change(" kept", "-old", "+new"))


def test_a_section_that_is_not_there_is_stale() -> None:
    with pytest.raises(StaleRecipe, match="no section 'Three'"):
        changes_of("Three", PAGE_OF_TWO)


def test_every_change_of_the_page_fits_the_file_that_it_is_made_to() -> None:
    sections = [line.removeprefix("## ") for line in PAGE.read_text().splitlines() if line.startswith("## ")]
    changes = [item for section in sections for item in changes_of(section)]

    assert len(changes) >= 10
    assert [item.path for item in changes if item.is_new and (ROOT / item.path).exists()] == []
    assert [item.path for item in changes if not item.is_new and changed((ROOT / item.path).read_text(), item) == ""] == []
