"""How a judge says what it found: the claim it tests, and the rule of what is late and what never came.

Time (contract, "Verdicts"): a wait runs from the answer to `subscribe` or a later mark, and is as long as the client's own rhythm asks for. Late beyond
the deadline + max(500 ms, 10 %) is NON_STRICT, for backoffs are the client's choice; what never came is judged only if the run gave it that long,
otherwise `NotReached` makes the case INCONCLUSIVE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import update_wrapper
from inspect import signature
from typing import Concatenate, ParamSpec

from groupproof.harness.judging.checkers.claim import Claim, elapsed_ms, tolerated_ms, waited
from groupproof.harness.model.case import Judge, checker
from groupproof.harness.model.evidence import Evidence, NotReached
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.trace import Observation

__all__ = ["TimedJudge", "end", "milder", "overdue", "timed_checker"]

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class TimedJudge:
    """A judge that waits: from the mark or delivery `after` on (`from_arming`: from when that fault was armed), for `within_ms` of a client with the
    usual rhythm.

    A plan must wait at least as long, or the judge could never say that something did not come.
    """

    judge: Judge
    after: str | None
    within_ms: float
    from_arming: bool = False

    def __call__(self, ev: Evidence) -> Iterable[Finding]:
        return self.judge(ev)


def timed_checker(findings: Callable[Concatenate[Evidence, P], Iterator[Finding]]) -> Callable[P, TimedJudge]:
    """Return a maker of judges, as `checker` does, that wait: from `after` on, for `within_ms`, as the function takes both."""
    make, parameters = checker(findings), signature(findings)

    def maker(*args: P.args, **kwargs: P.kwargs) -> TimedJudge:
        judge = make(*args, **kwargs)
        bound = parameters.bind(None, *args, **kwargs)
        bound.apply_defaults()
        return TimedJudge(judge, bound.arguments["after"], bound.arguments["within_ms"])

    return update_wrapper(maker, findings)


def end(ev: Evidence, *, whole: bool = False) -> Observation:
    """Return the observation at which the judged part of the run ends, with `whole` the goodbye included; raise `NotReached` for an empty trace."""
    if not ev.trace:
        raise NotReached("the trace is empty")
    return ev.trace[-1] if whole else ev.trace[min(ev.closing, len(ev.trace) - 1)]


def milder(one: Verdict, other: Verdict) -> Verdict:
    """Return the verdict of the two that is the less grave."""
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
    gravity: Verdict = Verdict.FAILED,
    tardy: Verdict = Verdict.NON_STRICT,
    whole: bool = False,
) -> Finding | None:
    """Return the finding that `seen` never came (`gravity`) or came late (`tardy`, never graver), None when it came in time; `whole` if it may come
    in the goodbye.

    Raise `NotReached` when it did not come but the run ended before its time was over.
    """
    due_ms = within_ms * ev.stretch + ev.ghost_ms
    since = ev.clock(since, obs if obs is not None else end(ev, whole=whole))
    if obs is not None:
        if elapsed_ms(since, obs) <= tolerated_ms(due_ms):
            return None
        detail = f"after {elapsed_ms(since, obs):.0f} ms, due within {due_ms:.0f}"
        return claim.found(milder(gravity, tardy), late, obs, proof=Proof.TIMING, detail=detail)
    last = end(ev, whole=whole)
    if elapsed_ms(since, last) < tolerated_ms(due_ms):
        raise NotReached(f"the run ended before its time was over: {never}")
    return claim.found(gravity, never, since, proof=Proof.LIVENESS, detail=f"within {due_ms:.0f} ms", wait=waited(since, last, due_ms))
