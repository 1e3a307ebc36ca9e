"""Reads what the pages of the site tell their reader to type: commands, what they print, and files. `docs/site/README.md` says how they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["MARKS", "REASONS", "ROOT", "Block", "Command", "File", "MisreadPage", "Page", "pages", "read_page"]

ROOT: Final = Path(__file__).parents[2]
REASONS: Final = ("needs another machine", "needs a service", "needs a person", "needs a program of yours", "is run by the gate itself")
"""Why a block may be run by nobody."""

MARKS: Final = ("status", "gate", "gate_status", "soak", "background", "needs", "norun")
OUR_COMMAND: Final = re.compile(r"^\s*(\$ )?(\.venv/bin/)?(groupproof|make) [a-z]")

FENCE: Final = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>[\w+-]*)[ \t]*(?P<options>.*)$")
OPTION: Final = re.compile(r'(?P<key>[a-z_]+)(="(?P<value>[^"]*)")?')
SNIPPET: Final = re.compile(r'^--8<-- "(?P<path>[^"]+)"$')


class MisreadPage(Exception):
    """A page is not written as `docs/site/README.md` says; names the page and the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    text: str
    line: int
    printed: tuple[str, ...]
    """What the page shows of its output; empty where it shows none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The commands of one fence, and what is said on it."""

    line: int
    commands: tuple[Command, ...]
    marks: dict[str, str] = field(default_factory=dict)

    def statuses(self, *, soaks: bool) -> tuple[int, ...]:
        """Return the exit status of each command; those that are said are the last commands'."""
        status = self.marks.get("status", "0") if soaks or "gate_status" not in self.marks else self.marks["gate_status"]
        last = [int(word) for word in status.split()]
        return (*[0] * (len(self.commands) - len(last)), *last)

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(self.marks.get("needs", "").split())


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A fence that shows a file, which the reader is to write."""

    line: int
    name: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    name: str
    """Its path from the root of the repository."""

    steps: tuple[Block | File, ...]
    strays: tuple[int, ...] = ()
    """Lines of commands of ours that stand in no `console` fence."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(step for step in self.steps if isinstance(step, Block))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fence:
    line: int
    language: str
    options: dict[str, str]
    lines: tuple[str, ...]


def pages(root: Path = ROOT) -> list[Path]:
    """Return every page that the site has, but what explains how to write one."""
    found = sorted(path for path in (root / "docs").rglob("*.md") if path != root / "docs/site/README.md")
    return [root / "README.md", root / "CONTRIBUTING.md", *found]


def read_page(path: Path, root: Path = ROOT) -> Page:
    """Raise MisreadPage where a mark, a reason or a block can't be read."""
    name = path.relative_to(root).as_posix()
    steps: list[Block | File] = []
    strays: list[int] = []
    for fence in _fences(name, path.read_text().splitlines()):
        if fence.language == "console":
            steps.append(_block(name, fence))
        elif "title" in fence.options:
            steps.append(File(line=fence.line, name=fence.options["title"], text=_contents(name, fence, root)))
        elif fence.language in ("", "sh", "bash", "shell"):
            strays += [fence.line + place for place, line in enumerate(fence.lines, 1) if OUR_COMMAND.match(line)]
    return Page(name=name, steps=tuple(steps), strays=tuple(strays))


def _fences(name: str, lines: Sequence[str]) -> Iterator[_Fence]:
    """Yield the fences of a page, also those within a list or a tab, which are indented."""
    numbered = iter(enumerate(lines, 1))
    for number, line in numbered:
        opening = FENCE.match(line)
        if opening is None:
            continue
        indent, ticks = len(opening["indent"]), opening["ticks"]
        inside: list[str] = []
        for _, inner in numbered:
            if inner.strip() == ticks:
                break
            inside.append(inner[indent:])
        else:
            raise MisreadPage(f"{name}:{number}: this fence has no end")
        options = {found["key"]: found["value"] or "" for found in OPTION.finditer(opening["options"])}
        yield _Fence(line=number, language=opening["language"], options=options, lines=tuple(inside))


def _contents(name: str, fence: _Fence, root: Path) -> str:
    """Return what the fence shows, with the files that it includes in place."""
    lines: list[str] = []
    for line in fence.lines:
        included = SNIPPET.match(line.strip())
        if included is None:
            lines.append(line)
        elif (root / included["path"]).is_file():
            lines += (root / included["path"]).read_text().splitlines()
        else:
            raise MisreadPage(f"{name}:{fence.line}: there is no file {included['path']} to include")
    return "".join(f"{line}\n" for line in lines)


def _block(name: str, fence: _Fence) -> Block:
    where = f"{name}:{fence.line}"
    unknown = sorted(set(fence.options) - set(MARKS))
    if unknown:
        raise MisreadPage(f"{where}: unknown mark {unknown[0]!r}; there are {', '.join(MARKS)}")
    if "norun" in fence.options and fence.options["norun"] not in REASONS:
        raise MisreadPage(f"{where}: {fence.options['norun']!r} is no reason not to run; there are: {', '.join(REASONS)}")
    commands = tuple(_commands(where, fence))
    for mark in ("status", "gate_status"):
        words = fence.options.get(mark, "0").split()
        if not words or len(words) > len(commands) or not all(word.isdigit() for word in words):
            raise MisreadPage(f"{where}: {mark}={fence.options[mark]!r} is no exit status for each of the last commands")
    return Block(line=fence.line, commands=commands, marks=dict(fence.options))


def _commands(where: str, fence: _Fence) -> Iterator[Command]:
    text: list[str] = []
    printed: list[str] = []
    began = 0
    for number, line in enumerate(fence.lines, fence.line + 1):
        if line.startswith("$ "):
            if text:
                yield _command(text, began, printed)
            text, printed, began = [line.removeprefix("$ ")], [], number
        elif not text:
            raise MisreadPage(f"{where}: begins with no command (a line with '$ ')")
        elif not printed and (line.startswith("> ") or text[-1].endswith("\\")):
            text.append(line.removeprefix("> "))
        else:
            printed.append(line)
    if not text:
        raise MisreadPage(f"{where}: has no command (a line with '$ ')")
    yield _command(text, began, printed)


def _command(text: Sequence[str], line: int, printed: Sequence[str]) -> Command:
    return Command(text="\n".join(text), line=line, printed=tuple("\n".join(printed).strip("\n").splitlines()))
