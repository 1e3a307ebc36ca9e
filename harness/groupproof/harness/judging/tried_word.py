"""How a trial of the shim's word changes a verdict: if the shim is refuted, nothing that rests on its word blames the client. Pure.

The trial is in the trace, so that the verdict can be computed from it again. What frames alone prove stays proven.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Final

from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.verdicts import ADVERSE, Finding, Proof, Verdict, worst
from groupproof.protocol.trace import Observation, Trace

__all__ = ["TRIAL", "refuted_words", "tried_words", "with_trial", "without_refuted", "words_of"]

TRIAL: Final = "trial"
"""The kit's event that records the trial."""

_CAUSES: Final = {
    "assignors": ("the shim does not pass the assignors on", "the client does not list them"),
    "auto_commit": ("the shim does not pass auto_commit on", "the client does not commit by itself"),
    "commit": ("the shim answers ok whatever its client is told", "the client takes a refused commit for done"),
    "offsets_committed": ("the shim reports a success whatever its client is told", "the client takes a refused commit for done"),
    "partitions_assigned": ("the shim does not print partitions_assigned", "the client does not call its application"),
    "partitions_revoked": ("the shim does not print partitions_revoked", "the client does not call its application"),
    "records_consumed": (
        "the shim reports records late, or of other partitions",
        "the client gives its application records of what it does not have",
    ),
    "resume": ("the shim does not carry resume out", "the client does not go on"),
    "unsubscribe": ("the shim does not carry unsubscribe out", "the client stays a member"),
}
"""The possible causes by event, command or setting: the shim's fault, and the client's."""


def words_of(judgement: Judgement) -> frozenset[str]:
    """Return the events, commands and settings for which the kit believes the shim in findings that blame the client."""
    if judgement.verdict not in ADVERSE:
        return frozenset()
    return frozenset(finding.grounds.word for finding in _adverse(judgement) if finding.grounds is not None and finding.grounds.word)


def tried_words(trace: Trace) -> frozenset[str]:
    """Return the events, commands and settings for which the shim's word was tried."""
    return frozenset(word for obs in _trials(trace) for word in obs.body["tried"])


def refuted_words(trace: Trace) -> dict[str, str]:
    """Return the problems that refuted the shim's word, by event, command or setting."""
    return {word: problem for obs in _trials(trace) for word, problem in obs.body["refuted"].items()}


def with_trial(trace: Trace, tried: Collection[str], refuted: Mapping[str, str]) -> Trace:
    """Return the trace with the result of the trial as its last observation."""
    last = trace[-1]
    body = {"name": TRIAL, "tried": sorted(tried), "refuted": dict(sorted(refuted.items()))}
    line = Observation(
        seq=len(trace), at_ns=last.at_ns, run=last.run, case=last.case, seed=last.seed, clock=last.clock, who="kit", kind="event", body=body
    )
    return [*trace, line]


def without_refuted(judgement: Judgement, trace: Trace) -> Judgement:
    """Return the judgement without the findings that rest on a refuted word. It is BROKEN where no frame alone proves the client's fault."""
    refuted = refuted_words(trace)
    doubtful = {word: finding for finding in _adverse(judgement) if finding.grounds is not None and (word := finding.grounds.word) in refuted}
    if judgement.verdict not in ADVERSE or not doubtful:
        return judgement
    kept = tuple(finding for finding in judgement.findings if finding.verdict not in ADVERSE or _is_proven(finding))
    if any(finding.verdict in ADVERSE for finding in kept):
        return replace(judgement, findings=kept, verdict=worst(finding.verdict for finding in kept))
    sentences = dict.fromkeys(_sentence(word, finding, refuted[word]) for word, finding in doubtful.items())
    return replace(judgement, verdict=Verdict.BROKEN, findings=kept, reason=" ".join(sentences), is_blurred=False)


def _sentence(word: str, finding: Finding, problem: str) -> str:
    shims, clients = _CAUSES[word]
    return (
        f"{finding.observed} The frames and the shim's word for {word} disagree, and they do where that is tried alone: {problem}. "
        f"Either {shims}, or {clients}; no frame tells which. Mend what is wrong, and try it with groupproof shim check."
    )


def _is_proven(finding: Finding) -> bool:
    return finding.proof is Proof.SAFETY and finding.grounds is not None and not finding.grounds.word


def _adverse(judgement: Judgement) -> Iterator[Finding]:
    return (finding for finding in judgement.findings if finding.verdict in ADVERSE)


def _trials(trace: Trace) -> Iterator[Observation]:
    return (obs for obs in trace if obs.who == "kit" and obs.body.get("name") == TRIAL)
