"""Rules about the code itself (CONTRIBUTING, "As code"): what a reviewer should never have to say."""

from __future__ import annotations

import ast
import importlib
import io
import re
import statistics
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from tests.refused_words import NAMELESS, OLD_WORDS, SPOKEN_BY, SYNONYMS, VAGUE

ROOT = Path(__file__).parents[1]
COMPONENTS = ("protocol", "coordinator", "clients", "harness", "chaos")

AT_THE_ROOT = {
    ".ci", ".github", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "action.yml", "docs", "examples",
    "mkdocs.yml", "pyproject.toml", "ci", "tests", *COMPONENTS,
}  # fmt: skip

FUNCTION_LINES_MAX = 70
FUNCTION_LINES_MEDIAN_MAX = 10
FILE_LINES_MAX = 400
MODULES_MAX = 24  # side by side in a folder

CROWDED = {
    "coordinator/groupproof/coordinator/machine": "the machine and its classic dialect: an event has the classic group, and the engine's context the classic answers",
}
"""Folders with more modules than that, each with the reason."""

# Source files without a test file of their own name, each with the reason. Keep it short.
UNTESTED = {
    "chaos/groupproof/chaos/spark/analysis/*_queries.py": "queries as data; test_queries.py asks each of planted groups and holds its answers against DuckDB's",
    "chaos/groupproof/chaos/spark/members/member_api.py": "protocols without behaviour",
    "coordinator/groupproof/coordinator/machine/any_group.py": "a protocol without behaviour",
    "clients/groupproof/clients/relatives/*_outputs.py": "dataclasses without behaviour",
    "coordinator/groupproof/coordinator/machine/effect_context.py": "a protocol without behaviour",
    "harness/groupproof/harness/subjects/brokers/cluster.py": "protocols without behaviour",
    "harness/groupproof/harness/subjects/brokers/programs/*.py": "programs that run in an environment of their own; tests/harness/subjects/brokers starts them",
    "harness/groupproof/harness/running/fuzzing/choice_source.py": "a protocol without behaviour",
    "harness/groupproof/harness/cases/coordinator/*.py": "cases as data; tests/harness/cases/test_coordinator.py reads every one and runs it against the kit's own cluster",
    "harness/groupproof/harness/simulation/pending_request.py": "a dataclass without behaviour",
    "harness/groupproof/harness/cases/client/*.py": "cases as data; tests/harness/cases/test_client.py reads every one and runs it against the reference member",
    "harness/groupproof/harness/cases/consumer/*.py": "cases as data; tests/harness/cases/test_consumer.py reads every one, and tests/harness/judging/case_checkers/consumer/test_epoch_*.py proves their judges",
    "harness/groupproof/harness/cases/embedded/*.py": "cases as data; tests/harness/cases/test_embedded.py reads every one and runs it against the reference",
    "harness/groupproof/harness/model/errors.py": "exceptions without behaviour",
    "protocol/groupproof/protocol/wire/messages.py": "dataclasses without behaviour; tests/protocol/wire/test_message_codec.py sends each of them over the wire",
}

# Third parties' interfaces are spoken there, in their words, and run in environments of their own.
SHIMS = ("clients/groupproof/clients/shims/python/*",)

PRINTED = {"chaos/groupproof/chaos/scenarios/scenario.py": {"each"}}  # a key of scenario files, and of the schedules made of them

# A module name stands for one module of the product. These folders name a file after something else, and may have a name again.
NAMED_AFTER = {
    "harness/groupproof/harness/cases/*": "the request or the matter of its cases, as their ids do: join of a classic client, of one of KIP-848, of a coordinator",
    "harness/groupproof/harness/commands/*": "the command, as it is typed",
}
SHARED_NAMES = {"requirements": "the catalogue of the rules, and beside it which of its requirements the checkers of every trace speak of"}

