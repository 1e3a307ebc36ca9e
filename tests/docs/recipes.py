"""Follows the recipes of `docs/extend.md` in a copy of the repository: makes the changes that the page prints, and runs programs there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.project import ROOT

__all__ = ["COMPONENTS", "PAGE", "Change", "Copy", "StaleRecipe", "changed", "changes_of"]

PAGE: Final = ROOT / "docs/extend.md"
COMPONENTS: Final = ("protocol", "coordinator", "clients", "harness", "chaos")
COPIED: Final = (*COMPONENTS, "tests", "docs", "ci", "examples")
RUN_S_MAX: Final = 300.0  # a busy machine included

FENCE: Final = re.compile(r'^(?P<indent> *)```(?P<language>\w+) title="(?P<path>[^"]+)"\n(?P<body>.*?)^ *```$', re.DOTALL | re.MULTILINE)


class StaleRecipe(Exception):
    """A change of the page does not fit the file that it is made to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What the page shows of one file: a whole one (`is_new`), or lines that go (`-`), that come (`+`), and that stay as they are, which tell the place."""

    path: str
    lines: tuple[str, ...]
    is_new: bool


def changes_of(section: str, page: str | None = None) -> list[Change]:
    """Return the changes of one recipe, in the page's order."""
    text = PAGE.read_text("utf-8") if page is None else page
    _, heading, rest = text.partition(f"\n## {section}\n")
    if not heading:
        raise StaleRecipe(f"the page has no section {section!r}")
    made: list[Change] = []
    for found in FENCE.finditer(re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0]):
        lines = tuple(line[len(found["indent"]) :] for line in found["body"].splitlines())
        made.append(Change(path=found["path"], lines=lines, is_new=found["language"] != "diff"))
    return made


def changed(text: str, change: Change) -> str:
    """Return the text of a file with the change made; raise `StaleRecipe` where its place is not there, or more than once."""
    old = "".join(f"{line[1:]}\n" for line in change.lines if not line.startswith("+"))
    new = "".join(f"{line[1:]}\n" for line in change.lines if not line.startswith("-"))
    found = [match.start() for match in re.finditer(f"^{re.escape(old)}", text, re.MULTILINE)]
    if len(found) != 1:
        raise StaleRecipe(f"{change.path} has these lines {len(found)} times, not once:\n{old}")
    return text[: found[0]] + new + text[found[0] + len(old) :]


class Copy:
    """The repository in a folder of its own, whose Python is read before the installed one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ignored = shutil.ignore_patterns("__pycache__", ".*_cache", "node_modules", "*.class")
        for name in COPIED:
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        if sys.pycache_prefix is not None:
            self._link_compiled(Path(sys.pycache_prefix))
        for path in ROOT.iterdir():
            if path.is_file() and path.name != ".coverage":
                shutil.copy(path, folder)

    def _link_compiled(self, prefix: Path) -> None:
        """Give the copy what is compiled of the original: Python takes it where size and time of the source are the same."""
        for name in COPIED:
            source = prefix / (ROOT / name).relative_to("/")
            if source.is_dir():
                shutil.copytree(source, prefix / (self.folder / name).relative_to("/"), copy_function=_linked)

    def close(self) -> None:
        """Remove what is compiled of the copy, which is not in its folder."""
        if sys.pycache_prefix is not None:
            shutil.rmtree(Path(sys.pycache_prefix) / self.folder.relative_to("/"), ignore_errors=True)

    def follow(self, section: str) -> list[str]:
        """Make the changes of a recipe, and return the files that they were made to."""
        changes = changes_of(section)
        for change in changes:
            path = self.folder / change.path
            if change.is_new:
                if path.exists():
                    raise StaleRecipe(f"{change.path} is there already")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(f"{line}\n" for line in change.lines), "utf-8")
            else:
                path.write_text(changed(path.read_text("utf-8"), change), "utf-8")
        return list(dict.fromkeys(change.path for change in changes))

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python on the copy."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_", "GROUPPROOF_SOAK"))}
        path = os.pathsep.join([str(self.folder), *(str(self.folder / name) for name in COMPONENTS)])
        return subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, env={**inherited, "PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "200"},
            capture_output=True, text=True, timeout=RUN_S_MAX, check=False,
        )  # fmt: skip

    def groupproof(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the copy's own."""
        return self.python("-c", "from groupproof.harness.commands import main; raise SystemExit(main())", *arguments)

    def tests(self, *arguments: str) -> str:
        """Run tests of the copy, and return their last lines, which say what failed; empty where all passed."""
        done = self.python("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header", *arguments)
        return "" if done.returncode == 0 else f"{done.stdout[-4_000:]}{done.stderr[-1_000:]}"


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
