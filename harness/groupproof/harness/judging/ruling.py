"""Combines the judgements of a case's runs into the ruling on the case. Pure.

What is proven on the wire counts with one occurrence. Absence and lateness count only with 3 of 3 (contract, "Verdicts"). Each finding keeps its
run, so that its `seq` and the trace belong together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from groupproof.harness.model.case import Case
from groupproof.harness.model.verdicts import ADVERSE, UNDECIDED, Finding, Goodbye, Grounds, Proof, Verdict, fingerprint, worst

__all__ = ["RUNS", "Judgement", "Ruling", "rule_on"]

RUNS = 3
"""The number of runs under the same schedule that must agree on absence or lateness."""

_UNSTABLE = "unstable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The result of one run. `reason` says why it is BROKEN, UNIMPLEMENTED or INCONCLUSIVE.

    `is_blurred`: a process shared with other cases died, or the kit was late. The run then proves nothing and must be repeated with its own
    processes. `lag_ms` is the kit's largest lag in the whole run, if the run `measures_lag`: beside live groups no canary runs. `blurs` are the reasons why earlier runs proved nothing. `shared_ends` describe
    the unasked ends of processes that were shared with other cases.
    """

    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    goodbye: Goodbye = Goodbye.NONE
    goodbye_reason: str = ""
    receipts: int = 0
    reason: str = ""
    is_blurred: bool = False
    lag_ms: float = 0.0
    blurs: tuple[str, ...] = ()
    shared_ends: tuple[str, ...] = ()
    measures_lag: bool = True

    @property
    def wants_repetition(self) -> bool:
        """Whether the verdict rests on a finding that counts only when every run shows it."""
        adverse = [finding for finding in self.findings if finding.verdict in ADVERSE]
        return self.verdict in ADVERSE and any(finding.proof is not Proof.SAFETY for finding in adverse)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The verdict on a case. `stability` is k/n, or "unstable k/n". `run` (from 1) is the run that shows the decisive finding.

    `lag_ms` is the kit's largest lag in the time that was judged. `blurs` are the reasons why earlier runs proved nothing. `shared_ends` are those
    of all runs.
    """

    verdict: Verdict
    goodbye: Goodbye
    stability: str
    expected: str
    observed: str
    fingerprint: str
    receipts: int
    findings: tuple[Finding, ...]
    goodbye_reason: str = ""
    run: int = 1
    lag_ms: float = 0.0
    blurs: tuple[str, ...] = ()
    shared_ends: tuple[str, ...] = ()
    measures_lag: bool = True

    @property
    def is_unstable(self) -> bool:
        """Whether the ruling is no verdict because only some runs show the problem."""
        return self.verdict is Verdict.INCONCLUSIVE and self.stability.startswith(_UNSTABLE)


def rule_on(case: Case, judgements: Sequence[Judgement]) -> Ruling:
    """Combine the judgements of one run, or of `RUNS` runs under the same schedule. Raise `ValueError` for none."""
    if not judgements:
        raise ValueError(f"{case.id} was never run")
    # A process shared with other cases may have ended because of them. That decides nothing here; the report of the whole run mentions it.
    return replace(_ruling_on(judgements), shared_ends=tuple(ended for judgement in judgements for ended in judgement.shared_ends))


def _ruling_on(judgements: Sequence[Judgement]) -> Ruling:
    runs = [_of_run(judgement, number) for number, judgement in enumerate(judgements, 1)]
    broken = next((number for number, run in enumerate(runs) if run.verdict is Verdict.BROKEN), None)
    if broken is not None:
        return _ruling(runs[broken], f"1/{len(runs)}", run=broken + 1)
    if len(runs) == 1 or not runs[0].wants_repetition:
        return _ruling(runs[0], "1/1")
    return _ruling_on_repetition(runs)


def _of_run(judgement: Judgement, number: int) -> Judgement:
    """Return the judgement with the run's number in the grounds of its adverse findings."""
    findings = (
        replace(finding, grounds=replace(finding.grounds or Grounds(), run=number)) if finding.verdict in ADVERSE else finding
        for finding in judgement.findings
    )
    return replace(judgement, findings=tuple(findings))


