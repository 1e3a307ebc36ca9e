"""`groupproof diff` for two clients: runs the same cases against each in turn; shows differing verdicts, and the first difference of their groups."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
from rich.console import Console

from groupproof.harness.commands.base.boundary import INTERRUPTED
from groupproof.harness.commands.base.progress import watched
from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.model.case import Case
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.running.runs.client_run import ClientRun
from groupproof.harness.running.runs.whole_run import RunConfig
from groupproof.harness.subjects.client_registry import Candidate
from groupproof.protocol.trace import Trace

__all__ = ["CaseDifference", "ClientDiff", "differing", "moves_of"]

DIVERGE = 1
UNDECIDED = 2
NEVER = "nothing more"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseDifference:
    """A case with different results for two clients: both results, and the first transition that the two groups do not share, if any."""

    case: str
    first: CaseResult
    second: CaseResult
    moves: tuple[str, str] | None


def differing(first: CaseResult, second: CaseResult) -> CaseDifference | None:
    """Compare the results of one case; return None where verdict, clean close and findings are the same."""
    if _ending(first) == _ending(second):
        return None
    pairs = itertools.zip_longest(*(moves_of(result.plays[0].trace) if result.plays else () for result in (first, second)), fillvalue=NEVER)
    return CaseDifference(case=first.case.id, first=first, second=second, moves=next(((one, other) for one, other in pairs if one != other), None))


def _ending(result: CaseResult) -> tuple[Verdict, Goodbye, str]:
    ruling = result.ruling
    return (ruling.verdict, ruling.goodbye, ruling.observed if ruling.verdict is Verdict.INFORMATIONAL else ruling.fingerprint)


def moves_of(trace: Trace) -> Iterator[str]:
    """Yield the transitions of the tested group in words, without times and ids: its state, generation and rule."""
    for obs in trace:
        if obs.kind == "transition":
            yield f"{obs.state_before or 'no group'} → {obs.state_after}, generation {obs.generation} ({obs.rule})"


class ClientDiff:
    """Runs `cases` against two clients. `go` prints the differences on stdout and returns the exit code."""

    def __init__(
        self, candidates: tuple[Candidate, Candidate], cases: Sequence[Case], *, profile: str, seed: int, say: Callable[[str], None]
    ) -> None:
        self._candidates = candidates
        self._cases = cases
        self._profile = profile
        self._seed = seed
        self._say = say
        self._is_interrupted = False

    def go(self, console: Console, *, as_json: bool) -> int:
        """Block until both clients have run; raise `RunError` where a client cannot be started."""
        first = self._run(self._candidates[0], console)
        second = {} if self._is_interrupted else self._run(self._candidates[1], console)
        both = [case.id for case in self._cases if case.id in first and case.id in second]
        found = [difference for case in both if (difference := differing(first[case], second[case])) is not None]
        if as_json:
            click.echo(json.dumps([_json(item) for item in found], indent=1, ensure_ascii=False))
        else:
            self._print(found, both)
        if found:
            return DIVERGE
        return INTERRUPTED if self._is_interrupted else UNDECIDED if len(both) < len(self._cases) else 0

    def _run(self, candidate: Candidate, console: Console) -> Mapping[str, CaseResult]:
        """Return the results by case, without those that the environment prevented."""
        command = ["groupproof", *sys.argv[1:]]
        config = RunConfig(cases=self._cases, profile=self._profile, level="info", seed=self._seed, jobs=candidate.jobs, command=command)
        self._say(f"{_name(candidate)}: {len(self._cases)} cases")
        with watched(console, len(self._cases)) as display:
            outcome = ClientRun(candidate, config, say=display.report, on_hello=lambda _: None).go()
        if outcome.gave_up is not None:
            self._say(f"{_name(candidate)}: {outcome.gave_up}")
        self._is_interrupted = outcome.summary.run.interrupted
        return {result.case.id: result for result in outcome.summary.results if result.trouble is None}

    def _print(self, found: Sequence[CaseDifference], both: Sequence[str]) -> None:
        one, other = (_name(candidate) for candidate in self._candidates)
        width = max(len(one), len(other))
        for difference in found:
            click.echo(difference.case)
            for name, result, move in zip((one, other), (difference.first, difference.second), difference.moves or ("", ""), strict=True):
                click.echo(f"  {name:<{width}}  {_outcome_text(result)}")
                if move:
                    click.echo(f"  {'':<{width}}    went apart with  {move}")
        missing = len(self._cases) - len(both)
        rest = f", {missing} not run" if missing else ""
        click.echo(f"{one} and {other}: {len(found)} of {len(self._cases)} cases differ{rest}")


def _name(candidate: Candidate) -> str:
    return candidate.words[0] if len(candidate.words) == 1 else candidate.name


def _outcome_text(result: CaseResult) -> str:
    ruling = result.ruling
    goodbye = "" if ruling.goodbye is Goodbye.NONE else f" {ruling.goodbye.value}"
    return f"{ruling.verdict.value}{goodbye}  {'' if ruling.verdict is Verdict.OK else ruling.observed}".rstrip()


def _json(difference: CaseDifference) -> dict[str, Any]:
    sides = {
        name: {"verdict": result.ruling.verdict.value, "goodbye": result.ruling.goodbye.value, "observed": result.ruling.observed}
        for name, result in (("first", difference.first), ("second", difference.second))
    }
    return {"case": difference.case, **sides, "moves": difference.moves}
