"""Crates: fetched once by a lock file, built once, started without cargo. A fake on PATH stands for cargo; the real one runs in the tests of the shims."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.clients.registry.toolchains.fake_programs import fake_program

from groupproof.clients.registry.install_cache import ProvisionError
from groupproof.clients.registry.registered_clients import resolve
from groupproof.clients.registry.toolchains import cargo_crates
from groupproof.clients.registry.toolchains.cargo_crates import CargoCrates, crate_sources
from groupproof.clients.registry.toolchains.programs import NoSuchRelease
from groupproof.clients.registry.toolchains.toolchain import SHIMS

# Notes each call with what it was given, makes a lock file where none is there, and builds programs.
CARGO = """
echo "$1" "$*" >> {notes}
cat */Cargo.toml >> {notes}
case $1 in
  fetch) test -f Cargo.lock || echo resolved > Cargo.lock ;;
  build) cat Cargo.lock >> {notes}; mkdir -p "$5/release"; echo program > "$5/release/$7" ;;
  metadata) printf '{{"packages": [{{"name": "other", "manifest_path": "/x/Cargo.toml"}}, {{"name": "one-sys", "manifest_path": "/y/one-sys/Cargo.toml"}}]}}' ;;
esac
"""


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a cargo on PATH that notes what it was asked; return the notes."""
    path = tmp_path / "notes"
    fake_program(tmp_path / "bin" / "cargo", "PATH=/usr/bin:/bin\n" + CARGO.format(notes=path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return path


def _program(subject: str, cache: Path) -> str:
    client, toolchain = resolve(subject), CargoCrates()
    installed = toolchain.install(client, cache, print)
    return toolchain.start(client, installed, toolchain.build(client, installed, cache, print)).argv[0]


def _asked(notes: Path, verb: str) -> list[str]:
    return [line for line in notes.read_text().splitlines() if line.startswith(f"{verb} ")]


def test_a_listed_release_is_fetched_and_built_by_the_lock_file_of_the_repository(notes: Path, tmp_path: Path) -> None:
    program = _program("krafka", tmp_path)

    assert _asked(notes, "fetch") == ["fetch fetch --locked"]
    (built,) = _asked(notes, "build")
    assert built.startswith("build build --locked --release --target-dir ")
    assert built.endswith("--package krafka-shim")
    assert (SHIMS / "rust" / "locks" / f"{resolve('krafka')}.lock".replace("@", "-")).read_text() in notes.read_text()
    assert Path(program).read_text() == "program\n"
    assert f"/rust/shim-krafka-{resolve('krafka').release}-" in program


def test_a_release_that_is_not_listed_gets_a_lock_file_that_is_kept(notes: Path, tmp_path: Path) -> None:
    _program("krafka@99.0.0", tmp_path)

    assert _asked(notes, "fetch") == ["fetch fetch"]
    assert 'krafka = "=99.0.0"' in notes.read_text()
    assert notes.read_text().endswith("resolved\n")
    assert [path.name for path in next((tmp_path / "rust").glob("krafka-99.0.0-*")).iterdir()] == ["Cargo.lock"]


def test_a_program_that_is_in_the_cache_needs_no_cargo(notes: Path, tmp_path: Path) -> None:
    first = _program("krafka", tmp_path)
    asked = notes.read_text()
    (tmp_path / "bin" / "cargo").unlink()

    assert _program("krafka", tmp_path) == first
    assert notes.read_text() == asked


def test_a_shim_that_changed_is_built_again_where_its_client_is_compiled_already(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(SHIMS / "rust", tmp_path / "shims" / "rust")
    monkeypatch.setattr(cargo_crates, "SHIMS", tmp_path / "shims")
    source = tmp_path / "shims" / "rust" / "krafka" / "src" / "main.rs"
    first = _program("krafka", tmp_path)
    source.write_text(source.read_text("utf-8") + "// another comment\n", "utf-8")

    assert _program("krafka", tmp_path) != first
    assert len(_asked(notes, "fetch")) == 1
    assert len(set(_asked(notes, "build"))) == 1


def test_without_cargo_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(ProvisionError, match=r"no cargo here: install Rust 1\.95 or newer with cargo \(https://rustup\.rs\); it is needed for Rust"):
        _program("krafka", tmp_path)


@pytest.mark.parametrize(
    ("complaint", "error", "message"),
    [
        ('error: failed to select a version for the requirement `krafka = "=9.9.9"`', NoSuchRelease, "krafka@9.9.9"),
        ("    Updating crates.io index\nerror: failed to get `krafka`\n", ProvisionError, r"krafka@9\.9\.9 could not be built: error: failed to get"),
    ],
)
def test_a_refusal_of_cargo_has_its_own_error(
    complaint: str, error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "said").write_text(complaint)
    fake_program(tmp_path / "bin" / "cargo", f"/bin/cat {tmp_path / 'said'} >&2; exit 101")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    with pytest.raises(error, match=message):
        _program("krafka@9.9.9", tmp_path / "cache")


def test_the_sources_of_a_crate_are_where_cargo_keeps_them(notes: Path, tmp_path: Path) -> None:
    assert crate_sources("one-sys@1.2.3+4", tmp_path / "work") == Path("/y/one-sys")
    assert 'one-sys = { version = "=1.2.3+4", default-features = false }' in (tmp_path / "work" / "Cargo.toml").read_text()
    assert _asked(notes, "metadata") == ["metadata metadata --format-version 1"]
