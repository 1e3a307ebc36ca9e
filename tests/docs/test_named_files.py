"""Every file and module that the maps of the house name is there: README, CONTRIBUTING, `docs/`, the READMEs of the components, docstrings and comments."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.named_files import Name, Tree, names_in_full, names_in_markdown, names_in_prose, prose_of, tree_of
from tests.docs.recipes import changes_of
from tests.project import ROOT

TREE = tree_of(ROOT)
MARKDOWN = sorted(path for path in TREE.files if path.endswith(".md"))
MAPS = ("README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/extend.md", "protocol/README.md", "coordinator/README.md", "clients/README.md",
        "harness/README.md", "chaos/README.md", "ci/README.md")  # fmt: skip
SOURCES = sorted(path for path in TREE.files if path.endswith(".py"))
SETTINGS = sorted(
    path for path in TREE.files if path == "Makefile" or path.endswith((".toml", ".yml", ".sh", "Dockerfile")) or path.startswith("ci/action/")
)
PLANTS = ("tests/docs/test_named_files.py", "tests/docs/named_files.py")
"""They name what is not there, to see that it is noticed."""

# What is named and is no file of the project: by the file that names it, with the reason.
ELSEWHERE = {
    ("ci/examples/github.yml", ".github/workflows/groupproof.yml"): "a file of the user's own",
    **{
        ("pyproject.toml", f"groupproof.{group}"): "a group of entry points"
        for group in ("commands", "trace_commands", "recorded_cases", "replays", "check_engines")
    },
    ("*", "dist/site/"): "what `make site` builds",
    ("README.md", "reports/matrix.html"): "what `make certify` writes",
    ("ci/certify.py", "reports/certified.json"): "what `make certify` writes",
    **{
        (where, name): "what `make dist` builds"
        for where, name in [("ci/Dockerfile", "groupproof.pyz"), ("*", "dist/groupproof.pyz"), ("*", "groupproof.pyz")]
    },
    ("docs/matrix/README.md", "(matrix.html)"): "a page that is made while the site is built",
    ("docs/matrix/README.md", "(history.html)"): "a page that is made while the site is built",
    ("docs/decisions/0001-one-namespace-five-roots.md", "groupproof.__version__"): "it says that there is none",
    ("docs/decisions/0001-one-namespace-five-roots.md", "groupproof/__init__.py"): "it says that there is none",
    ("docs/site/load.md", "coordinator/run"): "what a load writes",
    ("docs/site/spark.md", "load/members"): "what a load writes",
    ("docs/site/spark.md", "load/coordinator"): "what a load writes",
    ("docs/site/pytest.md", "tests/test_mine.py"): "a file of the reader's own",
    ("clients/groupproof/clients/shims/reference.py", "groupproof.variant"): "a property of `subscribe`",
    ("clients/groupproof/clients/registry/toolchains/toolchain.py", "go/franz-go"): "a folder of the cache",
    ("harness/groupproof/harness/subjects/networks/impairments.py", "toxics/*.go"): "of Toxiproxy",
}
RECIPES = {
    *(change.path for change in changes_of("A client")), "protocol/groupproof/protocol/rules/snapshots/kafka-4.5.txt", "protocol/…/rules/lease",
    "groupproof.protocol.rules.lease.lease_dialect", "groupproof.coordinator.machine.lease_functions",
    "groupproof.harness.judging.checkers.lease_judging", "groupproof.harness.simulation.lease_simulation",
    "groupproof.harness.running.fuzzing.histories.lease_histories",
}  # fmt: skip
"""What a recipe adds."""


def missing_of(names: list[Name]) -> list[str]:
    wanted = [name for name in names if ("*", name.text) not in ELSEWHERE and (name.where, name.text) not in ELSEWHERE]
    return TREE.missing(name for name in wanted if not (name.where == "docs/extend.md" and name.text in RECIPES))


def names_of(where: str) -> list[Name]:
    names = list(names_in_markdown((ROOT / where).read_text("utf-8"), where, TREE))
    return [name for name in names if not (name.text.endswith(".js") and where.startswith("docs/findings/"))]


@pytest.mark.parametrize("folder", sorted({str(Path(where).parent) for where in MARKDOWN}))
def test_every_file_and_module_that_a_page_names_is_there(folder: str) -> None:
    assert missing_of([name for where in MARKDOWN if str(Path(where).parent) == folder for name in names_of(where)]) == []


def test_every_file_and_module_that_a_docstring_or_comment_names_is_there() -> None:
    names = [name for where in SOURCES if where not in PLANTS for name in names_in_prose(prose_of((ROOT / where).read_text("utf-8")), where, TREE)]

    assert len(names) > 50
    assert missing_of(names) == []


def test_every_file_and_module_that_a_setting_or_a_case_table_names_is_there() -> None:
    assert missing_of([name for where in SETTINGS for name in names_in_full((ROOT / where).read_text("utf-8"), where)]) == []


@pytest.mark.parametrize("where", MAPS)
def test_a_map_would_be_noticed_if_anything_that_it_names_went_away(where: str) -> None:
    names = [name for name in names_of(where) if TREE.has(name)]
    gone = [
        Name(f"({name.text[1:-1].split('#')[0].rstrip('/')}x)" if name.text.startswith("(") else f"{name.text.rstrip('/')}x", name.line, where)
        for name in names
    ]

    assert len(names) >= 5
    assert [str(name) for name in gone if TREE.has(name)] == []


@pytest.mark.parametrize("place", ELSEWHERE)
def test_nothing_is_excused_that_is_named_no_more(place: tuple[str, str]) -> None:
    where, text = place

    assert text.rstrip("/") in "".join((ROOT / name).read_text("utf-8") for name in ([where] if where != "*" else MARKDOWN))
    assert not TREE.has(Name(text, 1, "" if where == "*" else where))


@pytest.mark.parametrize("component", ["protocol", "coordinator", "clients", "harness", "chaos"])
def test_the_readme_of_a_component_names_each_of_its_rooms(component: str) -> None:
    package = f"{component}/groupproof/{component}/"
    rooms = {path.removeprefix(package).split("/")[0] for path in TREE.files if path.startswith(package) and path.endswith("/__init__.py")} - {
        "__init__.py"
    }
    text = (ROOT / component / "README.md").read_text("utf-8")

    assert len(rooms) >= 4
    assert [room for room in rooms if f"`{room}/" not in text] == []
    assert [room for room in rooms if f"{component}/…/{room}/" not in (ROOT / "docs/architecture.md").read_text("utf-8")] == []


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A repository of a few files."""
    root: Path = tmp_path_factory.mktemp("root")
    for path, text in {
        "README.md": "", "docs/a.md": "", "harness/README.md": "", "harness/groupproof/harness/__init__.py": "",
        "harness/groupproof/harness/judging/__init__.py": "from x import Ruling as Ruled\n",
        "harness/groupproof/harness/judging/ruling.py": "RULES = 1\nclass Ruling: ...\n", "protocol/groupproof/protocol/rules/levels.toml": "",
        "protocol/groupproof/protocol/faults.py": "",
    }.items():  # fmt: skip
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return tree_of(root)


