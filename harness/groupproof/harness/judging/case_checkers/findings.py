"""Helpers for the findings of judges: timed judges, and the rule for late and missing observations.

Time (contract, "Verdicts"): a wait runs from the answer to `subscribe` or a later mark, and is as long as the client's own rhythm requires. Later
than the deadline + max(500 ms, 10 %) is NON_STRICT, because backoffs are the client's choice. A missing observation is judged only if the run
lasted that long. Otherwise `NotReached` makes the case INCONCLUSIVE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import update_wrapper
from inspect import signature
from typing import Concatenate, ParamSpec

from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, tolerated_ms, waited
from groupproof.harness.model.case import Judge, checker
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation

__all__ = ["TimedJudge", "end", "less_severe", "overdue", "timed_checker", "unless"]

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class TimedJudge:
    """A judge that waits `within_ms`, for a client with the usual rhythm, from the mark or delivery `after` (`from_arming`: from when that fault
    was armed).

    A plan must wait at least as long. Otherwise the judge can never report a missing observation.
    """

    judge: Judge
    after: str | None
    within_ms: float
    from_arming: bool = False

    def __call__(self, ev: Evidence) -> Iterable[Finding]:
        return self.judge(ev)


def timed_checker(findings: Callable[Concatenate[Evidence, P], Iterator[Finding]]) -> Callable[P, TimedJudge]:
    """Return a factory of judges, like `checker`, that wait from `after` for `within_ms`, the function's arguments of these names."""
    make, parameters = checker(findings), signature(findings)

    def maker(*args: P.args, **kwargs: P.kwargs) -> TimedJudge:
        judge = make(*args, **kwargs)
        bound = parameters.bind(None, *args, **kwargs)
        bound.apply_defaults()
        return TimedJudge(judge, bound.arguments["after"], bound.arguments["within_ms"])

    return update_wrapper(maker, findings)


def unless(
    asked: TimedJudge, settles: Callable[[Evidence, str], Observation | None], claim: Claim, why: str, verdict: Verdict = Verdict.OK
) -> TimedJudge:
    """Run `asked`, unless `settles` finds an observation that answers it before it is asked. It gets the fault that `asked` waits for. The finding then
    has this `verdict` and says `why`."""

    def judge(ev: Evidence) -> Iterator[Finding]:
        settled = None if asked.after is None else settles(ev, asked.after)
        if settled is None:
            yield from asked(ev)
        else:
            yield claim.found(verdict, why, settled)

    return replace(asked, judge=judge)


def end(ev: Evidence, *, whole: bool = False) -> Observation:
    """Return the observation at which the judged part of the run ends; with `whole`, the clean close included. Raise `NotReached` for an empty
    trace."""
    if not ev.trace:
        raise NotReached("the trace is empty")
    return ev.trace[-1] if whole else ev.trace[min(ev.closing, len(ev.trace) - 1)]


def less_severe(one: Verdict, other: Verdict) -> Verdict:
    """Return the less severe of two verdicts."""
    order = list(Verdict)
    return min(one, other, key=order.index)


def overdue(
    ev: Evidence,
    claim: Claim,
    obs: Observation | None,
    *,
    since: Observation,
    within_ms: float,
    never: str,
    late: str,
    severity: Verdict = Verdict.FAILED,
    late_severity: Verdict = Verdict.NON_STRICT,
    whole: bool = False,
) -> Finding | None:
    """Return the finding that `obs` never came (`severity`) or came late (`late_severity`, never more severe). Return None when it came in time. With `whole` it
    may come in the clean close.

    Raise `NotReached` when it did not come but the run ended before its time was over.
    """
    due_ms = within_ms * ev.stretch + ev.ghost_ms
    since = ev.clock(since, obs if obs is not None else end(ev, whole=whole))
    if obs is not None:
        if elapsed_ms(since, obs) <= tolerated_ms(due_ms):
            return None
        detail = f"after {elapsed_ms(since, obs):.0f} ms, due within {due_ms:.0f}"
        return claim.found(less_severe(severity, late_severity), late, obs, proof=Proof.TIMING, detail=detail)
    last = end(ev, whole=whole)
    if elapsed_ms(since, last) < tolerated_ms(due_ms):
        raise NotReached(f"the run ended before its time was over: {never}")
    return claim.found(severity, never, since, proof=Proof.LIVENESS, detail=f"within {due_ms:.0f} ms", wait=waited(since, last, due_ms))
