"""Build the wheel with compiled modules: the pure wheel, and beside what `ci/compiled.toml` names an extension module each, which Python prefers.

mypyc writes the C, of a copy of the source that `ci/compiled_source.py` makes; `cc` compiles it for this Python and this machine. The sources stay in the wheel.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import csv
import hashlib
import importlib.util
import io
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from compiled_source import CompiledSet, bases_in, compilable, fields_in
from dist import ROOT, pure_wheel

__all__ = ["EXIT_ABSENT", "absent", "built", "compiled_modules", "main", "retagged", "wheel_tag"]

EXIT_ABSENT: Final = 4
"""What is needed is not there: the code that `groupproof` ends with where the environment is at fault."""
MODULES: Final = ROOT / "ci" / "compiled.toml"
GROUP: Final = "groupproof"
_MYPY: Final = (
    "--namespace-packages", "--explicit-package-bases", "--follow-imports=silent", "--ignore-missing-imports",
    f"--python-version={sys.version_info.major}.{sys.version_info.minor}",
)  # fmt: skip
_CC: Final = ("-O1", "-g0", "-fPIC", "-fwrapv", "-fno-strict-aliasing", "-DNDEBUG", "-w")
"""`-O2` and `-O3` gain nothing (decision 67)."""


def compiled_modules() -> list[str]:
    """Return the names of the modules that are compiled."""
    return [f"{package}.{name}" for package, names in tomllib.loads(MODULES.read_text("utf-8"))["modules"].items() for name in names]


def absent() -> str | None:
    """Say what a build lacks here, and how to get it; None where it lacks nothing."""
    compiler = _compiler()[0]
    if shutil.which(compiler) is None:
        return f"no C compiler {compiler}: install one (Debian: gcc), or name it in CC"
    header = Path(sysconfig.get_paths()["include"], "Python.h")
    if not header.is_file():
        return f"no {header.name} of Python {sysconfig.get_python_version()}: install Python's headers (Debian: python3-dev)"
    if sys.version_info >= (3, 12) and importlib.util.find_spec("setuptools") is None:
        return "no setuptools, which mypyc asks for since Python 3.12: install it beside mypy"
    return None


def wheel_tag() -> str:
    """Return the tag of a wheel that runs with this release of Python on this platform."""
    release = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{release}-{release}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "cc"))


# The sources that mypyc gets


def _file(folder: Path, module: str) -> Path:
    plain = folder.joinpath(*module.split(".")).with_suffix(".py")
    return plain if plain.is_file() else plain.with_suffix("") / "__init__.py"


def _prepare(folder: Path, modules: Iterable[str]) -> None:
    """Change the modules' sources in the folder into what mypyc takes."""
    files = {module: _file(folder, module) for module in modules}
    sources = {module: file.read_text("utf-8") for module, file in files.items()}
    classes = frozenset(name for module, source in sources.items() for name in bases_in(source, module))
    fields = {name: own for module, source in sources.items() for name, own in fields_in(source, module).items()}
    whole = CompiledSet(classes, fields)
    for module, file in files.items():
        file.write_text(compilable(sources[module], module=module, compiled=whole), "utf-8")


# C, and the extension modules


def _extensions(folder: Path, modules: Iterable[str]) -> list[Any]:
    """Let mypyc write the C of all modules as one group: only then they call one another directly."""
    from mypyc.build import mypycify

    paths = [str(_file(folder, module).relative_to(folder)) for module in modules]
    with contextlib.chdir(folder):
        return list(mypycify([*_MYPY, *paths], opt_level="1", multi_file=True, group_name=GROUP, target_dir="build"))


def _compile(folder: Path, extensions: Sequence[Any], jobs: int) -> list[Path]:
    """Compile and link; return the extension modules, by their paths in the folder. The longest files go first."""
    made: dict[str, Path] = {}
    includes = {source: extension.include_dirs for extension in extensions for source in extension.sources}
    flags = {
        source: [flag for flag in extension.extra_compile_args if flag[:2] not in ("-O", "-g")]
        for extension in extensions
        for source in extension.sources
    }

    def compile_one(source: str) -> None:
        target = folder / "build" / f"{hashlib.sha256(source.encode()).hexdigest()[:20]}.o"
        include = [f"-I{path}" for path in (sysconfig.get_paths()["include"], *includes[source])]
        _run([*_compiler(), "-c", *flags[source], *_CC, *include, source, "-o", target], folder)
        made[source] = target

    def link(extension: Any) -> Path:
        path = Path(*extension.name.split(".")).with_name(extension.name.rpartition(".")[2] + sysconfig.get_config_var("EXT_SUFFIX"))
        bundle = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
        _run([*_compiler(), *bundle, *(made[source] for source in extension.sources), "-o", path], folder)
        return path

    _at_once(compile_one, sorted(includes, key=lambda source: (folder / source).stat().st_size, reverse=True), jobs)
    return _at_once(link, extensions, jobs)


def _at_once(work: Callable[[Any], Any], parts: Iterable[Any], jobs: int) -> list[Any]:
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(work, parts))


def _run(command: Sequence[str | Path], folder: Path) -> None:
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {done.returncode} at {command[-3]}:\n{done.stderr[-2000:]}")


# The wheel


def retagged(pure: Path, added: Path, paths: Iterable[Path], tag: str, output: Path) -> Path:
    """Write the pure wheel anew under the tag, with the files at these paths of `added`."""
    name, version, *_ = pure.name.split("-")
    target, rows = output / f"{name}-{version}-{tag}.whl", list[tuple[str, str, int | str]]()
    with zipfile.ZipFile(pure) as before, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as after:
        contents = {entry: before.read(entry) for entry in before.namelist() if not entry.endswith("/RECORD")}
        contents |= {path.as_posix(): (added / path).read_bytes() for path in paths}
        for entry, content in contents.items():
            content = _tagged(content, tag) if entry.endswith(".dist-info/WHEEL") else content
            after.writestr(entry, content)
            rows.append((entry, "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode(), len(content)))
        record = f"{name}-{version}.dist-info/RECORD"
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([*rows, (record, "", "")])
        after.writestr(record, text.getvalue())
    return target


def _tagged(content: bytes, tag: str) -> bytes:
    lines = [line for line in content.decode().splitlines() if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    return "\n".join([*lines, "Root-Is-Purelib: false", f"Tag: {tag}", ""]).encode()


def built(output: Path, *, jobs: int) -> Path:
    """Build the wheel into the folder, and return it."""
    output.mkdir(parents=True, exist_ok=True)
    modules = compiled_modules()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pure, sources = pure_wheel(folder), folder / "sources"
        with zipfile.ZipFile(pure) as wheel:
            wheel.extractall(sources)
        _prepare(sources, modules)
        paths = _compile(sources, _extensions(sources, modules), jobs)
        return retagged(pure, sources, paths, wheel_tag(), output)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="the folder for the wheel")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many files are compiled at once")
    chosen = parser.parse_args(arguments)
    lacks = absent()
    if lacks is not None:
        print(f"The compiled wheel is reported as absent: {lacks}", file=sys.stderr)
        return EXIT_ABSENT
    wheel = built(chosen.output.absolute(), jobs=chosen.jobs)
    print(f"{wheel}: {wheel.stat().st_size // 1_000_000} MB, {len(compiled_modules())} modules compiled")
    return 0


if __name__ == "__main__":
    sys.exit(main())
