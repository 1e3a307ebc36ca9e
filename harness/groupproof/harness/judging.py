"""From a trace to a verdict, and from the verdicts of a case's repetitions to the case's. Pure: the same in a run and in `trace check`.

The rules are the contract's ("Verdicts"): a lying shim is BROKEN; a crash is FAILED; a fault without receipt, a judge that never got to see
what it judges, and a lateness while the kit itself lagged are INCONCLUSIVE; what is proven on the wire counts when seen once, absence and
lateness only 3 of 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from groupproof.harness.case import Case, Judge
from groupproof.harness.claims import GROUP_TITLES, broken_claims
from groupproof.harness.evidence import Evidence, NotOffered, NotReached
from groupproof.harness.goodbye import goodbye_of
from groupproof.harness.verdicts import Finding, Goodbye, Proof, Verdict, fingerprint, worst
from groupproof.protocol.trace import Observation, Trace

__all__ = ["LAG_MS_MAX", "RUNS", "Judgement", "Ruling", "judge_run", "rule_on"]

RUNS = 3
"""How often absence and lateness must be seen, under the same schedule."""

LAG_MS_MAX = 100.0
LAG_WINDOW_MS = 5_000.0
"""A lag this long before a late observation may have caused it; the longest wait of a case that is judged for lateness fits in."""

_ADVERSE = frozenset({Verdict.FAILED, Verdict.NON_STRICT})
_UNDECIDED = frozenset({Verdict.BROKEN, Verdict.UNIMPLEMENTED, Verdict.INCONCLUSIVE})

_CAPABILITIES = {"pause": "pause", "resume": "pause", "commit": "commit", "resubscribe": "resubscribe", "seek": "seek"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What one run shows. `reason` says why it is BROKEN, UNIMPLEMENTED or INCONCLUSIVE; `is_blurred`: a process shared with other cases
    died, or the kit itself was late, so that this run says nothing and wants to be had again with processes of its own."""

    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    goodbye: Goodbye = Goodbye.NONE
    goodbye_reason: str = ""
    receipts: int = 0
    reason: str = ""
    is_blurred: bool = False

    @property
    def wants_repetition(self) -> bool:
        """Whether the verdict rests on something that counts only when it is seen each time."""
        adverse = [each for each in self.findings if each.verdict in _ADVERSE]
        return self.verdict in _ADVERSE and any(each.proof is not Proof.SAFETY for each in adverse)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The verdict on a case; `stability` is k/n, or "unstable k/n"."""

    verdict: Verdict
    goodbye: Goodbye
    stability: str
    expected: str
    observed: str
    fingerprint: str
    receipts: int
    findings: tuple[Finding, ...]
    goodbye_reason: str = ""


def judge_run(case: Case, trace: Trace, universal: Sequence[Judge]) -> Judgement:
    """Judge one run; an exception of a judge other than `NotReached` and `NotOffered` is the kit's own and comes out."""
    goodbye, why = goodbye_of(trace)
    receipts = sum(1 for seen in trace if seen.kind == "fault" and seen.detail == "delivered")
    ended = _ended_early(case, trace)
    judged = ended if ended is not None else _judged(case, trace, universal)
    return replace(judged, goodbye=goodbye, goodbye_reason=why, receipts=receipts)


def _ended_early(case: Case, trace: Trace) -> Judgement | None:
    """Return the judgement where the shim, rather than the client, decides it."""
    if broken := next(_kit(trace, "broken"), None):
        return Judgement(verdict=Verdict.BROKEN, reason=str(broken.body["reason"]))
    if refused := next(_kit(trace, "refused"), None):
        return _refusal(trace, refused)
    if crash := next((seen for seen in _kit(trace, "exit") if not seen.body["commanded"] and not seen.body.get("gave_up")), None):
        return _crash(case, trace, crash)
    if claims := broken_claims(trace):
        return Judgement(verdict=Verdict.BROKEN, reason="; ".join(claims))
    return None


def _kit(trace: Trace, name: str) -> Iterator[Observation]:
    return (seen for seen in trace if seen.who == "kit" and seen.body.get("name") == name)


