"""Certify the registered clients against the reference coordinator, one after the other, and end with the most severe exit code.

`make certify` runs those of `CLIENTS`; `make certify CLIENTS="franz-go kafka-python@2.2.3"` those named, `make certify CLIENTS=all` every
registered one. The last lines say what a client lacks whose verdict is not whole (exit code 2). Each report lands in `reports/NAME`. A client whose toolchain is absent ends with 4, and its line says how to get it.
`RESUME=1` goes on with the last run of the same kit: what has a verdict is not run again (`reports/certified.json` keeps the exit codes).
A client whose run is spent waiting (`waits`: sessions of half a minute, whatever it is told) runs beside the others from the beginning; its lines come last.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from groupproof.clients.registry.registered_clients import UnknownClient, names, resolve
from groupproof.clients.registry.toolchains.by_language import tools_of
from groupproof.harness.reports.texts.undecided_cases import undecided_in, undecided_lines
from groupproof.protocol.kit_release import release
from groupproof.protocol.rules.requirements import catalogue_sha256

__all__ = ["CLIENTS", "Certification", "absent_programs", "certify", "ending", "main", "most_severe", "summary"]

CLIENTS: Final = ("kafka-python", "aiokafka", "confluent-kafka", "java")
ALL: Final = "all"
RESUME: Final = "--resume"
CERTIFIED: Final = "certified.json"
JUDGED: Final = frozenset({0, 1, 2})
"""The exit codes of a run that judged its subject."""
REPORTS: Final = Path("reports")
NO_FULL_VERDICT: Final = 2
BROKEN: Final = 4
INTERRUPTED: Final = 130

_PRECEDENCE: Final = (INTERRUPTED, 5, 3, 1, 4, 2, 0)  # contract, "Exit codes"
_MEANINGS: Final[Mapping[int, str]] = {
    0: "passed",
    1: "breaks the protocol, or an expectation is stale",
    NO_FULL_VERDICT: "no full verdict",
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
    is_kept: bool = False


def most_severe(codes: Iterable[int]) -> int:
    """Return the code that comes first in the contract's order; an unknown one counts as our own failure."""
    ranked = [code if code in _PRECEDENCE else 5 for code in codes]
    return min(ranked, key=_PRECEDENCE.index, default=0)


def absent_programs(subject: str) -> tuple[str, ...]:
    """Return what the toolchain of a registered client lacks on this machine, each program with how to get it."""
    try:
        client = resolve(subject)
    except UnknownClient:
        return ()
    return tuple(f"no {tool.program} here: {tool.remedy}" for tool in tools_of(client) if tool.path() is None)


def certify(
    subjects: Sequence[str],
    command: Sequence[str],
    absent: Callable[[str], tuple[str, ...]] = absent_programs,
    *,
    resume: bool = False,
) -> list[Certification]:
    """Run `command certify client NAME` for each name; stop after one that was interrupted. `resume` keeps what the last run judged."""
    codes = _codes() if resume else {}
    done = {name: Certification(name=name, code=codes[name], is_kept=True) for name in subjects if _is_judged(name, codes)}
    due = [name for name in dict.fromkeys(subjects) if name not in done]
    beside = {name: _RunBeside(_arguments(name, command)) for name in due if len(due) > 1 and _waits(name)}
    for name in (*(name for name in due if name not in beside), *beside):
        print(f"\n=== {name}", flush=True)
        code = codes[name] = beside[name].end() if name in beside else _run(_arguments(name, command))
        _keep(codes)
        # What is in the cache runs without the programs that installed it: only a run that could not start is asked why.
        done[name] = Certification(name=name, code=code, absent=absent(name) if code == BROKEN else ())
        if code == INTERRUPTED:
            break
    for run in beside.values():
        run.interrupt()
    return [done[name] for name in dict.fromkeys(subjects) if name in done]


