"""Shares the cases of one pytest session between its processes through a folder: which process runs which cases, and their results.

xdist may give any item to any worker. So the cases are split between the workers beforehand, the long ones evenly. A worker runs its share in the
background from its first item on, and an item waits for its case in any process. A share whose worker has no item yet is claimed by
a worker that waits for it. A claim is a file lock, which the system releases when its process dies.
"""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Final

from groupproof.harness.judging.case_result import CaseResult, Play
from groupproof.harness.judging.ruling import Ruling
from groupproof.harness.judging.summary.run_summary import SubjectInfo
from groupproof.harness.model.case import Case
from groupproof.harness.model.case_length import length_ms
from groupproof.harness.model.errors import RunError
from groupproof.harness.model.verdicts import Verdict

__all__ = ["ENDED", "RESULT_SUFFIX", "RunEnd", "ShareEnd", "SharedFolder", "SharedResult", "SubjectRecord", "share_cases"]


ENDED: Final = ".ended"
RESULT_SUFFIX: Final = ".told"
PLAYS: Final = ".plays"
"""The suffixes of files: of an ended share, of a case's result, and of its traces, which few readers need."""

_WITHOUT_TRACES: Final = frozenset({Verdict.OK, Verdict.NON_STRICT, Verdict.INFORMATIONAL, Verdict.UNIMPLEMENTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectRecord:
    """The subject, and the keys to its known failures: its release, its profile, and the file that ships with it."""

    subject: SubjectInfo | None
    release: str
    profile: str
    shipped: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """A process's facts of its run, without the cases; `gave_up` says why it ended early without a command."""

    subject: SubjectInfo
    subject_record: SubjectRecord
    jobs: int
    is_virtual: bool
    started: datetime
    duration_s: float
    environment: Mapping[str, Any] = field(default_factory=dict)
    gave_up: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareEnd:
    """The end of a share's run: its facts, and the error that prevented it."""

    about: RunEnd | None
    trouble: RunError | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedResult:
    """A case's result for another process; both sides have the case itself."""

    case: str
    subject_record: SubjectRecord
    ruling: Ruling
    plays: Sequence[Play]
    duration_s: float
    trouble: RunError | None

    @classmethod
    def of(cls, result: CaseResult, subject: SubjectRecord) -> SharedResult:
        return cls(
            case=result.case.id, subject_record=subject, ruling=result.ruling, plays=result.plays, duration_s=result.duration_s, trouble=result.trouble
        )  # fmt: skip

    def result(self, case: Case) -> CaseResult:
        return CaseResult(case=case, ruling=self.ruling, plays=list(self.plays), duration_s=self.duration_s, trouble=self.trouble)


def share_cases(cases: Sequence[Case], shares: int) -> list[list[Case]]:
    """Return the cases as shares of about the same duration, the same in every process."""
    longest_first = sorted(cases, key=lambda case: (-length_ms(case), case.id))
    return [longest_first[number::shares] for number in range(shares)]


class SharedFolder:
    """The folder of one session; other processes' files are read whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._claims: list[IO[str]] = []

    def claim(self, share: int) -> bool:
        """Claim the share for this process; return False if it was claimed before."""
        lock = (self.path / f"{share}.claim").open("a+")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return False
        lock.seek(0)
        if lock.read():
            lock.close()
            return False
        lock.write(str(os.getpid()))
        lock.flush()
        self._claims.append(lock)
        return True

    def is_deserted(self, share: int) -> bool:
        """Return whether the process that claimed the share is gone."""
        try:
            with (self.path / f"{share}.claim").open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return bool(lock.read())
        except (FileNotFoundError, BlockingIOError):
            return False

    def put(self, name: str, value: object) -> None:
        """Write a file through a temporary one."""
        temporary = self.path / f".{name}.{os.getpid()}"
        temporary.write_bytes(pickle.dumps(value))
        temporary.rename(self.path / name)

    def tell(self, result: SharedResult) -> None:
        """Write a case's result; its traces go to another file, which is written first."""
        name = result.case.replace("/", "~")
        self.put(f"{name}{PLAYS}", list(result.plays))
        self.put(f"{name}{RESULT_SUFFIX}", replace(result, plays=()))

    def result(self, case: str, *, whole: bool = False) -> SharedResult | None:
        """Return a case's result, with its traces if `whole`, or if its item prints frames."""
        name = case.replace("/", "~")
        result: SharedResult | None = self.get(f"{name}{RESULT_SUFFIX}")
        if result is None or (result.ruling.verdict in _WITHOUT_TRACES and not whole):
            return result
        return replace(result, plays=self.get(f"{name}{PLAYS}") or ())

    def get(self, name: str) -> Any:
        """Return the value stored under `name`, or None."""
        try:
            return pickle.loads((self.path / name).read_bytes())
        except FileNotFoundError:
            return None

    def everything(self, suffix: str) -> list[Any]:
        """Return the values whose names end with `suffix`, in the order of the names."""
        return [self.get(path.name) for path in sorted(self.path.glob(f"*{suffix}")) if not path.name.startswith(".")]

    def let_go(self) -> None:
        """Release the claims, so that no process waits for cases without a result."""
        while self._claims:
            self._claims.pop().close()
