"""Judges the trace of one run. Pure: the same in a run and in `trace check`.

The rules are the contract's ("Verdicts"). A shim that reports falsely is BROKEN. A crash is FAILED. Three things are INCONCLUSIVE: a fault without
receipt, a judge that never observed what it judges, and a finding that the kit's own lateness explains. A client that sent nothing is never OK.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from groupproof.harness.judging.case_checkers.whole_trace import folded
from groupproof.harness.judging.checkers.checker import Checker
from groupproof.harness.judging.checkers.checker_registry import checkers_named
from groupproof.harness.judging.checkers.classic.classic_checkers import CLASSIC_CHECKERS
from groupproof.harness.judging.clean_close import clean_close_of
from groupproof.harness.judging.crashes import crash_in, gave_up_in
from groupproof.harness.judging.empty_traces import impossible_events, silence_of
from groupproof.harness.judging.lag import lags_in, most_lag_ms, with_lag
from groupproof.harness.judging.own_correlations import with_own_correlations
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.judging.shim_claims import GROUP_TITLES, broken_claims, unattributed
from groupproof.harness.judging.shim_word import word_of
from groupproof.harness.judging.short_sessions import late_rejoin, refused_session
from groupproof.harness.judging.tried_word import tried_words, without_refuted
from groupproof.harness.model.case import Case, Judge
from groupproof.harness.model.case_dialect import dialect_of_case
from groupproof.harness.model.case_names import as_written
from groupproof.harness.model.evidence import CaseNotOffered, Evidence, NotOffered, NotReached
from groupproof.harness.model.requirement_levels import capped
from groupproof.harness.model.verdicts import ADVERSE, Finding, Grounds, Proof, Verdict, worst
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["FLOOD_WORDS", "judge_run", "universal_checkers"]

FLOOD_WORDS = "the end of a flood"
"""How the driver's reason begins when it ended a run because of too many observations."""

_CAPABILITIES = {"pause": "pause", "resume": "pause", "commit": "commit", "resubscribe": "resubscribe", "seek": "seek"}


def judge_run(case: Case, trace: Trace, universal: Sequence[Judge]) -> Judgement:
    """Judge one run. An exception of a judge other than `NotReached` and `NotOffered` is the kit's own fault and is raised.

    Findings use the names of the written case, not those that the run drew. So two runs with the same findings can be compared.
    """
    trace = with_own_correlations(as_written(trace))
    goodbye, why = clean_close_of(trace)
    receipts = sum(1 for obs in trace if obs.kind == "fault" and obs.detail == "delivered")
    ended = _ended_early(case, trace)
    judged = ended if ended is not None else _judged(case, trace, universal)
    lag_ms = max((float(obs.body["lag_ms"]) for obs in lags_in(trace)), default=0.0)
    return replace(without_refuted(judged, trace), goodbye=goodbye, goodbye_reason=why, receipts=receipts, lag_ms=lag_ms)


def _ended_early(case: Case, trace: Trace) -> Judgement | None:
    """Return the judgement where the shim, not the client, decides it; else None."""
    if broken := next(_kit(trace, "broken"), None):
        return _breakage(broken)
    if refused := next(_kit(trace, "refused"), None):
        return _refusal(trace, refused, dialect_of_case(case.id))
    if crash := crash_in(case, trace):
        return crash
    if claims := (*broken_claims(trace), *impossible_events(case, trace)):
        return Judgement(verdict=Verdict.BROKEN, reason="; ".join(claims))
    if (stranger := unattributed(trace)) is not None:
        text = f"the shim can't tell its client an id, and whose the requests of {stranger!r} are can't be told here"
        return Judgement(verdict=Verdict.INCONCLUSIVE, reason=text, is_blurred=True)
    return None


def _kit(trace: Trace, name: str) -> Iterator[Observation]:
    return (obs for obs in trace if obs.who == "kit" and obs.body.get("name") == name)


def _breakage(broken: Observation) -> Judgement:
    """Return BROKEN. Return INCONCLUSIVE for a shim process shared with other cases: one of their clients may have stopped it."""
    reason = str(broken.body["reason"])
    if broken.body.get("shared"):
        return Judgement(verdict=Verdict.INCONCLUSIVE, reason=f"of a shim process shared with other cases, {reason}", is_blurred=True)
    return Judgement(verdict=Verdict.BROKEN, reason=reason)


