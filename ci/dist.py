"""Build what users install without a clone: the wheel, and one file that runs with nothing but a Python, which has everything in it.

The file is a PEX (decision 0025). Native parts are in it by platform and by release of Python; its first start unpacks those that fit.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from packaging.tags import compatible_tags, cpython_tags, mac_platforms

__all__ = ["PLATFORMS", "PYTHONS", "ROOT", "main", "pure_wheel", "target", "wheel_platforms"]

ROOT: Final = Path(__file__).parents[1]
TOOLS: Final = ROOT / ".cache" / "dist-tools"
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS: Final = ("linux-x86_64", "linux-aarch64", "macos-arm64", "macos-x86_64")
FILE: Final = "groupproof.pyz"
BUILD_ONLY: Final = frozenset({"hatchling", "pathspec", "pluggy", "tomlkit", "trove_classifiers"})
"""What the lock file has for building alone."""
_GLIBC_MINORS: Final = range(28, 16, -1)
_SYSTEMS: Final = {"linux": ("Linux", "linux"), "macos": ("Darwin", "darwin")}


def wheel_platforms(name: str) -> list[str]:
    """Return the tags of wheels that run on a platform (`linux-x86_64`), the most specific first: glibc 2.28 or later, macOS 14."""
    system, _, machine = name.partition("-")
    if system == "macos":
        return list(mac_platforms((14, 0), machine))
    return [*(f"manylinux_2_{minor}_{machine}" for minor in _GLIBC_MINORS), f"manylinux2014_{machine}", f"linux_{machine}"]


def target(name: str, python: str) -> dict[str, Any]:
    """Return what pex calls a complete platform: the tags that fit there, and the environment that markers are evaluated in."""
    version = tuple(int(part) for part in python.split("."))
    platforms = wheel_platforms(name)
    tags = [*cpython_tags(version, platforms=platforms), *compatible_tags(version, interpreter="cp" + python.replace(".", ""), platforms=platforms)]
    system, sys_platform = _SYSTEMS[name.partition("-")[0]]
    return {
        "marker_environment": {
            "implementation_name": "cpython", "implementation_version": f"{python}.0", "os_name": "posix", "platform_machine": name.partition("-")[2],
            "platform_python_implementation": "CPython", "platform_system": system, "python_full_version": f"{python}.0", "python_version": python,
            "sys_platform": sys_platform,
        },
        "compatible_tags": [str(tag) for tag in tags],
    }  # fmt: skip


def _here() -> str:
    system = "macos" if sys.platform == "darwin" else "linux"
    return f"{system}-{platform.machine()}"


def _run(*command: str | Path) -> None:
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(str(part) for part in command[:6])} … ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def _pip(*arguments: str | Path) -> None:
    _run(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments)


def _install_tools() -> None:
    """Install pex by its lock file, beside what the project has, once for each lock file."""
    lock = ROOT / "ci" / "dist.lock"
    stamp = TOOLS / "installed.lock"
    if stamp.is_file() and stamp.read_text("utf-8") == lock.read_text("utf-8"):
        return
    shutil.rmtree(TOOLS, ignore_errors=True)
    _pip("install", "--require-hashes", "--only-binary", ":all:", "--target", TOOLS, "-r", lock)
    stamp.write_text(lock.read_text("utf-8"), "utf-8")


def _download(wheels: Path, platforms: Sequence[str], pythons: Sequence[str]) -> None:
    """Fetch the locked wheels for each platform and release of Python; what is pure comes once."""
    for name in platforms:
        tags = [part for tag in wheel_platforms(name) for part in ("--platform", tag)]
        for python in pythons:
            which = ["--only-binary", ":all:", "--no-deps", "--implementation", "cp", "--python-version", python, *tags]
            for lock in ("requirements.lock", "dist.lock"):
                _pip("download", *which, "--require-hashes", "-r", ROOT / "ci" / lock, "--dest", wheels)


def pure_wheel(folder: Path) -> Path:
    """Build the wheel that runs everywhere into the folder, and return it."""
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    (wheel,) = folder.glob("groupproof-*.whl")
    return wheel


def _without(wheels: Path, names: Iterable[str]) -> None:
    for path in wheels.glob("*.whl"):
        if path.name.partition("-")[0] in names:
            path.unlink()


def _pack(wheels: Path, file: Path, targets: Sequence[dict[str, Any]]) -> None:
    """Make the file: pip comes along, since it installs the Python clients that are registered."""
    named: list[str | Path] = []
    for number, described in enumerate(targets):
        path = wheels / f"{number}.json"
        path.write_text(json.dumps(described), "utf-8")
        named += ["--complete-platform", path]
    inside: list[str | Path] = ["groupproof", "pip", "--pre-resolved-dists", wheels, *named]
    _run(
        "env", f"PYTHONPATH={TOOLS}", sys.executable, "-m", "pex", *inside, "-c", "groupproof", "--venv", "--include-tools",
        "--python-shebang", "/usr/bin/env python3", "-o", file,
    )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("platforms", nargs="*", default=[_here()], help=f"of {', '.join(PLATFORMS)}; the platform of this machine by default")
    parser.add_argument("--python", action="append", choices=PYTHONS, help="the releases of Python for which the file is made (default: all)")
    parser.add_argument("--wheels", type=Path, help="use only the wheels of this folder, and none from an index")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="the folder for wheel and file")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.platforms) - set(PLATFORMS):
        raise SystemExit(f"no such platform: {', '.join(sorted(unknown))}; there are {', '.join(PLATFORMS)}")
    pythons = chosen.python or PYTHONS
    chosen.output.mkdir(parents=True, exist_ok=True)
    _install_tools()
    with tempfile.TemporaryDirectory() as folder:
        wheels = Path(folder)
        shutil.copy(pure_wheel(wheels), chosen.output)
        if chosen.wheels is None:
            _download(wheels, chosen.platforms, pythons)
        else:
            shutil.copytree(chosen.wheels, wheels, dirs_exist_ok=True)
        _without(wheels, {*BUILD_ONLY, "pex"})
        _pack(wheels, chosen.output / FILE, [target(name, python) for name in chosen.platforms for python in pythons])
    print(
        f"{chosen.output / FILE}: {(chosen.output / FILE).stat().st_size // 1_000_000} MB, for {', '.join(chosen.platforms)} and Python {', '.join(pythons)}"
    )


if __name__ == "__main__":
    main()
