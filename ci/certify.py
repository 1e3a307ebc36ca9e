"""Certify the registered clients against the reference coordinator, one after the other, and end with the gravest exit code.

`make certify` runs all of them; `make certify CLIENTS="aiokafka kafka-python@2.2.3"` those. Each report lands in `reports/NAME`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["CLIENTS", "Certification", "certify", "gravest", "main"]

CLIENTS: Final = ("kafka-python", "aiokafka", "confluent-kafka", "java")
REPORTS: Final = Path("reports")
INTERRUPTED: Final = 130

_PRECEDENCE: Final = (INTERRUPTED, 5, 3, 1, 4, 2, 0)  # contract, "Exit codes"
_MEANINGS: Final[Mapping[int, str]] = {
    0: "passed",
    1: "breaks the protocol, or an expectation is stale",
    2: "no full verdict",
    3: "wrong usage",
    4: "the shim or the environment is broken",
    5: "groupproof itself failed",
    INTERRUPTED: "interrupted",
}
# Programs without which a client cannot be certified here, and how to get them.
_NEEDS: Final[Mapping[str, Mapping[str, str]]] = {
    "java": {"javac": "a JDK, 17 or newer (Debian: default-jdk-headless)", "mvn": "Maven (Debian: maven)"}
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Certification:
    """What became of one client: its exit code, or what is missing to run it at all."""

    name: str
    code: int | None = None
    missing: tuple[str, ...] = ()


def gravest(codes: Iterable[int]) -> int:
    """Return the code that comes first in the contract's order; an unknown one counts as our own failure."""
    known = [code if code in _PRECEDENCE else 5 for code in codes]
    return min(known, key=_PRECEDENCE.index, default=0)


def certify(names: Sequence[str], command: Sequence[str], which: Callable[[str], str | None] = shutil.which) -> list[Certification]:
    """Run `command certify client NAME` for each name whose needs are there; stop after one that was interrupted."""
    done: list[Certification] = []
    for name in names:
        missing = tuple(how for program, how in _NEEDS.get(name.partition("@")[0], {}).items() if which(program) is None)
        if missing:
            done.append(Certification(name=name, missing=missing))
            continue
        print(f"\n=== {name}", flush=True)
        code = _run([*command, "certify", "client", name, "--output", str(REPORTS / name)])
        done.append(Certification(name=name, code=code))
        if code == INTERRUPTED:
            break
    return done


def _run(arguments: Sequence[str]) -> int:
    """Return the exit code; on Ctrl-C the child, which was struck as well, is left the time to write its partial report."""
    child = subprocess.Popen(arguments)
    try:
        return child.wait()
    except KeyboardInterrupt:
        child.wait()
        return INTERRUPTED


def _summary(done: Iterable[Certification]) -> Iterable[str]:
    for certification in done:
        if certification.code is None:
            yield f"  {certification.name:20} absent: install {' and '.join(certification.missing)}"
        else:
            yield f"  {certification.name:20} {certification.code}: {_MEANINGS.get(certification.code, 'unknown exit code')}; {REPORTS / certification.name / 'report.html'}"


def _merge(done: Iterable[Certification], command: Sequence[str]) -> None:
    """Make one matrix of the reports, where there is more than one."""
    folders = [str(REPORTS / certification.name) for certification in done if (REPORTS / certification.name / "report.json").is_file()]
    if len(folders) > 1:
        subprocess.run([*command, "report", *folders, "--output", str(REPORTS)], check=False)


def main(names: Sequence[str], command: Sequence[str]) -> int:
    """Certify `names` (all registered clients when empty) by `command`, print what became of each, and return the exit code."""
    done = certify(names or CLIENTS, command)
    _merge(done, command)
    print("\nCertified:", *_summary(done), sep="\n", flush=True)
    return gravest(certification.code for certification in done if certification.code is not None)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], [str(Path(sys.executable).with_name("groupproof"))]))