def _refusal(trace: Trace, refused: Observation, dialect: str) -> Judgement:
    """Return the judgement on a refused command. A client may support a command in the classic dialect alone, so in another dialect a refusal is
    not BROKEN.
    """
    command, reason = refused.body["command"], refused.body["reason"]
    if command == "subscribe" and (lack := refused_session(trace, refused.client)):
        return Judgement(verdict=Verdict.UNIMPLEMENTED, reason=f"{lack}: {reason}")
    if not refused.body["unimplemented"]:
        return Judgement(verdict=Verdict.BROKEN, reason=f"{command} was refused: {reason}")
    claimed = next((obs.body["capabilities"] for obs in _kit(trace, "hello") if obs.client == refused.client), ())
    if _CAPABILITIES.get(command) in claimed and dialect in ("", CLASSIC_CHECKERS.dialect.name):
        return Judgement(verdict=Verdict.BROKEN, reason=f"the shim claims {_CAPABILITIES[command]}, yet answers unimplemented to {command}: {reason}")
    return Judgement(verdict=Verdict.UNIMPLEMENTED, reason=f"{command}: {reason}")


@dataclass(slots=True)
class _Findings:
    """The results of the judges: their findings, what they never reached (`missed`), and what the subject does not let the kit set (`lack`)."""

    findings: list[Finding] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    lack: str = ""


def _judged(case: Case, trace: Trace, universal: Sequence[Judge]) -> Judgement:
    evidence = Evidence(trace)
    own, general = _asked(case.judges, evidence), _asked(_universal(case, universal), evidence)
    entries = (*own.findings, *general.findings)
    if lack := own.lack or late_rejoin(trace):
        return _not_offered(lack, [_grounded(capped(finding), trace) for finding in entries])
    flood = _flood_of(case, trace)
    findings = tuple(_grounded(with_lag(capped(finding), trace), trace) for finding in (*entries, *flood))
    unproven = list(_without_receipt(trace))
    if unproven:
        # What the fault should have caused proves nothing now. What is on the wire stays proven.
        findings = tuple(finding for finding in findings if finding.proof is Proof.SAFETY)
    # A client that floods its coordinator has itself kept its judges from observing more.
    missed = [] if flood else own.missed
    doubts = [*missed, *unproven, *(finding.detail for finding in findings if finding.verdict is Verdict.INCONCLUSIVE)]
    if not own.findings and not doubts and not flood:
        doubts.append("no judge of the case found anything to judge")
    verdict = worst([*(finding.verdict for finding in findings), *([Verdict.INCONCLUSIVE] if doubts else [])])
    if silence := silence_of(case, trace, verdict):
        return Judgement(
            verdict=Verdict.INCONCLUSIVE, reason=silence, findings=tuple(finding for finding in findings if finding.verdict not in ADVERSE)
        )
    if verdict is Verdict.INCONCLUSIVE and (who := gave_up_in(trace)) is not None:
        return _not_offered(
            f"the program of {who} ended itself, and said so, before what the case waits for: {'; '.join(dict.fromkeys(doubts))}", findings
        )
    is_late = any(finding.verdict is Verdict.INCONCLUSIVE for finding in findings)
    # If the kit itself was late, what was never reached proves nothing about the subject either.
    is_blurred = verdict is Verdict.INCONCLUSIVE and (is_late or (bool(missed) and bool(lags_in(trace))))
    return Judgement(verdict=verdict, findings=findings, reason="; ".join(dict.fromkeys(doubts)), is_blurred=is_blurred)


def _universal(case: Case, universal: Sequence[Judge]) -> Sequence[Judge]:
    """Return the universal judges of the case's dialect: `universal` for the classic one, the dialect's own checkers for another."""
    if not universal or (checkers := universal_checkers(case)) is CLASSIC_CHECKERS.members:
        return universal
    return (folded(*checkers),) if checkers else ()


def universal_checkers(case: Case) -> tuple[Callable[[], Checker], ...]:
    """Return the checkers of the case's dialect, which judge each of its traces. A case without a dialect in its id is classic."""
    part = checkers_named(dialect_of_case(case.id) or CLASSIC_CHECKERS.dialect.name)
    return () if part is None else part.members