def _ruling_on_repetition(judgements: Sequence[Judgement]) -> Ruling:
    """Keep the findings that every run shows, and those that one run proves on the wire. A finding of only some runs is unstable, and no verdict.

    An unstable ruling also has the findings that decide nothing: an expectation `by_chance` may name them.
    """
    runs, first = len(judgements), judgements[0]
    by_name: dict[_Key, list[Finding]] = {}
    for judgement in judgements:
        adverse: dict[_Key, Finding] = {}
        for item in judgement.findings:
            if item.verdict in ADVERSE:
                adverse.setdefault(_key(item), item)
        for key, finding in adverse.items():
            by_name.setdefault(key, []).append(finding)
    confirmed = {key: found for key, found in by_name.items() if len(found) == runs or any(finding.proof is Proof.SAFETY for finding in found)}
    unstable = [found for key, found in by_name.items() if key not in confirmed]
    findings = (*(finding for finding in first.findings if finding.verdict not in ADVERSE), *(_representative(found) for found in confirmed.values()))
    verdict = worst(finding.verdict for finding in findings)
    if verdict is Verdict.FAILED or not unstable:
        decisive = [found for found in confirmed.values() if found[0].verdict is verdict]
        most = max((len(found) for found in decisive), default=runs)
        run = _run_of(next((_representative(found) for found in decisive if len(found) == most), None))
        whole = judgements[run - 1]
        kept = replace(first, verdict=verdict, findings=findings, receipts=whole.receipts, lag_ms=max(judgement.lag_ms for judgement in judgements))
        return _ruling(kept, f"{most}/{runs}", run=run)
    by_chance = replace(
        first,
        verdict=Verdict.INCONCLUSIVE,
        reason="; ".join(f"in {len(found)} of {runs} runs: {_named(found[0])}" for found in unstable),
        findings=(*findings, *(found[0] for found in unstable)),
    )
    return _ruling(by_chance, f"{_UNSTABLE} {max(map(len, unstable))}/{runs}")


def _named(finding: Finding) -> str:
    """Return the finding with the fields by which an expectation `by_chance` names it."""
    return f"{finding.observed} ({finding.verdict.value}, fingerprint {fingerprint([finding])})"


def _representative(found: Sequence[Finding]) -> Finding:
    """Return the finding to report among equal ones: one that is proven on the wire, else the first."""
    return next((finding for finding in found if finding.proof is Proof.SAFETY), found[0])


def _run_of(finding: Finding | None) -> int:
    return 1 if finding is None or finding.grounds is None else finding.grounds.run


_Key = tuple[Verdict, str, str]


def _key(finding: Finding) -> _Key:
    return (finding.verdict, finding.requirement, finding.observed)


def _ruling(judgement: Judgement, stability: str, *, run: int = 1) -> Ruling:
    verdict = judgement.verdict
    decisive = [finding for finding in judgement.findings if finding.verdict is verdict]
    lines = [judgement.reason] if verdict in UNDECIDED else [finding.observed for finding in decisive]
    lags = [finding.grounds.lag_ms for finding in decisive if finding.grounds is not None]
    return Ruling(
        verdict=verdict,
        goodbye=judgement.goodbye,
        goodbye_reason=judgement.goodbye_reason,
        stability=stability,
        expected=_sentences(finding.expected for finding in decisive or judgement.findings),
        observed=_sentences(lines),
        fingerprint=_fingerprint(verdict, decisive, judgement.reason),
        receipts=judgement.receipts,
        findings=judgement.findings,
        run=run,
        lag_ms=max(lags, default=judgement.lag_ms),
        blurs=judgement.blurs,
        measures_lag=judgement.measures_lag,
    )


def _fingerprint(verdict: Verdict, decisive: Sequence[Finding], reason: str) -> str:
    """Return the fingerprint by which an expectation recognises the failure; "" where nothing is to be expected. Counts and times do not matter."""
    if verdict in ADVERSE:
        return fingerprint(decisive)
    if verdict not in UNDECIDED:
        return ""
    why = Finding(verdict=Verdict.FAILED, requirement=verdict.value, expected="", observed=re.sub(r"[\d.]+", "#", reason))
    return fingerprint([why])


def _sentences(texts: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(text for text in texts if text))
