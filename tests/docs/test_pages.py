"""What is read out of a page."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.pages import ROOT, Block, Command, File, MisreadPage, Page, pages, read_page


def read(folder: Path, text: str) -> Page:
    path = folder / "page.md"
    path.write_text(text)
    return read_page(path, folder)


def only_block(page: Page) -> Block:
    (block,) = page.blocks
    return block


def test_a_command_has_its_line_and_what_is_printed_below_it(tmp_path: Path) -> None:
    block = only_block(read(tmp_path, "Text.\n\n```console\n$ one --a\nsaid\n\nmore\n\n$ two\n```\n"))
    assert block.commands == (
        Command(text="one --a", line=4, printed=("said", "", "more")),
        Command(text="two", line=9, printed=()),
    )
    assert block.statuses(soaks=False) == (0, 0)


def test_a_command_continues_behind_an_angle_or_a_backslash(tmp_path: Path) -> None:
    block = only_block(read(tmp_path, "```console\n$ cat > f <<EOF\n> a\n> EOF\n$ b \\\n    c\nout\n```\n"))
    assert [command.text for command in block.commands] == ["cat > f <<EOF\na\nEOF", "b \\\n    c"]
    assert block.commands[1].printed == ("out",)


def test_marks_are_read_from_the_fence(tmp_path: Path) -> None:
    block = only_block(read(tmp_path, '```console status="2 1" gate="--only x" gate_status="0" needs="network go"\n$ a\n$ b\n$ c\n```\n'))
    assert (block.statuses(soaks=True), block.statuses(soaks=False), block.needs) == ((0, 2, 1), (0, 0, 0), ("network", "go"))


def test_a_fence_within_a_list_is_read_without_its_indent(tmp_path: Path) -> None:
    assert only_block(read(tmp_path, "1. Do:\n\n    ```console\n    $ a\n      b\n    ```\n")).commands[0].printed == ("  b",)


def test_a_fence_with_a_title_is_a_file_and_includes_others(tmp_path: Path) -> None:
    (tmp_path / "shim.py").write_text("import json\n")
    page = read(tmp_path, '```python title="mine.py"\n--8<-- "shim.py"\nprint()\n```\n')
    assert page.steps == (File(line=1, name="mine.py", text="import json\nprint()\n"),)


def test_our_commands_outside_of_a_console_fence_are_strays(tmp_path: Path) -> None:
    page = read(tmp_path, "```\ngroupproof list cases\nother\n```\n\n```bash\nmake test\n```\n\n```toml\ngroupproof list\n```\n")
    assert page.strays == (2, 7)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("```console\n$ a\n", r"page.md:1: this fence has no end"),
        ("```console\nout\n```\n", r"page.md:1: begins with no command"),
        ("```console\n```\n", r"page.md:1: has no command"),
        ('```console norun="too long"\n$ a\n```\n', r"page.md:1: 'too long' is no reason not to run; there are: needs another machine"),
        ('```console sometimes="yes"\n$ a\n```\n', r"page.md:1: unknown mark 'sometimes'"),
        ('```console status="bad"\n$ a\n```\n', r"page.md:1: status='bad' is no exit status"),
        ('```console status="1 2"\n$ a\n```\n', r"page.md:1: status='1 2' is no exit status for each"),
        ('```python title="x"\n--8<-- "gone.py"\n```\n', r"page.md:1: there is no file gone.py to include"),
    ],
)
def test_what_cannot_be_read_is_reported_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(MisreadPage, match=says):
        read(tmp_path, text)


def test_every_page_of_docs_is_among_them_but_the_one_for_writers() -> None:
    names = {path.relative_to(ROOT).as_posix() for path in pages()}
    assert {"README.md", "CONTRIBUTING.md", "docs/contract.md", "docs/findings/README.md"} <= names
    assert "docs/site/README.md" not in names
