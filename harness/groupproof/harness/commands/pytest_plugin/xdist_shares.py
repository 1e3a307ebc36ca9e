"""How the processes of one pytest session share its cases through a folder: which process runs which cases, and the result of each.

Under xdist every worker may be handed any item. The cases are dealt to the workers beforehand, the long ones evenly; a worker runs its share in the
background from its first item on, and an item waits for its case, whoever runs it. A share whose worker has no item of its own yet is taken up by
whoever waits for it. A claim is a lock, which the system lets go when its holder dies.
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

__all__ = ["ENDED", "RESULT_SUFFIX", "RunEnd", "ShareEnd", "SharedFolder", "SharedResult", "SubjectRecord", "dealt"]


ENDED: Final = ".ended"
RESULT_SUFFIX: Final = ".told"
PLAYS: Final = ".plays"
"""How the files end of a share that has ended, of a case that was ruled on, and of its traces, which few want to read."""

_WITHOUT_TRACES: Final = frozenset({Verdict.OK, Verdict.NON_STRICT, Verdict.INFORMATIONAL, Verdict.UNIMPLEMENTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectRecord:
    """Who was under test, and by what known failures are looked up: the release, the profile, and the file that ships with the subject."""

    subject: SubjectInfo | None
    release: str
    profile: str
    shipped: Path | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """What a process tells of its run beside the cases; `gave_up` says why it ended before its last case, unasked."""

    subject: SubjectInfo
    standing: SubjectRecord
    jobs: int
    is_virtual: bool
    started: datetime
    duration_s: float
    environment: Mapping[str, Any] = field(default_factory=dict)
    gave_up: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareEnd:
    """How a share's run ended: what there is to tell of it, and the trouble that kept it from its cases."""

    about: RunEnd | None
    trouble: RunError | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedResult:
    """A case's result as it travels; the case itself is known on both sides."""

    case: str
    standing: SubjectRecord
    ruling: Ruling
    plays: Sequence[Play]
    duration_s: float
    trouble: RunError | None

    @classmethod
    def of(cls, result: CaseResult, subject: SubjectRecord) -> SharedResult:
        return cls(
            case=result.case.id, standing=subject, ruling=result.ruling, plays=result.plays, duration_s=result.duration_s, trouble=result.trouble
        )  # fmt: skip

    def result(self, case: Case) -> CaseResult:
        return CaseResult(case=case, ruling=self.ruling, plays=list(self.plays), duration_s=self.duration_s, trouble=self.trouble)


def dealt(cases: Sequence[Case], shares: int) -> list[list[Case]]:
    """Return the cases as shares of about the same length, in the same way in every process."""
    longest_first = sorted(cases, key=lambda case: (-length_ms(case), case.id))
    return [longest_first[number::shares] for number in range(shares)]


class SharedFolder:
    """The folder of one session; the files of others are read whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._claims: list[IO[str]] = []

    def claim(self, share: int) -> bool:
        """Tell whether the share is this process's to run from now on; one that was claimed once is nobody else's."""
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
        """Tell whether who claimed the share is gone."""
        try:
            with (self.path / f"{share}.claim").open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return bool(lock.read())
        except (FileNotFoundError, BlockingIOError):
            return False

    def put(self, name: str, value: object) -> None:
        """Write a file by way of a temporary one."""
        temporary = self.path / f".{name}.{os.getpid()}"
        temporary.write_bytes(pickle.dumps(value))
        temporary.rename(self.path / name)

    def tell(self, result: SharedResult) -> None:
        """Tell of a case; its traces lie beside, and are there first."""
        name = result.case.replace("/", "~")
        self.put(f"{name}{PLAYS}", list(result.plays))
        self.put(f"{name}{RESULT_SUFFIX}", replace(result, plays=()))

    def result(self, case: str, *, whole: bool = False) -> SharedResult | None:
        """Return what was reported of a case, with its traces where they are wanted, or where an item has frames to show."""
        name = case.replace("/", "~")
        result: SharedResult | None = self.get(f"{name}{RESULT_SUFFIX}")
        if result is None or (result.ruling.verdict in _WITHOUT_TRACES and not whole):
            return result
        return replace(result, plays=self.get(f"{name}{PLAYS}") or ())

    def get(self, name: str) -> Any:
        """Return what was put under `name`, or None."""
        try:
            return pickle.loads((self.path / name).read_bytes())
        except FileNotFoundError:
            return None

    def everything(self, suffix: str) -> list[Any]:
        """Return what was put under names that end so, in the order of the names."""
        return [self.get(path.name) for path in sorted(self.path.glob(f"*{suffix}")) if not path.name.startswith(".")]

    def let_go(self) -> None:
        """Give the claims back, so that nobody waits for what was not reached."""
        while self._claims:
            self._claims.pop().close()