def _not_offered(lack: str, entries: Sequence[Finding]) -> Judgement:
    """Return UNIMPLEMENTED, or FAILED where the wire proves a failure all the same."""
    proven = tuple(finding for finding in entries if finding.verdict is Verdict.FAILED and finding.proof is Proof.SAFETY)
    return Judgement(verdict=Verdict.FAILED if proven else Verdict.UNIMPLEMENTED, findings=proven, reason=lack)


def _asked(judges: Iterable[Judge], evidence: Evidence) -> _Findings:
    results = _Findings()
    for judge in judges:
        try:
            results.findings.extend(judge(evidence))
        except NotReached as reason:
            results.missed.append(str(reason))
        except CaseNotOffered as lack:
            return _Findings(lack=str(lack))
        except NotOffered as lack:
            results.lack = results.lack or str(lack)
    return results


def _grounded(finding: Finding, trace: Trace) -> Finding:
    """Return the finding. Add its grounds where it is adverse."""
    if finding.verdict not in ADVERSE:
        return finding
    obs = trace[finding.seq] if finding.seq is not None and finding.seq < len(trace) else None
    is_reported = finding.proof is not Proof.SAFETY and obs is not None and obs.who == "shim"
    word = word_of(finding, trace)
    is_tried = word in tried_words(trace)
    return replace(finding, grounds=Grounds(lag_ms=most_lag_ms(finding, trace), is_reported=is_reported, word=word, is_tried=is_tried))


def _flood_of(case: Case, trace: Trace) -> list[Finding]:
    """Return a finding that one client's requests ended the run, where they are more than half of its observations."""
    ended = next((obs for obs in _kit(trace, "timeout") if str(obs.body.get("waiting")).startswith(FLOOD_WORDS)), None)
    if ended is None:
        return []
    counts = Counter(obs.client for obs in trace[: ended.seq] if obs.api in GROUP_TITLES and obs.client is not None)
    client, count = max(counts.items(), key=lambda partition: partition[1], default=("", 0))
    if 2 * count < ended.seq or _answers_a_made_up_refusal(trace[: ended.seq], client):
        return []
    return [
        Finding(
            verdict=Verdict.NON_STRICT,
            requirement="CLIENT-75",
            expected="A client spaces its requests.",
            observed="Its requests came without a pause until the run was ended.",
            seq=next(obs.seq for obs in trace if obs.client == client and obs.api in GROUP_TITLES),
            detail=f"{count} of {ended.seq} observations are of {client}",
        )
    ]


def _answers_a_made_up_refusal(trace: Trace, client: str | None) -> bool:
    """Return whether most of a client's requests are the rejoins that CGT-21 asks of a fenced member, after a fault made up the error
    FENCED_MEMBER_EPOCH.

    Its coordinator did not fence it, still has the member, and refuses every rejoin until the session ends.
    """
    triggered = {obs.exchange_id for obs in trace if obs.kind == "fault" and obs.detail == "triggered"}
    fenced = [obs for obs in trace if obs.kind == "response" and obs.client == client and obs.error == ErrorCode.FENCED_MEMBER_EPOCH]
    made_up = next((obs.seq for obs in fenced if obs.exchange_id in triggered), None)
    if made_up is None:
        return False
    asked = sum(1 for obs in trace[made_up:] if obs.kind == "request" and obs.client == client and obs.api in GROUP_TITLES)
    return 2 * sum(1 for obs in fenced if obs.seq > made_up) > asked


def _without_receipt(trace: Trace) -> Iterator[str]:
    """Yield each fault that was triggered and left no receipt.

    A fault that failed because the client closed the connection counts as acted: the client chose not to wait, and the judges consider that.
    """
    stages: dict[str, set[str]] = {}
    hung_up = {obs.connection for obs in trace if obs.who == "link" and obs.body.get("name") == "closed" and obs.body.get("by") == "client"}
    for observation in trace:
        if observation.kind == "fault" and observation.fault is not None and observation.detail is not None:
            is_theirs = observation.detail == "failed" and observation.connection is not None and observation.connection in hung_up
            stages.setdefault(observation.fault, set()).add("hung up" if is_theirs else observation.detail)
    for fault, reached in stages.items():
        if "triggered" in reached and not reached & {"delivered", "hung up"}:
            yield f"fault {fault} was triggered and left no receipt"
