"""`trace check`: what the judges say of traces in files, in memory that does not grow with a fleet's rows.

The runs of a case are judged whole, as in the run; so is what a tap recorded, for the oracle searches it. What was seen live goes through the folds
as it is read. A stream that is out of order farther than the window reaches is read again and sorted whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.checkers.fleet import Fleet, InOrder
from groupproof.harness.judging.observed.coordinator_side import ANSWERED
from groupproof.harness.judging.observed.group_results import results_of
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.running.rejudge import rejudged, split
from groupproof.harness.running.trace_files import stream, traces_in
from groupproof.protocol.trace import Observation, Trace

__all__ = ["HEAD_ROWS", "TELLS_WHOLE", "CheckResult", "check_files", "files_of", "is_whole"]

HEAD_ROWS: Final = 1_000
"""Within so many observations a tap has told of its upstream, and a case that is in no catalogue what it is made of."""

TELLS_WHOLE: Final = ("upstream", "origin")


@dataclass(slots=True, kw_only=True)
class CheckResult:
    """The results, and what was met in the streams: observations that were there twice or out of their place."""

    results: list[CaseResult] = field(default_factory=list)
    duplicates: int = 0
    displaced: int = 0


def files_of(paths: Iterable[Path]) -> list[Path]:
    """Return the traces in files, or in the folders that hold them; raise `WrongUsage`."""
    return [file for path in paths for file in (traces_in(path) if path.is_dir() else [path])]


def is_whole(obs: Observation, cases: Mapping[str, Case]) -> bool:
    """Tell whether an observation belongs to what is judged whole: a case, or what a report keeps of a coordinator's answers."""
    return obs.case in cases or obs.case.startswith(f"{ANSWERED}/")


def check_files(paths: Iterable[Path], catalogue: Sequence[Case], universal: Sequence[Judge]) -> CheckResult:
    """Judge the traces; raise `WrongUsage` for what is no trace."""
    cases = {case.id: case for case in catalogue}
    checked, whole = CheckResult(), list[Trace]()
    live: list[CaseResult] = []
    for file in files_of(paths):
        reader, order = _FileReader(cases), InOrder()
        reader.take(order.sorted(stream(file)))
        if order.late:
            reader = _FileReader(cases)
            reader.take(sorted(stream(file), key=lambda obs: obs.seq))
        checked.displaced += order.displaced
        # Runs that were written side by side, or one after the other and numbered alike, come in one order whoever reads them.
        traces = sorted(reader.whole.values(), key=lambda trace: (trace[0].seq, trace[0].run, trace[0].case))
        whole += [run for trace in traces for run in split(trace)]
        for group in reader.fleet.results():
            checked.duplicates += group.duplicates
            live += results_of(group)
    checked.results = [*rejudged(whole, catalogue, universal), *live]
    return checked


class _FileReader:
    """One file, dealt to what is judged whole and to the fleet, run by run."""

    def __init__(self, cases: Mapping[str, Case]) -> None:
        self.whole: dict[tuple[str, str], Trace] = {}
        self.fleet = Fleet()
        self._cases = cases
        self._heads: dict[tuple[str, str], Trace] = {}
        self._live: set[tuple[str, str]] = set()

    def take(self, observations: Iterable[Observation]) -> None:
        for obs in observations:
            key = (obs.run, obs.case)
            if key in self._live:
                self.fleet.feed(obs)
            elif key in self.whole or is_whole(obs, self._cases):
                self.whole.setdefault(key, []).append(obs)
            else:
                self._look(key, obs)
        for key in list(self._heads):
            self._is_live(key)

    def _look(self, key: tuple[str, str], obs: Observation) -> None:
        """Keep the head of a run until it is certain that it tells of no tap and of no case."""
        head = self._heads.setdefault(key, [])
        head.append(obs)
        if obs.who == "kit" and obs.body.get("name") in TELLS_WHOLE:
            self.whole[key] = self._heads.pop(key)
        elif len(head) >= HEAD_ROWS:
            self._is_live(key)

    def _is_live(self, key: tuple[str, str]) -> None:
        self._live.add(key)
        for obs in self._heads.pop(key):
            self.fleet.feed(obs)
