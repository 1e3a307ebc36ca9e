"""The meaning of the words in a report, as in the contract: verdicts, clean closes, levels, grades. Every page shows them."""

from __future__ import annotations

from typing import Final

from groupproof.harness.model.verdicts import Goodbye, Level, Proof, Verdict

__all__ = ["GOODBYES", "GRADES", "LEVELS", "PROOFS", "TRUTHS", "VERDICTS", "grade_word"]

VERDICTS: Final[dict[Verdict, str]] = {
    Verdict.OK: "What was seen is what the protocol asks for.",
    Verdict.NON_STRICT: "Breaks a SHOULD, or passes by an alternative that is tolerated. Does not fail the run.",
    Verdict.INFORMATIONAL: "The protocol leaves it open; what was seen is reported.",
    Verdict.FAILED: "Breaks a MUST: an illegal frame, progress or membership lost, double ownership, or a stale commit.",
    Verdict.EXCUSED: "A known failure, listed with its reason, that still fails in the same way.",
    Verdict.UNIMPLEMENTED: "The client has no such feature, as its shim declared.",
    Verdict.INCONCLUSIVE: "No verdict: the instant to be judged was not reached, the kit itself lagged, or the repetitions disagree.",
    Verdict.BROKEN: "The shim lied, broke its contract, died before its client spoke, or did not hold what a verdict would rest on. Says nothing about the client.",
}

GOODBYES: Final[dict[Goodbye, str]] = {
    Goodbye.CLEAN: "The members left as members should.",
    Goodbye.UNCLEAN: "No LeaveGroup where one is due, a commit lost at close, or killed after the deadline. A verdict of its own, beside the case's.",
    Goodbye.NONE: "Nothing to judge: nobody was in the group at the end, or nobody was asked to close.",
}

LEVELS: Final[dict[Level, str]] = {
    Level.MUST: "Breaking it sends an illegal frame, loses progress or membership, or permits double ownership or a stale commit.",
    Level.SHOULD: "Breaking it costs others: a ghost member, a needless rebalance, a storm of requests.",
    Level.INFO: "Everything else.",
}

PROOFS: Final[dict[Proof, str]] = {
    Proof.SAFETY: "proven on the wire, seen once is enough",
    Proof.LIVENESS: "something that never came, which counts when every repetition under the same schedule shows it",
    Proof.TIMING: "something that came late, which counts when every repetition shows it and the kit itself was on time",
}

GRADES: Final[dict[str, str]] = {
    "PASSED": "No case failed, and every case that the level requires reached a verdict.",
    "FAILED": "At least one case breaks a MUST.",
    "PARTIAL": "No case failed, but not every case that the level requires reached a verdict.",
    "NO_VERDICT": "No case reached a verdict.",
}

TRUTHS: Final[tuple[str, ...]] = (
    "Only frames, callbacks and time are judged; how a client is built inside is its own affair.",
    "Every verdict is computed from the trace beside it, and can be computed again.",
    "Too early is judged strictly; too late only beyond the deadline and the larger of 500 ms and 10 %, while the kit itself was on time.",
    "A fault counts only with a receipt: the fault acted on the frame, and the peer received the result.",
    "What is proven on the wire counts when seen once; what never came, or came late, only when three runs out of three show it.",
    "Nothing is retried until it is green.",
)


def grade_word(grade: str) -> str:
    """Return the grade without its count: PARTIAL for `PARTIAL 3/40`."""
    return grade.partition(" ")[0]
