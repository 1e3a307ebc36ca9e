"""Go modules: resolved once, built once, started without Go. A fake on PATH stands for Go; the real one runs in the tests of the shims."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.clients.registry.toolchains.fake_programs import fake_program

from groupproof.clients.registry.install_cache import ProvisionError
from groupproof.clients.registry.registered_clients import resolve
from groupproof.clients.registry.toolchains import go_modules
from groupproof.clients.registry.toolchains.go_modules import GoModules
from groupproof.clients.registry.toolchains.programs import NoSuchRelease
from groupproof.clients.registry.toolchains.toolchain import SHIMS

# Notes each call, resolves into a go.sum and builds a program.
GO = """
echo "$*" >> {notes}
echo "cgo $CGO_ENABLED" >> {notes}
cat go.mod >> {notes}
case $1 in
  list) echo sums > go.sum ;;
  build) test "$(cat go.sum)" = sums && echo program > program ;;
esac
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a Go on PATH that notes what it was asked; return the notes."""
    path = tmp_path / "notes"
    fake_program(tmp_path / "bin" / "go", "PATH=/usr/bin:/bin\n" + GO.format(notes=path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return path


def _program(subject: str, cache: Path) -> str:
    client, toolchain = resolve(subject), GoModules()
    installed = toolchain.install(client, cache, print)
    return toolchain.start(client, installed, toolchain.build(client, installed, cache, print)).argv[0]


def test_a_release_is_resolved_alone_and_built_against_the_sums_that_are_kept(notes: Path, tmp_path: Path) -> None:
    program = _program("franz-go@1.21.7", tmp_path)
    asked = notes.read_text().splitlines()

    assert asked[0] == "list -mod=mod -deps -tags=serversidebeta ./franz"
    assert "build -mod=readonly -trimpath -buildvcs=false -o program -tags=serversidebeta ./franz" in asked
    library = (SHIMS / "go" / "groupproof" / "go.mod").read_text("utf-8").split()[1]
    assert [line for line in asked if line.startswith(("require", "replace"))] == 2 * [
        "require github.com/twmb/franz-go v1.21.7",
        f"require {library} v0.0.0",
        f"replace {library} => ./groupproof",
    ]
    assert Path(program).read_text() == "program\n"
    assert "/go/shim-franz-go-1.21.7-" in program


def test_a_release_of_another_name_takes_the_place_of_the_module_that_the_shim_imports(notes: Path, tmp_path: Path) -> None:
    _program("sarama@1.31.0", tmp_path)
    asked = notes.read_text().splitlines()

    assert asked[0] == "list -mod=mod -deps -tags=eager_only,one_strategy ./sarama"
    assert "require github.com/IBM/sarama v0.0.0" in asked
    assert "replace github.com/IBM/sarama => github.com/Shopify/sarama v1.31.0" in asked


def test_a_program_that_is_in_the_cache_needs_no_go(notes: Path, tmp_path: Path) -> None:
    first = _program("franz-go", tmp_path)
    asked = notes.read_text()
    (tmp_path / "bin" / "go").unlink()

    assert _program("franz-go", tmp_path) == first
    assert notes.read_text() == asked


def test_without_go_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ProvisionError, match=r"no go here: install Go 1\.26 or newer \(https://go\.dev/dl\); it is needed for Go clients"):
        _program("sarama", tmp_path)


def test_a_shim_that_changed_is_built_again_and_resolved_again_only_when_it_imports_another_module(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(SHIMS / "go", tmp_path / "shims" / "go")
    monkeypatch.setattr(go_modules, "SHIMS", tmp_path / "shims")
    source = tmp_path / "shims" / "go" / "kafkago" / "main.go"
    counts, programs = [], []
    for addition in ("", "// another comment\n", '\nimport (\n\t"example.org/another/module"\n)\n'):
        source.write_text(source.read_text("utf-8") + addition, "utf-8")
        programs.append(_program("kafka-go", tmp_path))
        counts.append((notes.read_text().count("list -mod"), notes.read_text().count("build -mod")))

    assert counts == [(1, 1), (1, 2), (2, 3)]
    assert len(set(programs)) == 3


def test_an_older_release_of_sarama_is_built_without_what_it_has_not(notes: Path, tmp_path: Path) -> None:
    _program("sarama@1.48.0", tmp_path)
    _program("sarama@1.61.1", tmp_path)

    tagged = [line for line in notes.read_text().splitlines() if line.startswith("build")]
    assert ["-tags=eager_only" in line for line in tagged] == [True, False]


def test_a_client_with_parts_in_c_is_built_with_the_c_compiler_and_no_other_is(notes: Path, tmp_path: Path) -> None:
    with pytest.raises(ProvisionError, match=r"no cc here: install a C compiler"):
        _program("confluent-kafka-go", tmp_path)
    assert not notes.exists()

    fake_program(tmp_path / "bin" / "cc", "exit 0")
    _program("confluent-kafka-go", tmp_path)
    _program("franz-go", tmp_path)
    assert [line for line in notes.read_text().splitlines() if line.startswith("cgo")] == ["cgo 1", "cgo 1", "cgo 0", "cgo 0"]


@pytest.mark.parametrize(
    ("complaint", "error", "message"),
    [
        ("go: github.com/twmb/franz-go@v9.9.9: invalid version: unknown revision v9.9.9", NoSuchRelease, "franz-go@v9.9.9"),
        ("reading https://proxy.golang.org/x.info: 404 Not Found", NoSuchRelease, "franz-go@v9.9.9"),
        (
            "go: downloading a\ndial tcp: connection refused",
            ProvisionError,
            r"franz-go@9\.9\.9 could not be built: dial tcp: connection refused; is the",
        ),
    ],
)
def test_a_refusal_of_go_has_its_own_error(
    complaint: str, error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_program(tmp_path / "go", f"printf '{complaint}\\n' >&2; exit 1")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(error, match=message):
        _program("franz-go@9.9.9", tmp_path / "cache")