ASSERTING = re.compile(r"\bassert|raises|warns|fail\(|check|expect|verify|\.until\(")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b|NotImplementedError")
REASONED = re.compile(r"#\s*(type:\s*ignore\[[\w, -]+\]|noqa:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*)[\s:#–-]*(?P<reason>.*)")

EXEMPTION = re.compile(r"#\s*(type:\s*ignore|noqa)")
REASON_WORDS_MIN = 2

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _python(*folders: str) -> list[str]:
    return sorted(_relative(path) for folder in folders for path in (ROOT / folder).rglob("*.py") if "__pycache__" not in path.parts)


def _is_shim(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in SHIMS)


SOURCES = _python(*COMPONENTS, "ci")
TESTS = _python("tests")
MODULES = [name for name in SOURCES if not name.startswith("ci/") and not _is_shim(name)]


@cache
def _text(name: str) -> str:
    return (ROOT / name).read_text()


@dataclass(frozen=True, slots=True, kw_only=True)
class Syntax:
    """What the rules ask of a file's syntax: its tree is read once, and not kept."""

    is_described: bool
    offers: bool
    functions: tuple[tuple[str, int, int], ...]
    """Their names, with the first and the last line."""
    bound_names: frozenset[str]
    """Of functions, classes, parameters and variables."""
    variables: frozenset[str]
    """Parameters, variables, and those of loops and comprehensions."""
    attributes: frozenset[str]
    """What a class has and an object gets: fields, and attributes that are set."""
    sleeps: frozenset[str]
    imports: frozenset[str]
    """What is imported, each name of a module as if it were a module in it."""


@cache
def _syntax(name: str) -> Syntax:
    return _syntax_of(_text(name))


def _syntax_of(text: str) -> Syntax:
    tree = ast.parse(text)
    nodes = tuple(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, Function)]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
    stored = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    fields = {id(target) for node in classes for line in node.body for target in _targets(line)}
    calls = [node.func for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "sleep"]
    return Syntax(
        is_described=bool(ast.get_docstring(tree)),
        offers="__all__" in {target.id for node in tree.body for target in _targets(node) if isinstance(target, ast.Name)},
        functions=tuple((node.name, node.lineno, node.end_lineno or node.lineno) for node in functions),
        bound_names=frozenset({*(node.name for node in (*functions, *classes)), *arguments, *(node.id for node in stored)}),
        variables=frozenset({*arguments, *(node.id for node in stored if id(node) not in fields)}),
        attributes=frozenset({*(node.id for node in stored if id(node) in fields), *_set_attributes(nodes)}),
        sleeps=frozenset(map(ast.unparse, calls)),
        imports=frozenset(name for node in nodes for name in _imports(node)),
    )


def _set_attributes(nodes: Iterable[ast.AST]) -> Iterator[str]:
    return (node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names))


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def _functions(name: str) -> Iterator[tuple[str, int]]:
    return ((f"{name}: {function}", last - first + 1) for function, first, last in _syntax(name).functions)