def _refusal(trace: Trace, refused: Observation) -> Judgement:
    command, reason = refused.body["command"], refused.body["reason"]
    if not refused.body["unimplemented"]:
        return Judgement(verdict=Verdict.BROKEN, reason=f"{command} was refused: {reason}")
    claimed = next((seen.body["capabilities"] for seen in _kit(trace, "hello") if seen.client == refused.client), ())
    if _CAPABILITIES.get(command) in claimed:
        return Judgement(verdict=Verdict.BROKEN, reason=f"the shim claims {_CAPABILITIES[command]}, yet answers unimplemented to {command}: {reason}")
    return Judgement(verdict=Verdict.UNIMPLEMENTED, reason=f"{command}: {reason}")


def _crash(case: Case, trace: Trace, crash: Observation) -> Judgement:
    how = str(crash.body["how"])
    words = " | ".join(crash.body.get("stderr") or ())
    if crash.body["shared"]:
        return Judgement(verdict=Verdict.INCONCLUSIVE, reason=f"a shim process shared with other cases {how}", is_blurred=True)
    spoke = any(seen.kind == "request" and seen.client == crash.client and seen.api in GROUP_TITLES for seen in trace[: crash.seq])
    if not spoke:
        return Judgement(verdict=Verdict.BROKEN, reason=f"the shim {how} before its client spoke: {words or 'nothing on stderr'}")
    crashed = Finding(
        verdict=Verdict.FAILED,
        requirement=case.requirements[0],
        expected="The client stays up.",
        observed="It crashed.",
        seq=crash.seq,
        detail=f"{how}: {words}",
    )
    return Judgement(verdict=Verdict.FAILED, findings=(crashed,))


def _judged(case: Case, trace: Trace, universal: Sequence[Judge]) -> Judgement:
    evidence = Evidence(trace)
    try:
        own, missed = _asked(case.judges, evidence)
    except NotOffered as lack:
        return _not_offered(lack, _asked(universal, evidence)[0])
    general, _ = _asked(universal, evidence)
    seen = (*own, *general)
    findings = tuple(_with_lag(each, trace) for each in seen)
    is_late = findings != seen
    unproven = list(_without_receipt(trace))
    if unproven:
        # What the fault would have caused proves nothing now; what is on the wire stays proven.
        findings = tuple(each for each in findings if each.proof is Proof.SAFETY)
    doubts = [*missed, *unproven, *(each.detail for each in findings if each.verdict is Verdict.INCONCLUSIVE)]
    if not own and not doubts:
        doubts.append("no judge of the case found anything to judge")
    verdicts = [each.verdict for each in findings] + ([Verdict.INCONCLUSIVE] if doubts else [])
    verdict = worst(verdicts)
    # What was never reached while the kit itself was late says nothing of the subject either.
    is_blurred = verdict is Verdict.INCONCLUSIVE and (is_late or (bool(missed) and any(_lags(trace))))
    return Judgement(verdict=verdict, findings=findings, reason="; ".join(dict.fromkeys(doubts)), is_blurred=is_blurred)


def _not_offered(lack: NotOffered, general: Sequence[Finding]) -> Judgement:
    """Return UNIMPLEMENTED, but for what is proven on the wire all the same."""
    proven = tuple(each for each in general if each.verdict is Verdict.FAILED and each.proof is Proof.SAFETY)
    return Judgement(verdict=Verdict.FAILED if proven else Verdict.UNIMPLEMENTED, findings=proven, reason=str(lack))


def _asked(judges: Iterable[Judge], evidence: Evidence) -> tuple[list[Finding], list[str]]:
    findings: list[Finding] = []
    missed: list[str] = []
    for judge in judges:
        try:
            findings.extend(judge(evidence))
        except NotReached as reason:
            missed.append(str(reason))
    return findings, missed


def _without_receipt(trace: Trace) -> Iterator[str]:
    """Yield the faults whose trigger came and that left no receipt.

    One that failed because the client had hung up is told by that: not to wait for an answer is the client's choice, and for the judges.
    """
    stages: dict[str, set[str]] = {}
    hung_up = {seen.connection for seen in trace if seen.who == "link" and seen.body.get("name") == "closed" and seen.body.get("by") == "client"}
    for seen in trace:
        if seen.kind == "fault" and seen.fault is not None and seen.detail is not None:
            is_theirs = seen.detail == "failed" and seen.connection is not None and seen.connection in hung_up
            stages.setdefault(seen.fault, set()).add("hung up" if is_theirs else seen.detail)
    for fault, met in stages.items():
        if "triggered" in met and not met & {"delivered", "hung up"}:
            yield f"fault {fault} was triggered and left no receipt"


