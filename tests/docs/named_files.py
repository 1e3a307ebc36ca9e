"""Finds the files and modules that a text names, and says which of them are not there. The maps of the house are held against it, and what docstrings and comments name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

__all__ = ["COMPONENTS", "Name", "Tree", "names_in_full", "names_in_markdown", "names_in_prose", "prose_of", "tree_of"]

COMPONENTS: Final = ("protocol", "coordinator", "clients", "harness", "chaos")
FOLDERS: Final = (*COMPONENTS, "tests", "docs", "ci", "examples", ".github", ".ci")
"""Where the project's own files are; beside them stand single files at the root."""

OURS: Final = (".toml", ".md", ".go", ".mjs", ".java")
SUFFIXES: Final = "py|md|toml|json|go|mjs|java|sh|yml|j2|lock|patch"
MODULE: Final = re.compile(r"(?<![\w./-])groupproof(?:\.[A-Za-z_]\w*)+(?![\w/]|\.\w)")
PATH: Final = re.compile(
    rf"(?<![\w./@:$…~-])(?P<path>(?:{'|'.join(re.escape(folder) for folder in FOLDERS)})/(?:[\w.*…-]+/)*[\w.*…-]*[\w*…])/?(?![\w:])"
)
CODE: Final = re.compile(r"(?<!`)`(?P<code>[^`\n]+)`(?!`)")
SHORT: Final = re.compile(rf"(?:[\w.*…-]+/)+(?:[\w*…-]+\.(?:{SUFFIXES}))?|[\w*…-]+(?:/[\w.*…-]+)+|[\w*-]+\.(?:{SUFFIXES})")
LINK: Final = re.compile(r"\]\((?P<target>[^)\s]+)\)")
FENCE: Final = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
PLACEHOLDER: Final = re.compile(r"(?<![A-Za-z])(?:AREA|FILE|FOLDER|ID|NAME|QUERY|RELEASE|X)(?![A-Za-z])|[<>{}$]")
CASE_ID: Final = re.compile(r"[\w*-]+/(?:classic|consumer|datalink)/[\w*-]*")
PYTHON_PROSE: Final = re.compile(r'^[ \t]*[rf]?"""(?P<doc>.*?)"""|(?:^|[ \t])# (?P<comment>[^\n]*)', re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Name:
    """A file, folder or module that a text names, with the line on which it does."""

    text: str
    line: int
    where: str
    """The file that names it, from the root."""

    def __str__(self) -> str:
        return f"{self.where}:{self.line}: {self.text}"


@dataclass(frozen=True)
class Tree:
    """The files of a repository, by their paths from the root; `texts` are those of Python modules."""

    files: frozenset[str]
    texts: Mapping[str, Path] = field(default_factory=dict)

    @cached_property
    def folders(self) -> frozenset[str]:
        return frozenset("/".join(parts[:end]) for parts in (path.split("/") for path in self.files) for end in range(1, len(parts)))

    @cached_property
    def endings(self) -> Mapping[str, frozenset[str]]:
        """Return every way to name a file or folder by the last parts of its path, a module also without `.py`; by the first folder, and all under no name."""
        found: dict[str, set[str]] = {"": set()}
        for path in (*self.files, *self.folders):
            parts = path.split("/")
            endings = ["/".join(parts[start:]) for start in range(len(parts))]
            for ending in (*endings, *(ending.removesuffix(".py") for ending in endings)):
                found[""].add(ending)
                found.setdefault(parts[0], set()).add(ending)
        return {folder: frozenset(endings) for folder, endings in found.items()}

    @cached_property
    def first_folders(self) -> frozenset[str]:
        """Return the names of folders of code, by which a short path is known for one."""
        return frozenset(part for path in self.folders if path.startswith(COMPONENTS) for part in path.split("/"))

    def has_path(self, named: str, within: str = "") -> bool:
        """Tell whether there is such a path, or one that ends so, in a folder of the root; `*` is any part of a name, `…` any folders."""
        named = named.rstrip("/").removesuffix("/…")
        if "*" not in named and "…" not in named:
            return named in self.endings[within]
        pattern = re.escape(named).replace(r"\*", "[^/]*").replace("…", ".*")
        return any(re.fullmatch(rf"(?:.*/)?{pattern}", path) for path in (*self.files, *self.folders) if path.startswith(within))

    def has_link(self, target: str, where: str) -> bool:
        """Tell whether a link of the file `where` leads to something."""
        parts = where.split("/")[:-1]
        for part in target.split("#")[0].rstrip("/").split("/"):
            if part == "..":
                if not parts:
                    return False
                parts.pop()
            elif part != ".":
                parts.append(part)
        path = "/".join(parts)
        return not path or path in self.files or path in self.folders

    def has_module(self, dotted: str) -> bool:
        """Tell whether there is such a module, or such a name in one."""
        _, component, *rest = dotted.split(".")
        if component not in COMPONENTS:
            return False
        for end in range(len(rest), -1, -1):
            path = "/".join((component, "groupproof", component, *rest[:end]))
            module = f"{path}.py" if f"{path}.py" in self.files else f"{path}/__init__.py"
            if module in self.files:
                return end == len(rest) or rest[end] in self._bound(module)
        return False

    def _bound(self, module: str) -> set[str]:
        names: set[str] = set()
        for node in ast.parse(self.texts[module].read_text("utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                names.update(alias.asname or alias.name for alias in node.names)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names.update(target.id for target in targets if isinstance(target, ast.Name))
        return names

    def has(self, name: Name) -> bool:
        """Tell whether what is named is there."""
        if name.text.startswith("("):
            return self.has_link(name.text[1:-1], name.where)
        if name.text.startswith("groupproof.") and "/" not in name.text:
            return self.has_module(name.text)
        if name.text.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
            return self.has_path(name.text)
        component = name.where.split("/")[0]
        is_near = component in COMPONENTS and (name.where.endswith(".md") or "/" not in name.text)
        return self.has_path(name.text, component if is_near else "")

    def missing(self, names: Iterable[Name]) -> list[str]:
        return [str(name) for name in names if not self.has(name)]


def tree_of(root: Path) -> Tree:
    """Return what stands in the project's own folders, and beside them at the root."""
    paths = [
        path for folder in FOLDERS for path in (root / folder).rglob("*") if path.is_file() and not {"__pycache__", "node_modules"} & {*path.parts}
    ]
    paths += [path for path in root.iterdir() if path.is_file()]
    files = {path.relative_to(root).as_posix(): path for path in paths}
    return Tree(frozenset(files), {name: path for name, path in files.items() if name.endswith(".py")})


def names_in_full(text: str, where: str) -> Iterator[Name]:
    """Yield what any text names from the root: paths and dotted modules."""
    for pattern in (MODULE, PATH):
        for found in pattern.finditer(text):
            named = found["path"] if pattern is PATH else found[0]
            if not PLACEHOLDER.search(_word_around(text, found)) and not CASE_ID.fullmatch(named):
                yield Name(named, _line(text, found.start()), where)


def names_in_markdown(text: str, where: str, tree: Tree) -> Iterator[Name]:
    """Yield what a page names: links to files, and names in its prose and in its code; fences show what others have, and name nothing but in full."""
    yield from names_in_full(text, where)
    prose = FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text)
    yield from _in_code(prose, where, tree)
    for found in LINK.finditer(prose):
        if "://" not in found["target"] and not found["target"].startswith(("#", "mailto:")):
            yield Name(f"({found['target']})", _line(prose, found.start()), where)


def names_in_prose(text: str, where: str, tree: Tree) -> Iterator[Name]:
    """Yield what docstrings and comments name."""
    yield from names_in_full(text, where)
    yield from _in_code(text, where, tree)


def prose_of(python: str) -> str:
    """Return the docstrings and comments of a module, each on the line where it stands."""
    lines = [""] * (python.count("\n") + 2)
    for found in PYTHON_PROSE.finditer(python):
        for number, line in enumerate((found["doc"] or found["comment"] or "").split("\n"), _line(python, found.start()) - 1):
            lines[number] += line
    return "\n".join(lines)


def _in_code(text: str, where: str, tree: Tree) -> Iterator[Name]:
    """Yield the short names in code: a path that begins with a folder of ours, or one file by its name."""
    for found in CODE.finditer(text):
        code = found["code"]
        is_path = SHORT.fullmatch(code) and not PLACEHOLDER.search(code) and not CASE_ID.fullmatch(code) and not PATH.fullmatch(code)
        if is_path and (code.split("/")[0] in tree.first_folders or code.endswith((".py", "/")) or ("/" in code and code.endswith(OURS))):
            yield Name(code, _line(text, found.start()), where)


def _word_around(text: str, found: re.Match[str]) -> str:
    end = found.end()
    while end < len(text) and not text[end].isspace() and text[end] not in "`),;":
        end += 1
    return text[found.start() : end]


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
