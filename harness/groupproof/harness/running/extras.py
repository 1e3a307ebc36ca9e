"""The optional packages: which extra brings each, and the command that installs a missing one."""

from __future__ import annotations

import importlib.util
import shlex
import shutil
import sys
from collections.abc import Iterable
from typing import Final

from groupproof.harness.model.errors import BrokenEnvironment

__all__ = ["EXTRAS", "absence", "absent", "cure", "need"]

EXTRAS: Final = {
    "fuzz": ("hypothesis",),
    "chaos": ("docker", "toxiproxy", "requests"),
    "spark": ("pyspark", "pyarrow", "pandas", "numpy", "py4j"),
    "zookeeper": ("kazoo",),
    "pytest": ("pytest",),
}
"""The packages of each extra by import name; of their dependencies, only the packages that we import ourselves."""


def cure(*extras: str) -> str:
    """Return the command that installs the extras into this Python. The `pip` on PATH may belong to another Python."""
    package = f"'groupproof[{','.join(extras)}]'"
    python = shlex.quote(sys.executable)
    if importlib.util.find_spec("pip") is None and shutil.which("uv") is not None:
        return f"uv pip install {package} --python {python}"
    return f"{python} -m pip install {package}"


def absent(extra: str) -> tuple[str, ...]:
    """Return the extra's packages that are not installed."""
    return _missing(EXTRAS[extra])


def need(feature: str, *packages: str) -> None:
    """Raise `BrokenEnvironment` with the install command if one of these packages is missing; `feature` says who needs them."""
    if missing := _missing(packages):
        extras = dict.fromkeys(extra for package in packages for extra, names in EXTRAS.items() if package in names)
        raise BrokenEnvironment(f"{feature} needs {missing[0]}, which is not installed; get it with: {cure(*extras)}")


def absence(errors: Iterable[BaseException]) -> BrokenEnvironment | None:
    """Return the error to report if one of the errors is an import of a package of an extra; None otherwise."""
    for error in errors:
        if isinstance(error, ModuleNotFoundError) and error.name is not None:
            package = error.name.partition(".")[0]
            for extra, packages in EXTRAS.items():
                if package in packages:
                    return BrokenEnvironment(f"this needs {package}, which is not installed; get it with: {cure(extra)}")
    return None


def _missing(packages: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in packages if importlib.util.find_spec(name) is None)
