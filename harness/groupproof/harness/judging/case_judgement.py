"""From the trace of one run to what it shows. Pure: the same in a run and in `trace check`.

The rules are the contract's ("Verdicts"): a lying shim is BROKEN; a crash is FAILED; a fault without receipt, a judge that never got to see
what it judges, and what the machine's own lateness explains are INCONCLUSIVE; a client that sent nothing is never OK.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from groupproof.harness.judging.clean_close import goodbye_of
from groupproof.harness.judging.crashes import crash_in
from groupproof.harness.judging.empty_traces import lies_in, silence_of
from groupproof.harness.judging.lag import lags_in, most_lag_ms, with_lag
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.judging.shim_claims import GROUP_TITLES, broken_claims, unattributed
from groupproof.harness.judging.shim_word import word_of
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.model.case_names import as_written
from groupproof.harness.model.evidence import CaseNotOffered, Evidence, NotOffered, NotReached
from groupproof.harness.model.requirement_levels import capped
from groupproof.harness.model.verdicts import ADVERSE, Finding, Grounds, Proof, Verdict, worst
from groupproof.protocol.trace import Observation, Trace

__all__ = ["FLOOD_WORDS", "judge_run"]

FLOOD_WORDS = "the end of a flood"
"""How the driver begins to say that it ended a run for the number of its observations."""

_CAPABILITIES = {"pause": "pause", "resume": "pause", "commit": "commit", "resubscribe": "resubscribe", "seek": "seek"}


def judge_run(case: Case, trace: Trace, universal: Sequence[Judge]) -> Judgement:
    """Judge one run; an exception of a judge other than `NotReached` and `NotOffered` is the kit's own and comes out.

    Findings have the names that the case is written with, whatever names its run drew: two runs with the same findings are told to be alike.
    """
    trace = as_written(trace)
    goodbye, why = goodbye_of(trace)
    receipts = sum(1 for seen in trace if seen.kind == "fault" and seen.detail == "delivered")
    ended = _ended_early(case, trace)
    judged = ended if ended is not None else _judged(case, trace, universal)
    lag_ms = max((float(seen.body["lag_ms"]) for seen in lags_in(trace)), default=0.0)
    return replace(judged, goodbye=goodbye, goodbye_reason=why, receipts=receipts, lag_ms=lag_ms)


def _ended_early(case: Case, trace: Trace) -> Judgement | None:
    """Return the judgement where the shim, rather than the client, decides it."""
    if broken := next(_kit(trace, "broken"), None):
        return Judgement(verdict=Verdict.BROKEN, reason=str(broken.body["reason"]))
    if refused := next(_kit(trace, "refused"), None):
        return _refusal(trace, refused)
    if crash := crash_in(case, trace):
        return crash
    if claims := (*broken_claims(trace), *lies_in(case, trace)):
        return Judgement(verdict=Verdict.BROKEN, reason="; ".join(claims))
    if (stranger := unattributed(trace)) is not None:
        told = f"the shim can't tell its client an id, and whose the requests of {stranger!r} are can't be told here"
        return Judgement(verdict=Verdict.INCONCLUSIVE, reason=told, is_blurred=True)
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


@dataclass(slots=True)
class _Said:
    """What judges said: their findings, what they never got to see (`missed`), and what the subject does not let be set (`lack`)."""

    findings: list[Finding] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    lack: str = ""


def _judged(case: Case, trace: Trace, universal: Sequence[Judge]) -> Judgement:
    evidence = Evidence(trace)
    own, general = _asked(case.judges, evidence), _asked(universal, evidence)
    seen = (*own.findings, *general.findings)
    if own.lack:
        return _not_offered(own.lack, [_grounded(capped(each), trace) for each in seen])
    flood = _flood_of(case, trace)
    findings = tuple(_grounded(with_lag(capped(each), trace), trace) for each in (*seen, *flood))
    unproven = list(_without_receipt(trace))
    if unproven:
        # What the fault would have caused proves nothing now; what is on the wire stays proven.
        findings = tuple(each for each in findings if each.proof is Proof.SAFETY)
    # A client that floods its coordinator has itself kept its judges from seeing more.
    missed = [] if flood else own.missed
    doubts = [*missed, *unproven, *(each.detail for each in findings if each.verdict is Verdict.INCONCLUSIVE)]
    if not own.findings and not doubts and not flood:
        doubts.append("no judge of the case found anything to judge")
    verdict = worst([*(each.verdict for each in findings), *([Verdict.INCONCLUSIVE] if doubts else [])])
    if silence := silence_of(case, trace, verdict):
        return Judgement(verdict=Verdict.INCONCLUSIVE, reason=silence, findings=tuple(each for each in findings if each.verdict not in ADVERSE))
    is_late = any(each.verdict is Verdict.INCONCLUSIVE for each in findings)
    # What was never reached while the kit itself was late says nothing of the subject either.
    is_blurred = verdict is Verdict.INCONCLUSIVE and (is_late or (bool(missed) and bool(lags_in(trace))))
    return Judgement(verdict=verdict, findings=findings, reason="; ".join(dict.fromkeys(doubts)), is_blurred=is_blurred)


def _not_offered(lack: str, seen: Sequence[Finding]) -> Judgement:
    """Return UNIMPLEMENTED, but for what is proven on the wire all the same."""
    proven = tuple(each for each in seen if each.verdict is Verdict.FAILED and each.proof is Proof.SAFETY)
    return Judgement(verdict=Verdict.FAILED if proven else Verdict.UNIMPLEMENTED, findings=proven, reason=lack)


def _asked(judges: Iterable[Judge], evidence: Evidence) -> _Said:
    said = _Said()
    for judge in judges:
        try:
            said.findings.extend(judge(evidence))
        except NotReached as reason:
            said.missed.append(str(reason))
        except CaseNotOffered as lack:
            return _Said(lack=str(lack))
        except NotOffered as lack:
            said.lack = said.lack or str(lack)
    return said


def _grounded(finding: Finding, trace: Trace) -> Finding:
    """Return the finding, of an adverse one with what it rests on."""
    if finding.verdict not in ADVERSE:
        return finding
    shown = trace[finding.seq] if finding.seq is not None and finding.seq < len(trace) else None
    is_reported = finding.proof is not Proof.SAFETY and shown is not None and shown.who == "shim"
    return replace(finding, grounds=Grounds(lag_ms=most_lag_ms(finding, trace), is_reported=is_reported, word=word_of(finding, trace)))


def _flood_of(case: Case, trace: Trace) -> list[Finding]:
    """Return that one client's requests ended the run, where they are most of what was seen in it."""
    ended = next((seen for seen in _kit(trace, "timeout") if str(seen.body.get("waiting")).startswith(FLOOD_WORDS)), None)
    if ended is None:
        return []
    counts = Counter(seen.client for seen in trace[: ended.seq] if seen.api in GROUP_TITLES and seen.client is not None)
    client, count = max(counts.items(), key=lambda each: each[1], default=("", 0))
    if 2 * count < ended.seq:
        return []
    return [
        Finding(
            verdict=Verdict.NON_STRICT,
            requirement="CLIENT-75",
            expected="A client spaces its requests.",
            observed="Its requests came without a pause until the run was ended.",
            seq=next(seen.seq for seen in trace if seen.client == client and seen.api in GROUP_TITLES),
            detail=f"{count} of {ended.seq} observations are of {client}",
        )
    ]


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
