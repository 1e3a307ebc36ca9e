"""Does what a page tells its reader to do, in a folder of its own, and compares what is printed with what the page shows."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.docs.pages import Block, Command, File, Page

__all__ = ["Deviation", "Following", "absent", "agrees", "in_gate", "why_not_run"]

GATE_S_MAX: Final = 400.0  # a page is short; a machine may be busy
SOAK_S_MAX: Final = 1800.0
GOODBYE_S_MAX: Final = 120.0

_ESCAPE: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_HASH: Final = re.compile(r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b")
_FIGURE: Final = re.compile(r"\d[\d,.:]*(?<![,.:])")
_SPACES: Final = re.compile(r"\s+")
_FIRST_USE: Final = re.compile(r"(?:fetching|building|compiling|installing|resolving|pulling|formatting) \S")
"""How a line begins that a command prints only until what it needs is in the cache. Whether it is, depends on the tests that ran before."""

# A command in bash, then the folder and the variables for the next one.
_SCRIPT: Final = """
if [ -s {state} ]; then . {state}; fi
{command}
status=$?
{{ printf 'cd %q\\n' "$PWD"; export -p; }} > {state}
exit $status
"""


class Deviation(Exception):
    """A command did not do what its page says."""


def agrees(expected: Sequence[str], printed: str) -> bool:
    """Tell whether `printed` is what a page shows of it, figures and what only a first use prints aside; `…` in a line stands for any text, a line `…` for any lines."""
    text = _ESCAPE.sub("", printed).strip("\n")
    have = [_plain(line) for line in text.splitlines() if not _FIRST_USE.match(line)]
    expected = [line for line in expected if not _FIRST_USE.match(line)]
    pattern = "".join(r"(?:[^\n]*\n)*?" if line.strip() == "…" else f"{_pattern(line)}\n" for line in expected)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in have)) is not None


def _plain(line: str) -> str:
    return _SPACES.sub(" ", _FIGURE.sub("0", _HASH.sub("0", line))).strip()


def _pattern(line: str) -> str:
    return r"[^\n]*".join(re.escape(part) for part in _plain(line).split("…"))


def absent(block: Block) -> list[str]:
    """Name the programs that the block needs and this machine has not."""
    return [program for program in block.needs if program != "network" and shutil.which(program) is None]


def why_not_run(block: Block, *, soaks: bool) -> str | None:
    """Say why this run leaves the block out, or None."""
    if "norun" in block.marks:
        return block.marks["norun"]
    if "soak" in block.marks and not soaks:
        return f"in the soak alone: {block.marks['soak']}"
    if missing := absent(block):
        return f"absent here: {', '.join(missing)}"
    return None


def in_gate(block: Block, command: Command, *, soaks: bool) -> Command:
    """Return what is typed in this run: in the gate a long command has the arguments that its block adds."""
    extra = block.marks.get("gate")
    if extra is None or soaks or command is not block.commands[-1]:
        return command
    head, program, tail = command.text.partition(" -- ")
    return Command(text=f"{head} {extra}{program}{tail}", line=command.line, printed=())


@dataclass
class Following:
    """One reader, who begins in `folder`; the folder of the commands' own state is beside it."""

    page: Page
    folder: Path
    soaks: bool
    programs: Path | None = None
    """A folder of programs that stand before the installed ones."""

    def __post_init__(self) -> None:
        self._state = self.folder.parent / f"{self.folder.name}.state"
        folders = [] if self.programs is None else [str(self.programs)]
        path = os.pathsep.join([*folders, str(Path(sys.executable).parent), os.environ["PATH"]])
        self._environment = {
            name: value for name, value in os.environ.items()
            if not name.startswith(("PYTEST_", "COV_", "GROUPPROOF_SOAK")) and name not in ("CI", "PYTHONPATH", "MAKEFLAGS", "MAKELEVEL")
        } | {"PATH": path, "COLUMNS": "120", "NO_COLOR": "1"}  # fmt: skip

    def all_steps(self) -> None:
        """Raise Deviation at the first command that is not as the page says; stop where something absent is needed."""
        with contextlib.ExitStack() as running:
            for step in self.page.steps:
                if isinstance(step, File):
                    self._write(step)
                    continue
                if absent(step) and "norun" not in step.marks:
                    return
                if why_not_run(step, soaks=self.soaks) is None:
                    self._block(step, running)

    def _write(self, file: File) -> None:
        target = self._here() / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(file.text)

    def _here(self) -> Path:
        """Return the folder that the last `cd` led to."""
        if not self._state.exists():
            return self.folder
        return Path(shlex.split(self._state.read_text().splitlines()[0])[1])

    def _block(self, block: Block, running: contextlib.ExitStack) -> None:
        for command, status in zip(block.commands, block.statuses(soaks=self.soaks), strict=True):
            typed = in_gate(block, command, soaks=self.soaks)
            if command is block.commands[-1] and "background" in block.marks:
                running.enter_context(self._in_background(typed, block.marks["background"], status))
            else:
                self._run(typed, status)

    def _run(self, command: Command, status: int) -> None:
        script = _SCRIPT.format(command=command.text, state=shlex.quote(str(self._state)))
        with subprocess.Popen(
            ["bash", "-c", script], cwd=self.folder, env=self._environment, text=True, encoding="utf-8", errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        ) as process:  # fmt: skip
            try:
                printed, _ = process.communicate(timeout=SOAK_S_MAX if self.soaks else GATE_S_MAX)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise self._deviation(command, "was still running", process.communicate()[0]) from None
        self._judge(command, status, process.returncode, printed)

    def _judge(self, command: Command, status: int, ended: int, printed: str) -> None:
        if ended != status:
            raise self._deviation(command, f"ended with {ended}, not with {status}", printed)
        if command.printed and not agrees(command.printed, printed):
            raise self._deviation(command, "printed something else than the page shows", printed)

    @contextlib.contextmanager
    def _in_background(self, command: Command, word: str, status: int) -> Generator[None]:
        """Start the command and wait for its word; interrupt it at the end, as Ctrl-C does."""
        script = f"if [ -s {shlex.quote(str(self._state))} ]; then . {shlex.quote(str(self._state))}; fi\n{command.text}"
        with subprocess.Popen(
            ["bash", "-c", script], cwd=self.folder, env=self._environment, text=True, encoding="utf-8", errors="replace",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            preexec_fn=_hear_interrupts,  # a shell that is given no terminal would have its children ignore Ctrl-C
        ) as process:  # fmt: skip
            assert process.stdout is not None
            printed = _Printed(process.stdout, word)
            try:
                if not printed.spoke.wait(GATE_S_MAX) or not printed.has_word:
                    raise self._deviation(command, f"did not print {word!r}", "".join(printed.lines))
                yield
            finally:
                ended = _interrupted(process)
            printed.reader.join()
        if ended not in (status, 128 + signal.SIGINT, -signal.SIGINT):
            raise self._deviation(command, f"ended with {ended} when it was interrupted", "".join(printed.lines))
        if command.printed and not agrees(command.printed, "".join(printed.lines)):
            raise self._deviation(command, "printed something else than the page shows", "".join(printed.lines))

    def _deviation(self, command: Command, kind: str, printed: str) -> Deviation:
        tail = "".join(f"\n  | {line}" for line in command.printed)
        expected = f"\nthe page shows:{tail}" if tail else ""
        return Deviation(f"{self.page.name}:{command.line}: $ {command.text}\n{kind}{expected}\nit printed:\n{printed[-4000:]}")


def _hear_interrupts() -> None:
    """A shell's children in the background ignore Ctrl-C; this one is to hear it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupted(process: subprocess.Popen[str]) -> int:
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGINT)
    try:
        return process.wait(GOODBYE_S_MAX)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


class _Printed:
    """What a program prints, read by a thread so that its pipe never fills; `said` is set by the awaited word, and at the end."""

    def __init__(self, stream: object, word: str) -> None:
        self.lines: list[str] = []
        self.spoke = threading.Event()
        self._stream, self._word = stream, word
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    @property
    def has_word(self) -> bool:
        return any(self._word in line for line in self.lines)

    def _read(self) -> None:
        for line in self._stream:  # type: ignore[attr-defined] # a text stream of Popen
            self.lines.append(line)
            if self._word in line:
                self.spoke.set()
        self.spoke.set()
