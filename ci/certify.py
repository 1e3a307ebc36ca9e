"""Certify the registered clients against the reference coordinator, one after the other, and end with the gravest exit code.

`make certify` runs those of `CLIENTS`; `make certify CLIENTS="franz-go kafka-python@2.2.3"` those named, `make certify CLIENTS=all` every
registered one. Each report lands in `reports/NAME`. A client whose toolchain is absent ends with 4, and its line says how to get it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from groupproof.clients.registry.registered_clients import UnknownClient, names, resolve
from groupproof.clients.registry.toolchains.by_language import toolchain_of

__all__ = ["CLIENTS", "Certification", "absent_programs", "certify", "gravest", "main", "summary"]

CLIENTS: Final = ("kafka-python", "aiokafka", "confluent-kafka", "java")
ALL: Final = "all"
REPORTS: Final = Path("reports")
BROKEN: Final = 4
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Certification:
    """What became of one client: its exit code, and the programs of its toolchain that are absent, with how to get each."""

    name: str
    code: int
    absent: tuple[str, ...] = ()


def gravest(codes: Iterable[int]) -> int:
    """Return the code that comes first in the contract's order; an unknown one counts as our own failure."""
    known = [code if code in _PRECEDENCE else 5 for code in codes]
    return min(known, key=_PRECEDENCE.index, default=0)


def absent_programs(subject: str) -> tuple[str, ...]:
    """Return what the toolchain of a registered client lacks on this machine, each program with how to get it."""
    try:
        client = resolve(subject)
    except UnknownClient:
        return ()
    tools = () if client.shim is None else toolchain_of(client.language).tools
    return tuple(f"no {tool.program} here: {tool.remedy}" for tool in tools if tool.path() is None)


def certify(subjects: Sequence[str], command: Sequence[str], absent: Callable[[str], tuple[str, ...]] = absent_programs) -> list[Certification]:
    """Run `command certify client NAME` for each name; stop after one that was interrupted."""
    done: list[Certification] = []
    for name in subjects:
        print(f"\n=== {name}", flush=True)
        code = _run([*command, "certify", "client", name, "--output", str(REPORTS / name)])
        # What is in the cache runs without the programs that installed it: only a run that could not start is asked why.
        done.append(Certification(name=name, code=code, absent=absent(name) if code == BROKEN else ()))
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


def summary(done: Iterable[Certification]) -> Iterable[str]:
    """Yield a line for each client."""
    for certification in done:
        if certification.absent:
            yield f"  {certification.name:20} {certification.code}: absent: {'; '.join(certification.absent)}"
        else:
            yield f"  {certification.name:20} {certification.code}: {_MEANINGS.get(certification.code, 'unknown exit code')}; {REPORTS / certification.name / 'report.html'}"


def _merge(done: Iterable[Certification], command: Sequence[str]) -> None:
    """Make one matrix of the reports, where there is more than one."""
    folders = [str(REPORTS / certification.name) for certification in done if (REPORTS / certification.name / "report.json").is_file()]
    if len(folders) > 1:
        subprocess.run([*command, "report", *folders, "--output", str(REPORTS)], check=False)


def main(subjects: Sequence[str], command: Sequence[str]) -> int:
    """Certify `subjects` (`CLIENTS` when empty) by `command`, print what became of each, and return the exit code."""
    done = certify(names() if list(subjects) == [ALL] else subjects or CLIENTS, command)
    _merge(done, command)
    print("\nCertified:", *summary(done), sep="\n", flush=True)
    return gravest(certification.code for certification in done)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], [str(Path(sys.executable).with_name("groupproof"))]))