def _with_lag(finding: Finding, trace: Trace) -> Finding:
    """Return the finding, INCONCLUSIVE if it is of lateness and the kit itself was late around it."""
    if finding.verdict not in _ADVERSE or finding.proof is not Proof.TIMING:
        return finding
    lags = [seen for seen in _lags(trace) if _is_near(finding, seen, trace)]
    if not lags:
        return finding
    most = max(seen.body["lag_ms"] for seen in lags)
    return replace(finding, verdict=Verdict.INCONCLUSIVE, detail=f"{finding.observed} But the kit itself lagged {most:.0f} ms around it.")


def _lags(trace: Trace) -> list[Observation]:
    return [seen for seen in _kit(trace, "lag") if seen.body["lag_ms"] >= LAG_MS_MAX]


def _is_near(finding: Finding, lag: Observation, trace: Trace) -> bool:
    if finding.seq is None or finding.seq >= len(trace):
        return True
    late = trace[finding.seq]
    lag_ms = float(lag.body["lag_ms"])
    return -LAG_WINDOW_MS <= lag.at_ms - late.at_ms <= lag_ms + LAG_MS_MAX


def rule_on(case: Case, judgements: Sequence[Judgement]) -> Ruling:
    """Combine the judgements of one run, or of `RUNS` under the same schedule; raise `ValueError` for none."""
    if not judgements:
        raise ValueError(f"{case.id} was never run")
    broken = next((each for each in judgements if each.verdict is Verdict.BROKEN), None)
    first = broken or judgements[0]
    if broken is not None or len(judgements) == 1 or not first.wants_repetition:
        return _ruling(first, "1/1")
    return _ruling_on_repetition(judgements)


def _ruling_on_repetition(judgements: Sequence[Judgement]) -> Ruling:
    """Keep what every run shows, and what one run proves on the wire; what only some show is unstable, and no verdict."""
    runs, first = len(judgements), judgements[0]
    seen: dict[_Key, list[Finding]] = {}
    for judgement in judgements:
        for key, finding in {_key(each): each for each in judgement.findings if each.verdict in _ADVERSE}.items():
            seen.setdefault(key, []).append(finding)
    confirmed = [found[0] for found in seen.values() if len(found) == runs or any(each.proof is Proof.SAFETY for each in found)]
    unstable = {found[0].observed: len(found) for found in seen.values() if found[0] not in confirmed}
    findings = (*(each for each in first.findings if each.verdict not in _ADVERSE), *confirmed)
    verdict = worst(each.verdict for each in findings)
    if verdict is Verdict.FAILED or not unstable:
        return _ruling(replace(first, verdict=verdict, findings=findings), f"{runs}/{runs}")
    reason = "; ".join(f"in {count} of {runs} runs: {observed}" for observed, count in unstable.items())
    return _ruling(replace(first, verdict=Verdict.INCONCLUSIVE, reason=reason), f"unstable {max(unstable.values())}/{runs}")


_Key = tuple[Verdict, str, str]


def _key(finding: Finding) -> _Key:
    return (finding.verdict, finding.requirement, finding.observed)


def _ruling(judgement: Judgement, stability: str) -> Ruling:
    verdict = judgement.verdict
    decisive = [each for each in judgement.findings if each.verdict is verdict]
    told = [judgement.reason] if verdict in _UNDECIDED else [each.observed for each in decisive]
    return Ruling(
        verdict=verdict,
        goodbye=judgement.goodbye,
        goodbye_reason=judgement.goodbye_reason,
        stability=stability,
        expected=_sentences(each.expected for each in decisive or judgement.findings),
        observed=_sentences(told),
        fingerprint=_fingerprint(verdict, decisive, judgement.reason),
        receipts=judgement.receipts,
        findings=judgement.findings,
    )


def _fingerprint(verdict: Verdict, decisive: Sequence[Finding], reason: str) -> str:
    """Return what an expectation recognises the failure by; empty where there is nothing to expect. Counts and times don't matter."""
    if verdict in _ADVERSE:
        return fingerprint(replace(each, verdict=Verdict.FAILED) for each in decisive)
    if verdict not in _UNDECIDED:
        return ""
    why = Finding(verdict=Verdict.FAILED, requirement=verdict.value, expected="", observed=re.sub(r"[\d.]+", "#", reason))
    return fingerprint([why])


def _sentences(texts: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(text for text in texts if text))
