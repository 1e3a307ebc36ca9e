"""The one file: which wheels go into it, and that it certifies with nothing around it but a Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import dist
import pytest
from packaging.utils import parse_wheel_filename
from tests.ci.jobs import ROOT

ZSTANDARD = "zstandard-0.25.0-cp312-cp312-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
ARM = "zstandard-0.25.0-cp312-cp312-macosx_11_0_arm64.whl"
MUSL = "zstandard-0.25.0-cp312-cp312-musllinux_1_2_x86_64.whl"
PURE = "trio-0.35.0-py3-none-any.whl"
THIS_PYTHON = ".".join(str(part) for part in sys.version_info[:2])


def _fits(wheel: str, platform: str, python: str) -> bool:
    tags = set(dist.target(platform, python)["compatible_tags"])
    return any(str(tag) in tags for tag in parse_wheel_filename(wheel)[3])


@pytest.mark.parametrize(
    ("wheel", "platform", "python", "fits"),
    [
        (ZSTANDARD, "linux-x86_64", "3.12", True),
        (ZSTANDARD, "linux-x86_64", "3.13", False),
        (ZSTANDARD, "linux-aarch64", "3.12", False),
        (ARM, "macos-arm64", "3.12", True),
        (ARM, "macos-x86_64", "3.12", False),
        (MUSL, "linux-x86_64", "3.12", False),
        *((PURE, platform, python, True) for platform in dist.PLATFORMS for python in dist.PYTHONS),
    ],
)
def test_a_wheel_is_used_for_the_platforms_and_pythons_that_it_is_for(wheel: str, platform: str, python: str, fits: bool) -> None:
    assert _fits(wheel, platform, python) is fits


def test_a_platform_is_asked_for_by_its_name() -> None:
    with pytest.raises(SystemExit, match=r"no such platform: windows; there are linux-x86_64, "):
        dist.main(["windows"])


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    built = subprocess.run(
        [sys.executable, str(ROOT / "ci" / "dist.py"), "--python", THIS_PYTHON, "--output", str(folder)], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert [path.suffix for path in sorted(folder.iterdir())] == [".whl", ".pyz"]
    return folder / "groupproof.pyz"


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.network
def test_the_file_certifies_with_nothing_around_it_but_a_python(file: Path, tmp_path: Path) -> None:
    only = [
        part for case in ("heartbeat/classic/steady", "join/classic/subscription", "commit/classic/illegal-generation") for part in ("--only", case)
    ]
    environment = {"HOME": str(tmp_path)}  # no PATH and no PYTHONPATH, and an interpreter outside of this environment
    python = str(Path(sys.executable).resolve())
    ran = subprocess.run(
        [python, "-I", str(file), "certify", "client", "groupproof", *only, "--json", "--output", str(tmp_path / "report")],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert ran.returncode == 2, ran.stderr  # a selection makes no grade
    assert {case["id"]: case["verdict"] for case in json.loads(ran.stdout)["cases"]} == dict.fromkeys(only[1::2], "OK")


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.network
def test_shims_and_their_library_are_in_the_file(file: Path, tmp_path: Path) -> None:
    python = str(Path(sys.executable).resolve())
    ran = subprocess.run(
        [python, "-I", str(file), "shim", "library", "java"], env={"HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )

    assert (Path(ran.stdout.strip()) / "pom.xml").is_file()