class _RunBeside:
    """A run that goes on beside others. What it prints is kept until it has ended."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._printed: IO[str] = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  # open as long as the run
        self._child = subprocess.Popen(arguments, stdout=self._printed, stderr=subprocess.STDOUT)

    def end(self) -> int:
        """Wait for the end, print what the run printed, and return the exit code."""
        code = _exit_code(self._child)
        with self._printed:
            self._printed.seek(0)
            print(self._printed.read(), end="", flush=True)
        return code

    def interrupt(self) -> None:
        """End the run, if it still goes on, as Ctrl-C does."""
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGINT)
            self._child.wait()
        self._printed.close()


def _arguments(name: str, command: Sequence[str]) -> list[str]:
    return [*command, "certify", "client", name, "--output", str(REPORTS / name)]


def _is_judged(name: str, codes: Mapping[str, int]) -> bool:
    return codes.get(name) in JUDGED and (REPORTS / name / "report.json").is_file()


def _waits(name: str) -> bool:
    """Tell whether the run of a registered client waits more than it works."""
    try:
        return resolve(name).waits
    except UnknownClient:
        return False


def _kit() -> str:
    return f"{release()} {catalogue_sha256()}"


def _codes() -> dict[str, int]:
    """Return the exit codes of the last run by this kit; none where there was no such run."""
    try:
        kept = json.loads((REPORTS / CERTIFIED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return dict(kept["codes"]) if kept["kit"] == _kit() else {}


def _keep(codes: Mapping[str, int]) -> None:
    REPORTS.mkdir(exist_ok=True)
    (REPORTS / CERTIFIED).write_text(json.dumps({"kit": _kit(), "codes": codes}, indent=1) + "\n", encoding="utf-8")


def _run(arguments: Sequence[str]) -> int:
    return _exit_code(subprocess.Popen(arguments))


def _exit_code(child: subprocess.Popen[bytes]) -> int:
    """Return the exit code; on Ctrl-C the child, which gets the signal too, is left the time to write its partial report."""
    try:
        return child.wait()
    except KeyboardInterrupt:
        child.wait()
        return INTERRUPTED


def summary(done: Iterable[Certification]) -> Iterable[str]:
    """Yield a line for each client, and below one without a full verdict what its verdict lacks."""
    for certification in done:
        if certification.absent:
            yield f"  {certification.name:20} {certification.code}: absent: {'; '.join(certification.absent)}"
            continue
        report = _report(certification.name) if certification.code == NO_FULL_VERDICT else None
        grade = "" if report is None else f" ({report['grade']})"
        yield f"  {certification.name:20} {certification.code}: {_meaning(certification.code)}{grade}{', kept' * certification.is_kept}; {REPORTS / certification.name / 'report.html'}"
        if report is not None:
            yield from (f"  {'':23} {line}" for line in undecided_lines(undecided_in(report)))


def ending(done: Sequence[Certification]) -> Iterator[str]:
    """Yield how many clients came to what, the most severe last, and what the exit code says where it is that of a verdict that is not whole."""
    code = most_severe(certification.code for certification in done)
    for meant in sorted({certification.code for certification in done}, key=lambda number: _PRECEDENCE.index(most_severe([number])), reverse=True):
        names = [certification.name for certification in done if certification.code == meant]
        yield f"{len(names)} of {len(done)} {_meaning(meant)}{'' if meant == 0 else ': ' + ', '.join(names)}"
    if code == NO_FULL_VERDICT:
        yield "Nothing FAILED but what is known (EXCUSED). The exit code 2 says that these verdicts are not whole; what is missing stands below each name"


def _meaning(code: int) -> str:
    return _MEANINGS.get(code, "unknown exit code")


def _report(name: str) -> Mapping[str, Any] | None:
    path = REPORTS / name / "report.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _merge(done: Iterable[Certification], command: Sequence[str]) -> None:
    """Make one matrix of the reports, where there is more than one."""
    folders = [str(REPORTS / certification.name) for certification in done if (REPORTS / certification.name / "report.json").is_file()]
    if len(folders) > 1:
        subprocess.run([*command, "report", *folders, "--output", str(REPORTS)], check=False)


def main(arguments: Sequence[str], command: Sequence[str]) -> int:
    """Certify the subjects among `arguments` (`CLIENTS` when there is none) by `command`, print what became of each, and return the exit code."""
    subjects = [argument for argument in arguments if argument != RESUME]
    done = certify(names() if subjects == [ALL] else subjects or CLIENTS, command, resume=RESUME in arguments)
    _merge(done, command)
    print("\nCertified:", *summary(done), "", *ending(done), sep="\n", flush=True)
    return most_severe(certification.code for certification in done)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], [str(Path(sys.executable).with_name("groupproof"))]))
