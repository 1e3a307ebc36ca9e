"""The image of the kit, made of the one file without a registry of images, out of this machine's files, and run."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import dist
import pytest
from packaging.requirements import Requirement
from tests.chaos.engines import running_engine
from tests.ci.jobs import ROOT

from groupproof.chaos.images.container_engine import Engine
from groupproof.chaos.images.rootfs import RootFs

__all__ = ["running_engine"]

BASE, IMAGE = "groupproof/test-python", "groupproof/test-kit"
UNWANTED = {"__pycache__", "dist-packages", "site-packages", "ensurepip", "idlelib", "lib2to3", "test", "tests", "tkinter", "turtledemo"}
# What the Dockerfile's commands are: of the base, as in python:3.12-slim, a shell and Python with pip.
PROGRAMS = ("/bin/sh", "/usr/bin/env")
# What wheels of manylinux may count on.
LIBRARIES = ("libdl", "libgcc_s", "libm", "libpthread", "librt", "libstdc++", "libutil")


def base(folder: Path) -> None:
    """Make the context of a base image: this Python, its pip, and a shell."""
    files, standard = RootFs(folder / "files.tar"), Path(sysconfig.get_path("stdlib"))
    for program in PROGRAMS:
        files.add(Path(program))
    files.add(Path(sys.executable).resolve(), "/usr/local/bin/python3")
    files.add(standard, f"/usr/local/lib/{standard.name}", wanted=lambda path: path.name not in UNWANTED and not path.name.startswith("config-"))
    files.add(
        Path(sysconfig.get_path("purelib")) / "pip",
        f"/usr/local/lib/{standard.name}/site-packages/pip",
        wanted=lambda path: path.name != "__pycache__",
    )
    for name in LIBRARIES:
        for library in Path("/lib").glob(f"*-linux-gnu/{name}.so.?"):
            files.add(library)
    files.add_libraries()
    files.write()
    (folder / "Dockerfile").write_text("FROM scratch\nADD files.tar /\nENV PATH=/usr/local/bin:/usr/bin:/bin\nWORKDIR /tmp\n")


def wheels(folder: Path) -> None:
    """Pack what the lock file names into wheels again, out of what is installed here."""
    folder.mkdir()
    pack(distribution("pip"), folder)
    for line in (ROOT / "ci" / "requirements.lock").read_text().splitlines():
        if "==" not in line or line.startswith(" "):
            continue
        wanted = Requirement(line.rstrip(" \\"))
        if wanted.marker is None or wanted.marker.evaluate():
            try:
                pack(distribution(wanted.name), folder)
            except PackageNotFoundError:
                pytest.skip(f"absent: {wanted.name} is not installed here; run ci/setup dev")


def pack(found: Distribution, folder: Path) -> None:
    tags = [line.partition(": ")[2] for line in (found.read_text("WHEEL") or "").splitlines() if line.startswith("Tag: ")]
    name = f"{found.metadata['Name'].replace('-', '_').replace('.', '_')}-{found.version}-{tags[-1]}.whl"
    with zipfile.ZipFile(folder / name, "w") as wheel:
        for file in found.files or ():
            if (
                not file.parts[0].startswith("..")
                and "__pycache__" not in file.parts
                and file.name not in ("INSTALLER", "REQUESTED", "direct_url.json")
            ):
                wheel.write(str(file.locate()), str(file))


def docker(*arguments: str, **env: str) -> str:
    done = subprocess.run(
        ["docker", *arguments], env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False
    )
    assert done.returncode in (0, 2), done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def image(running_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("kit")
    (folder / "base").mkdir()
    base(folder / "base")
    running_engine.build(BASE, folder / "base")
    wheels(folder / "wheels")
    dist.main(["--python", f"3.{sys.version_info.minor}", "--wheels", str(folder / "wheels"), "--output", str(folder / "dist")])
    built = docker(
        "build",
        "--network",
        "host",
        "--build-arg",
        f"BASE={BASE}",
        "--file",
        str(ROOT / "ci" / "Dockerfile"),
        "--tag",
        IMAGE,
        str(folder / "dist"),
        DOCKER_BUILDKIT="0",
    )
    assert "Successfully tagged" in built
    yield IMAGE
    docker("rmi", "--force", IMAGE, BASE)


@pytest.mark.slow
@pytest.mark.network
@pytest.mark.docker
def test_the_kit_certifies_in_its_image(image: str, tmp_path: Path) -> None:
    printed = docker(
        "run", "--rm", "--network", "host", "--volume", f"{tmp_path}:/work", image,
        "certify", "client", "groupproof", "--only", "heartbeat/classic/rebalance-in-progress",
    )  # fmt: skip

    assert " by kafka-4.1 in " in printed
    assert ": 1 OK" in printed
    assert (tmp_path / "reports" / "groupproof-0.1.0" / "report.json").is_file()