def _comments(name: str) -> Iterator[tuple[int, str]]:
    if not EXEMPTION.search(_text(name)):
        return
    for token in tokenize.generate_tokens(io.StringIO(_text(name)).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _test_of(name: str) -> str:
    """Return where the test of a source file stands: tests mirror the sources, folder by folder."""
    parts = [part for part in name.split("/") if part != "groupproof"]
    folders = parts[1:-1] if len(parts) > 2 else parts[:-1]
    return "/".join(["tests", *folders, f"test_{parts[-1]}"])


def test_every_source_file_has_its_test_file_or_a_reason() -> None:
    untested = {name for name in MODULES if Path(name).stem not in {"__init__", "__main__"} and _test_of(name) not in TESTS}

    excused = {name for name in untested if any(fnmatch(name, pattern) for pattern in UNTESTED)}
    assert not (bare := sorted(untested - excused)), "neither a test file at its place nor an entry in UNTESTED:\n" + "\n".join(bare)


def test_the_list_of_untested_files_holds_nothing_that_is_gone() -> None:
    assert [pattern for pattern in UNTESTED if not any(fnmatch(name, pattern) for name in MODULES)] == []
    assert [pattern for pattern, reason in UNTESTED.items() if not reason.strip()] == []


def test_one_module_name_for_one_module() -> None:
    places: dict[str, list[str]] = {}
    for name in _own_modules():
        if not any(fnmatch(name, pattern) for pattern in NAMED_AFTER):
            places.setdefault(Path(name).stem, []).append(name)

    assert {stem: names for stem, names in places.items() if len(names) > 1 and stem not in SHARED_NAMES} == {}
    assert [stem for stem in SHARED_NAMES if len(places.get(stem, ())) < 2] == [], "excuses a name that occurs once"


def test_no_module_imports_two_modules_of_one_name_nor_one_of_its_own() -> None:
    own = {_dotted(name) for name in _own_modules()}

    assert {name: twins for name in _own_modules() if (twins := _twins({_dotted(name), *_syntax(name).imports} & own))} == {}


def test_two_modules_of_one_name_in_one_file_are_found() -> None:
    imports = _syntax_of("from a.b.join import x\nfrom a.c import join, z\nimport a.d.own").imports

    assert _twins({"a.own", *imports} - {"a.c", "a.b.join.x"}) == ["a.b.join", "a.c.join", "a.d.own", "a.own"]


def _own_modules() -> list[str]:
    return [name for name in MODULES if Path(name).stem not in {"__init__", "__main__"}]


def _dotted(name: str) -> str:
    return name.partition("/")[2].removesuffix(".py").replace("/", ".")


def _twins(modules: set[str]) -> list[str]:
    """Return the modules of a file, itself among them, where two have one name."""
    stems = [module.rpartition(".")[2] for module in modules]
    return sorted(module for module in modules if stems.count(module.rpartition(".")[2]) > 1)


def test_no_file_was_committed_at_the_root_by_mistake() -> None:
    committed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    assert {name.partition("/")[0] for name in committed} <= AT_THE_ROOT


def test_every_module_can_be_imported() -> None:
    failed: dict[str, BaseException] = {}
    for name in MODULES:
        try:
            importlib.import_module(name.partition("/")[2].removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        except (Exception, SystemExit) as error:
            failed[name] = error

    assert failed == {}


def test_every_module_says_what_it_is_for_and_what_it_offers() -> None:
    assert [name for name in SOURCES if not _syntax(name).is_described] == [], "no module docstring"
    assert [name for name in SOURCES if not _offers(name)] == [], "no __all__"


def _offers(name: str) -> bool:
    return _syntax(name).offers or Path(name).stem in {"__init__", "__main__"} or _is_shim(name)


def test_no_function_is_long() -> None:
    long = [f"{where}: {lines} lines" for name in SOURCES + TESTS for where, lines in _functions(name) if lines > FUNCTION_LINES_MAX]

    assert long == []


def test_functions_are_short_by_habit() -> None:
    assert statistics.median(lines for name in SOURCES for _, lines in _functions(name)) < FUNCTION_LINES_MEDIAN_MAX


def test_no_file_is_long_but_the_tables_of_the_spec() -> None:
    lines = {name: _text(name).count("\n") for name in SOURCES + TESTS if "/protocol/rules/" not in name}

    assert {name: count for name, count in lines.items() if count > FILE_LINES_MAX} == {}


def test_no_folder_is_crowded() -> None:
    counts = Counter(Path(name).parent.as_posix() for name in _own_modules())

    assert {folder: count for folder, count in counts.items() if count > MODULES_MAX and folder not in CROWDED} == {}
    assert [folder for folder in CROWDED if counts[folder] <= MODULES_MAX] == [], "excuses a folder that has room"


def test_one_word_for_one_thing() -> None:
    words = SYNONYMS | OLD_WORDS
    banned = {
        f"{name}: {identifier}: say {words[word]}"
        for name in SOURCES if not _is_shim(name)
        for identifier in _syntax(name).bound_names | _syntax(name).attributes
        for word in _words(identifier) if word in words and name not in SPOKEN_BY.get(word, ())
    }  # fmt: skip

    assert banned == set()


def test_no_name_is_a_word_without_a_noun() -> None:
    nameless = {
        f"{name}: {identifier}: say {NAMELESS[word]}"
        for name in SOURCES if not _is_shim(name)
        for identifier in _syntax(name).bound_names if (word := identifier.strip("_")) in NAMELESS and word not in PRINTED.get(name, ())
    }  # fmt: skip

    assert nameless == set()


def test_no_name_is_a_participle_that_could_be_anything() -> None:
    words = NAMELESS | VAGUE
    vague = {
        f"{name}: {identifier}: say {words[word]}"
        for name in SOURCES + TESTS if not _is_shim(name)
        for identifier in _syntax(name).variables | _syntax(name).attributes | _syntax(name).bound_names
        if (word := identifier.strip("_")) in words and word not in PRINTED.get(name, ())
    }  # fmt: skip

    assert vague == set()


def test_the_words_that_files_fix_are_in_use() -> None:
    assert {name: words for name, words in PRINTED.items() if not words <= _syntax(name).attributes} == {}, "excuses a word that is gone"


def test_a_vague_name_is_found_wherever_it_is_bound() -> None:
    syntax = _syntax_of("class A:\n    known: int\ndef f(said): self._met, b.told[0] = 1, 2\n[1 for given in ()]\nfor _what in (): self.taken += 1\n")

    assert syntax.variables == {"said", "given", "_what"}
    assert syntax.attributes == {"known", "_met", "taken"}
    assert syntax.bound_names == {"A", "f", "known", "said", "given", "_what"}


@cache
def _words(identifier: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", identifier)]


@cache
def _is_virtual(folder: Path) -> bool:
    """Whether a helper of that folder runs its tests in virtual time."""
    above = {f"{parent.as_posix()}/conftest.py" for parent in folder.parents}
    return any("MockClock" in _text(name) for name in TESTS if Path(name).parent == folder or name in above)


def test_no_test_sleeps_in_real_time() -> None:
    asleep = {name: _slept(name) for name in TESTS if not Path(name).name.startswith("fake_")}  # those are programs of their own

    assert {name: calls for name, calls in asleep.items() if calls} == {}


def _slept(name: str) -> set[str]:
    virtual = {"trio.sleep"} if _is_virtual(Path(name).parent) else set()
    return {*_syntax(name).sleeps} & {"time.sleep", "asyncio.sleep", "trio.sleep"} - virtual


def test_every_exemption_from_a_checker_has_a_code_and_a_reason() -> None:
    bare = []
    for name in SOURCES + TESTS:
        for line, comment in _comments(name):
            if EXEMPTION.search(comment):
                found = REASONED.search(comment)
                if found is None or len(found["reason"].split()) < REASON_WORDS_MIN:
                    bare.append(f"{name}:{line}: {'no code' if found is None else 'no reason'}")

    assert bare == []


def test_nothing_is_left_unfinished() -> None:
    texts = {name: _text(name) for name in SOURCES + TESTS if name != _relative(Path(__file__))}

    assert [
        f"{name}: {line}" for name, text in texts.items() if UNFINISHED.search(text) for line in text.splitlines() if UNFINISHED.search(line)
    ] == []


def test_every_test_asserts_something() -> None:
    empty = []
    for name in TESTS:
        lines = _text(name).splitlines()
        tests = [function for function in _syntax(name).functions if function[0].startswith("test_")]
        empty += [f"{name}: {test}" for test, first, last in tests if not ASSERTING.search("\n".join(lines[first - 1 : last]))]
    assert empty == []
