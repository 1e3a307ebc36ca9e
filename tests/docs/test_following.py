"""A page is done as it says, in bash, in order; what deviates is told with what was printed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.following import Deviation, Following, absent, agrees, in_gate, why_not_run
from tests.docs.pages import Block, read_page


def follow(folder: Path, text: str, *, soaks: bool = False) -> Path:
    """Do what the page says; return the reader's folder."""
    path = folder / "page.md"
    path.write_text(text)
    place = folder / "reader"
    place.mkdir()
    Following(page=read_page(path, folder), folder=place, soaks=soaks).all_steps()
    return place


def block(folder: Path, marks: str, commands: str = "$ a\n") -> Block:
    path = folder / "page.md"
    path.write_text(f"```console {marks}\n{commands}```\n")
    return read_page(path, folder).blocks[0]


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        (["took 1.5 s: 7 OK"], "took  12,345.75 s: 178 OK\n"),
        (["trace 6926c2d16f96c7906d3fb3f7fc4d019a"], "\x1b[1mtrace 00ff2ab\x1b[0m\n"),
        (["a … z"], "a b c z\n"),
        (["a", "…", "z"], "a\nb\nc\nz\n"),
        (["a", "…", "z"], "a\nz\n"),
        (["…"], ""),
        (["a"], "fetching rdkafka-sys@4.5.0\nbuilding the shim of librdkafka@2.16.0\na\n"),
        (["building the shim of librdkafka@2.16.0", "a"], "a\n"),
    ],
)
def test_figures_aside_it_is_the_same(expected: list[str], printed: str) -> None:
    assert agrees(expected, printed)


@pytest.mark.parametrize(("expected", "printed"), [(["a"], "a\nb\n"), (["a", "b"], "a\n"), (["7 OK"], "7 FAILED\n"), (["a …"], "a\nb\n")])
def test_other_words_and_other_lines_are_not(expected: list[str], printed: str) -> None:
    assert not agrees(expected, printed)


def test_folder_and_exported_variables_stay_from_one_block_to_the_next(tmp_path: Path) -> None:
    place = follow(
        tmp_path,
        "```console\n$ mkdir in && cd in\n$ export A='b c'\n```\n\n```text title=\"f\"\nx\n```\n\n```console\n$ cat f; echo $A\nx\nb c\n```\n",
    )
    assert (place / "in/f").read_text() == "x\n"


@pytest.mark.parametrize(
    ("commands", "says"),
    [
        ("$ echo no; false\n", r"page.md:2: \$ echo no; false\nended with 1, not with 0\nit printed:\nno"),
        ("$ echo one\ntwo\n", r"printed something else than the page shows\nthe page shows:\n  \| two\nit printed:\none"),
    ],
)
def test_a_deviation_tells_the_command_and_what_it_printed(tmp_path: Path, commands: str, says: str) -> None:
    with pytest.raises(Deviation, match=says):
        follow(tmp_path, f"```console\n{commands}```\n")


def test_the_status_that_a_page_says_is_wanted(tmp_path: Path) -> None:
    follow(tmp_path, '```console status="3 1"\n$ true\n$ exit 3\n$ false\n```\n')
    with pytest.raises(Deviation, match="ended with 0, not with 1"):
        follow(tmp_path / "reader", '```console status="1"\n$ true\n```\n')


def test_what_runs_in_the_background_is_interrupted_at_the_end(tmp_path: Path) -> None:
    server = "import signal, sys\nprint('listening on 1', flush=True)\ntry:\n    signal.pause()\nexcept KeyboardInterrupt:\n    print('bye')\n"
    page = f'```python title="s.py"\n{server}```\n\n```console background="listening"\n$ python s.py\nlistening on 2\nbye\n```\n\n```console\n$ echo on > f\n```\n'
    assert (follow(tmp_path, page) / "f").read_text() == "on\n"


def test_a_member_that_ends_without_the_awaited_report_deviates(tmp_path: Path) -> None:
    with pytest.raises(Deviation, match="did not print 'listening'"):
        follow(tmp_path, '```console background="listening"\n$ echo no\n```\n')


def test_what_follows_something_absent_is_not_tried(tmp_path: Path) -> None:
    place = follow(tmp_path, '```console\n$ touch a\n```\n\n```console needs="no-such-program"\n$ touch b\n```\n\n```console\n$ touch c\n```\n')
    assert [path.name for path in place.iterdir()] == ["a"]


def test_each_reason_to_leave_a_block_out_is_said(tmp_path: Path) -> None:
    assert why_not_run(block(tmp_path, 'norun="needs a person"'), soaks=True) == "needs a person"
    assert why_not_run(block(tmp_path, 'soak="an hour"'), soaks=False) == "in the soak alone: an hour"
    assert why_not_run(block(tmp_path, 'soak="an hour"'), soaks=True) is None
    lacking = block(tmp_path, 'needs="network no-such-program"')
    assert absent(lacking) == ["no-such-program"]
    assert why_not_run(lacking, soaks=False) == "absent here: no-such-program"


def test_the_gate_adds_its_arguments_before_the_program(tmp_path: Path) -> None:
    long = block(tmp_path, 'gate="--only x"', "$ a b\n$ certify client -- python shim.py\nPASSED\n")
    first, last = (in_gate(long, command, soaks=False) for command in long.commands)
    assert (first.text, last.text, last.printed) == ("a b", "certify client --only x -- python shim.py", ())
    assert in_gate(long, long.commands[1], soaks=True) is long.commands[1]
