from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from groupproof.chaos.images.rootfs import RootFs, libraries_of
from groupproof.harness.model.errors import BrokenEnvironment

pytestmark = pytest.mark.skipif(shutil.which("ldd") is None, reason="absent: ldd, which tells what a program loads")


def test_a_program_brings_its_loader_and_its_libraries_and_a_text_brings_nothing(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("#!/bin/sh\n")
    found = libraries_of([Path(sys.executable).resolve(), text])

    assert any(path.name.startswith("libc.so") for path in found)
    assert any(path.name.startswith("ld-") for path in found)
    assert libraries_of([text]) == []


def test_without_ldd_no_image_is_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BrokenEnvironment, match="images are built on a Linux with ldd"):
        libraries_of([Path(sys.executable)])


def test_the_tar_has_files_at_their_places_for_everybody_to_read(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "inner" / "__pycache__").mkdir(parents=True)
    (source / "inner" / "__pycache__" / "x.pyc").write_text("")
    (source / "inner" / "secret").write_text("a")
    (source / "inner" / "secret").chmod(0o600)
    shutil.copy("/bin/sh", source / "program")
    (source / "program").chmod(0o700)
    (source / "link").symlink_to(source / "inner" / "secret")
    files = RootFs(tmp_path / "files.tar")
    files.add(source, "/opt/it", wanted=lambda path: path.name != "__pycache__")
    files.add_libraries()
    files.write()

    with tarfile.open(tmp_path / "files.tar") as tar:
        entries = {entry.name: entry for entry in tar.getmembers()}
        linked = tar.extractfile("opt/it/link")
        assert linked is not None
        assert linked.read() == b"a"
    assert {name for name in entries if name.startswith("opt")} == {"opt/it/inner/secret", "opt/it/program", "opt/it/link"}
    assert (entries["opt/it/inner/secret"].mode & 0o777, entries["opt/it/program"].mode & 0o777) == (0o644, 0o755)
    assert entries["tmp"].mode == 0o1777
    assert any("libc.so" in name for name in entries)
    assert "etc/passwd" in entries
    assert {entry.uid for entry in entries.values()} == {0}


def test_a_program_of_the_image_runs_with_nothing_else(tmp_path: Path) -> None:
    """Unpacked, the files suffice: the program runs in a root of its own, where that is allowed."""
    files = RootFs(tmp_path / "files.tar")
    files.add(Path("/bin/sh"))
    files.add_libraries()
    files.write()
    (tmp_path / "root").mkdir()
    subprocess.run(["tar", "-xf", tmp_path / "files.tar", "-C", tmp_path / "root"], check=True)
    argv = ["chroot", str(tmp_path / "root"), "/bin/sh", "-c", "echo here"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if "Operation not permitted" in done.stderr:
        pytest.skip("absent: the right to change the root")

    assert done.stdout == "here\n"