@pytest.mark.parametrize(
    "text",
    [
        "`groupproof.harness.judging.ruling`", "groupproof.harness.judging.ruling.Ruling", "`groupproof.harness.judging.ruling.RULES`", "groupproof.harness.judging.Ruled",
        "in harness/groupproof/harness/judging/ruling.py, line 3", "`harness/…/judging/`", "`harness/…/judging/*.py`", "`judging/ruling.py`", "`judging/ruling`",
        "`ruling.py`", "[it](../README.md)", "[it](a.md#there)", "[it](../harness/groupproof/harness/judging/)", "`rules/levels.toml`",
        "[elsewhere](https://example.org/x.py)", "`harness/groupproof/harness/NAME.py`", "`heartbeat/classic/no-group`", "```\njudging/wrong.py\n```",
    ],
)  # fmt: skip
def test_what_is_there_may_be_named(small: Tree, text: str) -> None:
    assert small.missing(names_in_markdown(f"\n{text}\n", "docs/a.md", small)) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("`groupproof.harness.judging.rulings`", "groupproof.harness.judging.rulings"),
        ("groupproof.harness.judging.ruling.Rulings", "groupproof.harness.judging.ruling.Rulings"),
        ("groupproof.harnes.judging", "groupproof.harnes.judging"),
        ("see harness/groupproof/harness/judging/rulings.py.", "harness/groupproof/harness/judging/rulings.py"),
        ("`harness/…/folds/`", "harness/…/folds"),
        ("`harness/…/judging/*.toml`", "harness/…/judging/*.toml"),
        ("`judging/rulings.py`", "judging/rulings.py"),
        ("`judging/oracle/`", "judging/oracle/"),
        ("`rulings.py`", "rulings.py"),
        ("`suites/`", "suites/"),
        ("`spec/levels.toml`", "spec/levels.toml"),
        ("[it](b.md)", "(b.md)"),
        ("[it](../../README.md)", "(../../README.md)"),
        ("```\nharness/groupproof/harness/wrong.py\n```", "harness/groupproof/harness/wrong.py"),
    ],
)
def test_a_planted_wrong_name_is_noticed(small: Tree, text: str, says: str) -> None:
    (missing,) = small.missing(names_in_markdown(f"\n\n{text}\n", "docs/a.md", small))

    assert missing == f"docs/a.md:{3 + text.startswith('```')}: {says}"


def test_the_readme_of_a_component_speaks_of_its_own_files(small: Tree) -> None:
    assert small.missing(names_in_markdown("`faults.py`, `rules/levels.toml`", "docs/a.md", small)) == []
    assert len(small.missing(names_in_markdown("`faults.py`, `rules/levels.toml`", "harness/README.md", small))) == 2


def test_docstrings_and_comments_are_read_and_code_is_not(small: Tree) -> None:
    text = '"""First.\n\nSee `wrong.py`.\n"""\nPATH = "`other.py`"\ndef f():\n    """As `ruling.py`."""\n    return 1  # by `third.py`\n'

    assert small.missing(names_in_prose(prose_of(text), "harness/x.py", small)) == ["harness/x.py:3: wrong.py", "harness/x.py:8: third.py"]
